//! Kinds that rewrite governing units.

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
