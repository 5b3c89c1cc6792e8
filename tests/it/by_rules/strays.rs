//! Answers to swaps that no case is given: they move, and follow nothing.

use super::*;
use kelvin_fixtures::text::{lines_with, redacted};

#[test]
fn a_condition_that_only_answers_of_their_own_keep_from_being_lost_is_open_and_fails() {
    let right = rule("and", 2);
    let lost = without(&right, "collateral", 1);
    let suite = Suite::of(20, 2).known();
    suite.base(&right, 1);
    let gated = suite.gate(&format!("{lost}balk text\n"), &[]);
    assert!(gated.is("inconclusive"), "{}", gated.shown());
    assert_eq!(gated.said.code, Some(3), "{}", gated.shown());
    insta::assert_snapshot!(redacted(&lines_with(&gated.page, &["`collateral`"])), @r#"`collateral` may be lost: 14 of 60 swaps of it moved the decision on the base, 60 do now, and 60 get answers that no case is given, such as `"approve [HASH]"`; a case that is given such an answer, or somebody who may approve, can tell"#);
    // Other words for the same answers are given to cases too.
    suite
        .gate(&format!("{right}exchange\n"), &[])
        .passes("other words");
}

#[test]
fn null_is_no_answer_to_what_was_exchanged_on_either_side() {
    let right = rule("and", 2);
    let balks = format!("{right}balk null\n");
    let suite = Suite::of(20, 2).known();
    let lost = suite.base(&right, 1).gate(&balks, &[]);
    lost.red("null in place of an answer");
    insta::assert_snapshot!(lost.first_lines(), @"
    ### ❌ Kelvin: regression, `collateral` is lost

    **`collateral` is lost: 14 of 60 swaps of it moved the decision on the base, 0 do now**
    ");
    // Where the base has it too nothing changed, and answers in its place are no loss.
    let suite = Suite::of(20, 2).known();
    suite.base(&balks, 1);
    suite.gate(&balks, &[]).passes("unchanged");
    suite.gate(&right, &[]).passes("mended");
}

#[test]
fn a_score_that_goes_anywhere_where_evidence_is_exchanged_is_open_and_one_that_is_scaled_passes() {
    let right = rule("score", 1);
    let suite = Suite::of(20, 1).known();
    suite.base(&right, 1);
    let gated = suite.gate("rule fixed 690\nbalk number\n", &[]);
    assert!(gated.is("inconclusive"), "{}", gated.shown());
    assert_eq!(gated.said.code, Some(3), "{}", gated.shown());
    insta::assert_snapshot!(lines_with(&gated.page, &["`income`"]), @"`income` may be lost: its swaps went 1.0000 of the squared way between two cases on the base, and 114.1064 now, which is farther than the cases are apart; a case that is given such an answer, or somebody who may approve, can tell");
    suite
        .gate(&format!("{right}halve\n"), &[])
        .passes("half of each");
}
