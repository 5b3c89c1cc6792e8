//! The kinds that are made on request only.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::cases::Case;
use crate::cases::outline::outline;
use crate::config::words::Words;

/// A case as people write them: prose, a list, a table, code, names, quotes.
const LOAN: &str = r#"# Loan 114

## Gate Rule

Approval of the loan requires: at least 2 payslips (e.g. for March), a ratio of no more than 35.5%,
and a score above 640. All conditions are currently met. FreakinGenius Ltd signed on 2024-04-24,
see Section 3; the fee is $1,250.

## Applicant

FreakinGenius Ltd was founded in 1998. The company has offices in Oslo. "We like it," said Ada -
the founder... Verify the address of the founder before the visit. It's a family business; the
staff knows the founder.

- Record the date of the call.
- Keep a note of the name.

| year | sales |
|------|-------|
| 2022 | 5,000 |

```
- code "stays"
```

## History

The bank met the founder twice. The meetings took place in the branch.

They were friendly.

## Remarks

1. First remark of the branch.
2. Second remark of the branch.
"#;

const LEASE: &str = "## Gate Rule\n\nApproval of the lease requires: a deposit of two months, and a \
    reference. None of these conditions are met. The lease is rejected.\n\n## Applicant\n\nA small \
    bakery. The baker is new.\n";

const OPEN_RULE: &str =
    "## Gate Rule\n\nNobody wrote a list. It is open.\n\n## Applicant\n\nNone.\n";

static SHIPPED: LazyLock<Words> = LazyLock::new(|| {
    Words::load(std::path::Path::new(""), &[], None).expect("the shipped lists load")
});

fn enabled(kinds: &[&str]) -> Config {
    let mut config = fixture::config(&["gate_rule"]);
    config.perturbations.enable = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    config.perturbations.words = SHIPPED.clone();
    config
}

/// The variants of a kind for the first of some cases: their ids, and the units that are edited.
fn made(kind: &str, texts: &[&str]) -> (Vec<(String, String)>, Vec<Notice>) {
    let config = enabled(&[kind]);
    let named: Vec<(String, String)> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("case-{at}"), (*text).to_owned()))
        .collect();
    let (corpus, plan) = plan_of(&named, &config);
    let variants = of_kind(&plan, kind)
        .into_iter()
        .map(|variant| {
            let text = variant.render(&corpus, 0, &config);
            let case = Case::parse("a", "a", text).expect("a variant parses");
            assert_eq!(
                case.units.len(),
                corpus.cases[0].units.len() - variant.notes.removed.len()
            );
            let edited: Vec<&str> = variant
                .notes
                .edited
                .iter()
                .map(|unit| case.body(&case.units[*unit]))
                .collect();
            (variant.id.to_string(), edited.join("\n\n"))
        })
        .collect();
    let notices = plan
        .notices
        .into_iter()
        .filter(|notice| notice.kind.as_deref() == Some(kind));
    (variants, notices.collect())
}

fn ids(variants: &[(String, String)]) -> Vec<&str> {
    variants.iter().map(|(id, _)| &**id).collect()
}

fn codes(notices: &[Notice]) -> Vec<Code> {
    notices.iter().map(|notice| notice.code).collect()
}

#[test]
fn only_the_conditions_of_a_rule_are_exchanged() {
    let (variants, notices) = made("swap_condition", &[LOAN, LEASE, OPEN_RULE]);
    assert_eq!(ids(&variants), ["swap_condition-gate_rule-01"]);
    assert_eq!(
        variants[0].1,
        "## Gate Rule\n\nApproval of the loan requires: a deposit of two months, and a reference. \
         All conditions are currently met. FreakinGenius Ltd signed on 2024-04-24,\nsee Section 3; \
         the fee is $1,250."
    );
    assert_eq!(codes(&notices), [Code::ParseRate, Code::Cap]);
    assert!(
        notices[0].text.contains("1 of 1") && notices[0].text.contains("2 of 3"),
        "{notices:?}"
    );
}

