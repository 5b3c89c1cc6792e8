//! Kinds that edit units which do not govern, and `drop`.

use super::*;

#[test]
fn m16_names_keep_their_capital_and_lines_stay_lines() {
    for kind in ["meta_commentary_injection", "discourse_marker_injection"] {
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
fn a_hedge_comes_into_opinions_and_judgements() {
    let text = "## Facts\n\nWe prefer the old tone. The card is very helpful. The clerk wrote the \
        letter.\n";
    let (variants, notices) = made("hedge_injection", &[text]);
    assert_eq!(codes(&notices), [Code::Cap]);
    let hedges = &SHIPPED.hedges;
    let both: String = variants.iter().map(|(_, text)| &**text).collect();
    assert_eq!(variants.len(), 2);
    for place in ["prefer % the old tone.", "is % very helpful."] {
        let hedged = |hedge: &String| both.contains(&place.replace('%', hedge));
        assert!(hedges.iter().any(hedged), "{place}: {both}");
    }
    assert_eq!(both.matches("The clerk wrote the letter.").count(), 2);
}

#[test]
fn a_hedge_stays_out_of_facts_questions_orders_conditions_and_counts() {
    let mut told = std::collections::BTreeSet::new();
    for text in [
        "The scanner is sent in for repair a week later. The bank met the founder.",
        "The shop sells one scanner a week. The parcel was lost.",
        "Who thinks the plan is good? Is the card helpful? Do you prefer the old tone?",
        "Consider the plan. Recommend the plan to the board when it is good.",
        "If the tone is confusing, the card is printed. The card must be easy to read.",
        "We do not think the plan is good. The plan is not good.",
        "We prefer 3 of the cards. We suggest a week. 5 of 6 are good.",
        "The plan is probably good. We believe it may help.",
        "The opening is good-natured `and good`. The good card",
        "She asked whether the card is helpful.",
    ] {
        let text = format!("## Facts\n\n{text}\n");
        let (variants, notices) = made("hedge_injection", &[&text]);
        assert_eq!(variants, [], "{text}");
        assert_eq!(codes(&notices), [Code::Skip]);
        told.insert(notices[0].text.clone());
    }
    insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"no opinion or judgement that takes a hedge in a unit that does not govern");
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
        (notices[0].code.clone(), notices[0].wanted, notices[0].got),
        (Code::Cap, Some(5), Some(3))
    );
    let (variants, notices) = made("drop", &["## Note\n\nonly\n"]);
    assert_eq!((variants.len(), notices[0].code.clone()), (0, Code::Skip));
}

#[test]
fn a_case_without_a_place_is_skipped_with_a_reason() {
    for kind in ALL.iter().filter(|kind| !kind.is_default) {
        for text in ["## Gate Rule\n\n`code`\n", "## Facts\n"] {
            let (variants, notices) = made(kind.name, &[text]);
            assert_eq!(variants, [], "{}", kind.name);
            assert!(
                codes(&notices).contains(&Code::Skip),
                "{}: {notices:?}",
                kind.name
            );
        }
    }
}
