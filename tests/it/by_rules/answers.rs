//! Answers that are others, which no figure sees and only labels can judge.

use super::*;
use crate::answers::leaves_nothing_to_do;

#[test]
fn answers_that_are_all_others_are_counted_and_never_end_with_nothing_to_do() {
    let mut wrong = Vec::new();
    for (kind, types, change) in [
        ("and", 2, "invert"),
        ("and", 2, "exchange"),
        ("payout", 1, "halve"),
    ] {
        let right = rule(kind, types);
        let suite = Suite::of(20, types).known();
        let gated = suite
            .base(&right, 1)
            .gate(&format!("{right}{change}\n"), &[]);
        let counted = gated.judgement["answers"].to_string();
        let is_told = gated.page.contains("20 of 20") && counted.contains("20");
        if !is_told || leaves_nothing_to_do(&gated.page) {
            wrong.push(format!("{change}: answers {counted}, {}", gated.shown()));
        }
        // A pass is allowed: no figure can tell whether the others are better.
        if gated.said.code != Some(0) {
            wrong.push(format!("{change} is red: {}", gated.shown()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn answers_that_stay_leave_nothing_to_do() {
    let right = rule("and", 2);
    let suite = Suite::of(20, 2).known();
    let gated = suite.base(&right, 1).gate(&right, &[]);
    gated.passes("unchanged");
    assert!(!gated.page.contains("20 of 20"), "{}", gated.page);
    let is_blind = !gated.unseen().is_empty();
    assert!(
        is_blind || leaves_nothing_to_do(&gated.page),
        "{}",
        gated.page
    );
}