#[test]
fn a_rule_without_the_shape_is_skipped_and_counted() {
    let (variants, notices) = made("swap_condition", &[OPEN_RULE, LOAN, LEASE]);
    assert_eq!(variants, []);
    assert_eq!(codes(&notices), [Code::ParseRate, Code::Skip]);
    assert_eq!((notices[0].wanted, notices[0].got), (Some(1), Some(0)));
}

#[test]
fn conditions_of_lists_are_exchanged_with_those_of_lists_only() {
    let rule = |items: &str| {
        format!(
            "## Gate Rule\n\nIt requires:\n\n{items}\n\nAll conditions are met. Details {items:.3}.\n"
        )
    };
    let (one, other) = (rule("- a form\n- a `stamp`"), rule("* a seal"));
    let (variants, _) = made("swap_condition", &[&one, &other, LOAN]);
    assert_eq!(variants.len(), 1);
    assert!(
        variants[0]
            .1
            .contains("requires:\n\n* a seal\n\nAll conditions are met."),
        "{variants:?}"
    );
}

#[test]
fn m11_m9_conditions_stay_when_a_case_comes_in() {
    let rule = |number: usize| {
        format!(
            "## Gate Rule\n\nIt requires: form {number}. All conditions are met. So be it, {number}.\n\n## Facts\n\nx{number}\n"
        )
    };
    let texts: Vec<(String, String)> = (0..51)
        .map(|number| (format!("case-{number:02}"), rule(number)))
        .collect();
    let config = enabled(&["swap_condition"]);
    let inputs = |texts: &[(String, String)]| -> Vec<Vec<Digest>> {
        let plans = plans(&fixture::corpus(texts), &config);
        let of = |plan: &Plan| {
            of_kind(plan, "swap_condition")
                .iter()
                .map(|v| v.input)
                .collect()
        };
        plans.iter().map(of).collect()
    };
    let (few, many) = (inputs(&texts[..50]), inputs(&texts));
    let all: usize = few.iter().map(Vec::len).sum();
    let moved: usize = few
        .iter()
        .zip(&many)
        .flat_map(|(few, many)| few.iter().zip(many))
        .filter(|(few, many)| few != many)
        .count();
    assert_eq!(all, 150);
    assert!(moved * 10 <= all, "{moved} of {all}");
}

#[test]
fn m7_m9_amounts_are_multiplied_under_ids_of_their_own() {
    let two = format!("{LOAN}\n## Gate Rule\n\nA fee of 5 applies.\n");
    let (variants, notices) = made("numeric_magnitude", &[&two]);
    let expected: Vec<String> = (1..=8)
        .map(|number| format!("numeric_magnitude-gate_rule-{number:02}"))
        .collect();
    assert_eq!(ids(&variants), expected);
    assert_eq!(codes(&notices), []);
    assert!(
        variants[0].1.contains("at least 4 payslips"),
        "{}",
        variants[0].1
    );
    assert!(
        variants[0]
            .1
            .contains("no more than 71.0%,\nand a score above 1280")
    );
    assert!(
        variants[0]
            .1
            .contains("on 2024-04-24,\nsee Section 3; the fee is $2,500.")
    );
    assert_eq!(variants[7].1, "## Gate Rule\n\nA fee of 500 applies.");
}

#[test]
fn amounts_in_tables_count_and_those_in_code_and_headings_do_not() {
    let text = "## Gate Rule\n\n### Limit 5\n\n| no | limit |\n|---|---|\n| 1 | 50 |\n\n`7` and\n\n    8\n";
    let (variants, _) = made("numeric_magnitude", &[text]);
    assert_eq!(variants.len(), 4);
    let expected =
        "## Gate Rule\n\n### Limit 5\n\n| no | limit |\n|---|---|\n| 1 | 100 |\n\n`7` and\n\n    8";
    assert_eq!(variants[0].1, expected);
}

