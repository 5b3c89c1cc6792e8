//! Answers to swaps that no case is given: they move, and follow nothing.

use super::*;

#[test]
fn a_condition_that_only_answers_of_their_own_keep_from_being_lost_is_open_and_fails() {
    let right = rule("and", 2);
    let lost = without(&right, "collateral", 1);
    let suite = Suite::of(20, 2).known();
    suite.base(&right, 1);
    for (answers, example) in [("null", "`null`"), ("text", "approve ")] {
        let gated = suite.gate(&format!("{lost}balk {answers}\n"), &[]);
        assert!(gated.is("inconclusive"), "{answers}: {}", gated.shown());
        assert_eq!(gated.said.code, Some(3), "{answers}: {}", gated.shown());
        assert!(
            gated.page.contains("`collateral` may be lost: ")
                && gated
                    .page
                    .contains("get answers that no case is given, such as ")
                && gated.page.contains(example),
            "{answers}: {}",
            gated.shown()
        );
    }
    // Other words for the same answers are given to cases too.
    suite
        .gate(&format!("{right}exchange\n"), &[])
        .passes("other words");
}

#[test]
fn an_answer_that_the_base_gave_to_what_was_exchanged_is_none_of_the_change() {
    let balks = format!("{}balk null\n", rule("and", 2));
    let suite = Suite::of(20, 2).known();
    suite.base(&balks, 1).gate(&balks, &[]).passes("unchanged");
}
