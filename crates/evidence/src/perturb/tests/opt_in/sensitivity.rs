//! Kinds that rewrite governing units.

use std::collections::BTreeSet;

use super::*;

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
    assert_eq!(codes(&notices), [Code::own("parse_rate"), Code::Cap]);
    assert!(
        notices[0].text.contains("1 of 1") && notices[0].text.contains("2 of 3"),
        "{notices:?}"
    );
}

#[test]
fn a_rule_without_the_shape_is_skipped_and_counted() {
    let (variants, notices) = made("swap_condition", &[OPEN_RULE, LOAN, LEASE]);
    assert_eq!(variants, []);
    assert_eq!(codes(&notices), [Code::own("parse_rate"), Code::Skip]);
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
    let settings = enabled(&["swap_condition"]);
    let inputs = |texts: &[(String, String)]| -> Vec<Vec<Digest>> {
        let plans = plans(&fixture::corpus(texts), &settings);
        let of = |plan: &NotedPlan| {
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

/// The details of the variants of a kind for a case with this text in a governing unit.
fn details(kind: &str, unit: &str, seed: u64) -> Vec<Vec<(String, String)>> {
    let mut settings = enabled(&[kind]);
    settings.seed = seed;
    let text = format!("## Gate Rule\n\n{unit}\n");
    let (_, plan) = plan_of(&[("a", &*text)], &settings);
    let notes = of_kind(&plan, kind)
        .into_iter()
        .map(|variant| &variant.notes.detail);
    notes
        .map(|detail| {
            detail
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        })
        .collect()
}

#[test]
fn m7_m9_one_amount_changes_in_a_variant_and_every_amount_takes_its_turn() {
    let two = format!("{LOAN}\n## Gate Rule\n\nA fee of 5 applies.\n");
    let (variants, notices) = made("numeric_magnitude", &[&two]);
    let expected: Vec<String> = (1..=8)
        .map(|number| format!("numeric_magnitude-gate_rule-{number:02}"))
        .collect();
    assert_eq!(ids(&variants), expected);
    assert_eq!(codes(&notices), []);
    let rule = LOAN
        .split("## Applicant")
        .next()
        .expect("the rule comes first");
    let mut changed = BTreeSet::new();
    for (id, text) in &variants[..4] {
        let words = rule.split_whitespace().skip_while(|word| *word != "##");
        let differ: Vec<_> = words
            .zip(text.split_whitespace())
            .filter(|(old, new)| old != new)
            .collect();
        let [(old, _)] = differ.as_slice() else {
            panic!("one word of {id}: {differ:?}");
        };
        changed.insert(*old);
    }
    assert_eq!(changed, BTreeSet::from(["$1,250.", "2", "35.5%,", "640."]));
    let single: Vec<&str> = variants[4..].iter().map(|(_, text)| &**text).collect();
    assert_eq!(
        single,
        [10, 2, 50, 25].map(|fee| format!("## Gate Rule\n\nA fee of {fee} applies."))
    );
}

#[test]
fn amounts_in_tables_count_and_those_in_code_and_headings_do_not() {
    let text = "## Gate Rule\n\n### Limit 5\n\n| no | limit |\n|---|---|\n| 1 | 50 |\n\n`7` and\n\n    8\n";
    let (variants, _) = made("numeric_magnitude", &[text]);
    assert_eq!(variants.len(), 4);
    for ((_, text), limit) in variants.iter().zip([100, 25, 500, 5]) {
        let expected = format!(
            "## Gate Rule\n\n### Limit 5\n\n| no | limit |\n|---|---|\n| 1 | {limit} |\n\n`7` and\n\n    8"
        );
        assert_eq!(*text, expected);
    }
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
fn m8_one_outcome_or_state_of_a_rule_is_flipped_in_a_variant() {
    let (variants, notices) = made("polarity_flip", &[LOAN]);
    assert_eq!(
        ids(&variants),
        ["polarity_flip-gate_rule-01", "polarity_flip-gate_rule-02"]
    );
    assert_eq!(codes(&notices), []);
    let of = |word: &str| {
        variants
            .iter()
            .filter(|(_, text)| text.contains(word))
            .count()
    };
    assert_eq!(
        (of("Denial of the loan"), of("Approval of the loan")),
        (1, 1)
    );
    assert_eq!(
        (of("are currently unmet."), of("are currently met.")),
        (1, 1)
    );
}

#[test]
fn a_seed_chooses_among_the_words_and_the_amounts_of_a_unit() {
    let unit = "Approve it, accept them, reject those, deny all; it is valid, it is safe. \
        1 km, 2 km, 3 km, 4 km, 5 km, 6 km, 7 km, 8 km";
    for (kind, wanted) in [("polarity_flip", 3), ("numeric_magnitude", 4)] {
        assert_eq!(details(kind, unit, 0), details(kind, unit, 0));
        assert_eq!(details(kind, unit, 0).len(), wanted);
        let all: BTreeSet<_> = (0..20).flat_map(|seed| details(kind, unit, seed)).collect();
        assert!(all.len() >= 2 * wanted, "{all:?}");
    }
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