#[test]
fn m6_comparators_of_a_rule_are_turned_round_once() {
    let (variants, _) = made("comparator_flip", &[LOAN]);
    assert_eq!(ids(&variants), ["comparator_flip-gate_rule-01"]);
    assert!(
        variants[0].1.contains("at most 2 payslips"),
        "{}",
        variants[0].1
    );
    assert!(
        variants[0]
            .1
            .contains("no less than 35.5%,\nand a score below 640")
    );
}

#[test]
fn m8_polarity_of_a_rule_is_turned_round() {
    let (variants, _) = made("polarity_flip", &[LOAN]);
    assert_eq!(ids(&variants), ["polarity_flip-gate_rule-01"]);
    assert!(
        variants[0].1.contains("Denial of the loan"),
        "{}",
        variants[0].1
    );
    assert!(
        variants[0]
            .1
            .contains("All conditions are currently unmet.")
    );
}

#[test]
fn a_sign_that_would_become_a_quote_is_not_flipped() {
    let (variants, notices) = made(
        "comparator_flip",
        &["## Gate Rule\n\nA score\n< 5 fails.\n"],
    );
    assert_eq!(variants, []);
    assert_eq!(codes(&notices), [Code::Skip]);
}

#[test]
fn m16_names_keep_their_capital_and_lines_stay_lines() {
    for kind in [
        "meta_commentary_injection",
        "discourse_marker_injection",
        "hedge_injection",
    ] {
        let (variants, _) = made(kind, &[LOAN]);
        assert!(!variants.is_empty(), "{kind}");
        for (id, text) in variants {
            assert!(
                !text.contains("freakin") && !text.contains("oslo"),
                "{id}: {text}"
            );
        }
    }
    let (variants, _) = made("non_governing_duplication", &[LOAN]);
    assert_eq!(variants.len(), 3);
    for (id, text) in variants {
        assert!(
            !text.contains("2022 | 2022") && text.lines().count() > 3,
            "{id}: {text}"
        );
    }
}

#[test]
fn a_courtesy_comes_before_an_instruction() {
    let (variants, notices) = made("politeness_injection", &[LOAN]);
    assert_eq!(
        ids(&variants),
        ["politeness_injection-01", "politeness_injection-02"]
    );
    assert_eq!(codes(&notices), []);
    let both: String = variants.iter().map(|(_, text)| &**text).collect();
    assert!(
        both.contains("Please verify the address") && both.contains("- Please record the date")
    );
}

#[test]
fn a_hedge_stays_away_from_negations_numbers_and_prepositions() {
    let text = "## Facts\n\nThe clerk did not see the form. The clerk wrote the 3 pages. The clerk \
        went to the office. The clerk wrote the letter.\n";
    let (variants, notices) = made("hedge_injection", &[text]);
    assert_eq!(variants.len(), 1);
    assert_eq!(codes(&notices), [Code::Cap]);
    let hedges = SHIPPED.clone().hedges;
    assert!(
        hedges.iter().any(|hedge| variants[0]
            .1
            .contains(&format!("wrote {hedge} the letter."))),
        "{}",
        variants[0].1
    );
}

#[test]
fn a_marker_lowers_only_words_of_a_closed_list() {
    let text = "## Facts\n\nOne fact. The second one. Oslo is third. However, this is fourth.\n";
    let (variants, _) = made("discourse_marker_injection", &[text]);
    assert_eq!(variants.len(), 2);
    for (_, text) in variants {
        assert!(
            text.contains(", the second one.") || text.contains(", Oslo is third."),
            "{text}"
        );
        assert!(text.contains(" However, this"), "{text}");
    }
}

#[test]
fn m17_quotes_are_curled_in_pairs() {
    let text = "## Facts\n\n\"Yes,\" said Ada -- 'maybe'... It's 6\" long, the vendors' best.\n\n\
        \"Open\" and \"shut\" --- it's\n-- so.\n\n| a |\n|---|\n| \"b\" |\n\n`\"x\"` 'tis--so\n";
    let (variants, _) = made("punctuation_normalize", &[text]);
    assert_eq!(
        variants[0].1,
        "## Facts\n\n\"Yes,\" said Ada — 'maybe'… It’s 6\" long, the vendors' best.\n\n“Open” and \
         “shut” --- it’s\n-- so.\n\n| a |\n|---|\n| \"b\" |\n\n`\"x\"` 'tis—so"
    );
}

#[test]
fn typographic_punctuation_is_straightened() {
    let text = "## Facts\n\n“Yes,” said Ada — it’s 3–4… ‘So’.\n\n— Ada\n\n---\n\n– no list\n";
    let (variants, _) = made("punctuation_normalize", &[text]);
    assert_eq!(
        variants[0].1,
        "## Facts\n\n\"Yes,\" said Ada -- it's 3-4... 'So'.\n\n— Ada\n\n---\n\n– no list"
    );
}

#[test]
fn markers_of_lists_are_exchanged_one_to_one() {
    let text = "## Facts\n\n- a\n  1. b\n\n* c\n\n+ d\n\n***\n\n10) e\n\n```\n- f\n```\n";
    let (variants, _) = made("bullet_reformat", &[text]);
    assert_eq!(ids(&variants), ["bullet_reformat-01", "bullet_reformat-02"]);
    let list = |text: &str| format!("## Facts\n\n{text}\n\n```\n- f\n```");
    assert_eq!(
        variants[0].1,
        list("* a\n  1) b\n\n+ c\n\n- d\n\n***\n\n10. e")
    );
    assert_eq!(
        variants[1].1,
        list("+ a\n  1) b\n\n- c\n\n* d\n\n***\n\n10. e")
    );
}

#[test]
fn white_space_changes_and_nothing_else() {
    let (variants, notices) = made("whitespace_jitter", &[LOAN]);
    assert_eq!(variants.len(), 3, "{notices:?}");
    for (id, text) in variants {
        let spoken = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let units: Vec<&str> = LOAN.split("\n\n## ").skip(1).collect();
        let said: Vec<String> = units[1..]
            .iter()
            .flat_map(|unit| spoken(&format!("## {unit}")))
            .collect();
        let all = spoken(&text);
        assert!(all.iter().all(|word| said.contains(word)), "{id}");
        assert!(!text.contains("  \n"), "{id}: {text:?}");
        assert!(
            text.contains("| year | sales |") || !text.contains("Applicant"),
            "{id}"
        );
    }
}

#[test]
fn each_unit_that_does_not_govern_is_dropped_under_its_type() {
    let (variants, notices) = made("drop", &[LOAN]);
    assert_eq!(
        ids(&variants),
        ["drop-applicant-01", "drop-history-01", "drop-remarks-01"]
    );
    assert_eq!(codes(&notices), []);
    let many: String = (0..5)
        .map(|number| format!("## Note\n\nnote {number}\n\n"))
        .collect();
    let (variants, notices) = made("drop", &[&many]);
    assert_eq!(variants.len(), 3);
    assert_eq!(
        (notices[0].code, notices[0].wanted, notices[0].got),
        (Code::Cap, Some(5), Some(3))
    );
    let (variants, notices) = made("drop", &["## Note\n\nonly\n"]);
    assert_eq!((variants.len(), notices[0].code), (0, Code::Skip));
}

#[test]
fn a_case_without_a_place_is_skipped_with_a_reason() {
    for kind in ALL.iter().filter(|kind| !kind.is_default()) {
        for text in ["## Gate Rule\n\n`code`\n", "## Facts\n"] {
            let (variants, notices) = made(kind.name(), &[text]);
            assert_eq!(variants, [], "{}", kind.name());
            assert!(
                codes(&notices).contains(&Code::Skip),
                "{}: {notices:?}",
                kind.name()
            );
        }
    }
}

/// Documents with a governing and other units, of prose and of pieces that make Markdown hard.
fn hard_case() -> impl Strategy<Value = String> {
    let sentence = proptest::sample::select(vec![
        "The clerk kept the file. ",
        "Verify the date of the visit. ",
        "It's \"so\" -- and ‘thus’… ",
        "Approved, at least 5 – or 1,000... ",
        "**The** conditions are met.\n",
        "> quoted. The end. ",
        "\n\n- item one. The rest\n  goes on\n- item two\n\n",
        "\n\n1. first\n\n   second\n2) third\n\n",
        "\n\n| a | b |\n|---|---|\n| 5 | the x |\n\n",
        "\n\n```\nthe code. - x\n```\n\n",
        "[the link](http://x.y) and `the code`. ",
        "hard  \nbreak\\\nhere ",
        "\n— so. \n– so ",
        "\n\n### the heading\n\n",
        "\n\n***\n\n",
        "<b>the tag</b> ",
        "It requires: a, b. All conditions are met. Then. ",
        "\n> 5 < 6\n",
        "'tis the \"odd one. ",
    ]);
    let unit = (
        proptest::bool::ANY,
        proptest::collection::vec(sentence, 0..7),
    )
        .prop_map(|(governs, parts)| {
            let heading = if governs { "Gate Rule" } else { "Facts" };
            format!("## {heading}\n\n{}\n\n", parts.concat())
        });
    let newline = prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    (proptest::collection::vec(unit, 1..4), newline)
        .prop_map(|(units, newline)| units.concat().replace('\n', newline))
}

proptest! {
    #[test]
    fn no_document_makes_a_kind_panic(text in fixture::document(), other in fixture::document()) {
        let mut config = enabled(&[]);
        config.governing_types = vec!["gate_rule".to_owned(), "code".to_owned()];
        config.perturbations.enable = ALL.iter().map(|kind| kind.name().to_owned()).collect();
        if [&text, &other].iter().any(|text| Case::parse("a", "a", (*text).clone()).is_err()) {
            return Ok(());
        }
        let (corpus, plan) = plan_of(&[("a", &*text), ("b", &*other)], &config);
        for variant in &plan.variants {
            let rendered = variant.render(&corpus, 0, &config);
            prop_assert!(Case::parse("a", "a", rendered.clone()).is_ok(), "{}: {rendered:?}", variant.id);
        }
    }

    #[test]
    fn m16_invariance_kinds_keep_governing_units_and_the_structure_of_all_others(
        text in hard_case(),
        seed in 0_u64..1_000,
    ) {
        let mut config = enabled(&[]);
        config.perturbations.enable = ALL.iter().map(|kind| kind.name().to_owned()).collect();
        config.seed = seed;
        let Ok(case) = Case::parse("a", "a", text.clone()) else { return Ok(()) };
        let (corpus, plan) = plan_of(&[("a", &*text), ("b", LEASE)], &config);
        for variant in &plan.variants {
            let kind = find(variant.kind).expect("registered");
            if kind.is_default() {
                continue;
            }
            let rendered = variant.render(&corpus, 0, &config);
            let parsed = Case::parse("a", "a", rendered.clone());
            let Ok(parsed) = parsed else { panic!("{}: {rendered:?}", variant.id) };
            prop_assert_eq!(parsed.units.len() + variant.notes.removed.len(), case.units.len());
            if kind.figure() == Figure::Drop {
                continue;
            }
            for (was, is) in case.units.iter().zip(&parsed.units) {
                prop_assert_eq!(&was.unit_type, &is.unit_type);
                let (was_text, is_text) = (case.body(was), parsed.body(is));
                let governs = &*was.unit_type == "gate_rule";
                if governs == (kind.figure().relation() == Relation::Invariance) {
                    prop_assert_eq!(was_text, is_text, "{}", variant.id);
                }
                if kind.name() != "swap_condition" {
                    prop_assert_eq!(outline(was_text).shape, outline(is_text).shape, "{}", variant.id);
                }
                if ["whitespace_jitter", "bullet_reformat"].contains(&kind.name()) {
                    prop_assert_eq!(outline(was_text).text, outline(is_text).text, "{}", variant.id);
                }
            }
        }
    }
}
