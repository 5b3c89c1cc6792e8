//! Answers that are no longer the expected ones, although the program that scores them gives them what they had.
//!
//! The scorer may have become softer in this change, in a file that nobody knows as a part of the evaluator. Scores of our
//! own are not doubted: what they look at is known, and a judge is on trial elsewhere.

use std::collections::BTreeMap;

use super::answers::bare;
use super::governing::OtherAnswer;
use crate::compare::AnswerPairs;
use kelvin_record::Answer;

/// With fewer expected answers, nobody can tell whether the answers of the base are words of their own.
const LEAST_EXPECTED: usize = 5;

/// The smallest share of exact answers on the base. With fewer, another text may be as good as the expected one.
const MOSTLY_EXACT: f64 = 0.8;

/// A single item may be scored by something else than its text.
const LEAST: usize = 2;

/// How many items got exactly the expected answer on the base, get another one on the head, and have lost in no metric.
/// `losses`: how much each item lost at most; an item without an entry has no score. 0 if the answers are scored by
/// ourselves, or worded freely.
pub(super) fn count(
    pairs: &AnswerPairs,
    changed: &[OtherAnswer<'_>],
    losses: &BTreeMap<&str, f64>,
) -> usize {
    let exact = pairs.items.iter().filter_map(|item| {
        let base = Answer::usual(item.itself.0.iter().flatten())?;
        Some(is_exactly(item.expected.as_deref()?, &base.shown()))
    });
    let exact: Vec<bool> = exact.collect();
    let share = exact.iter().filter(|is_exact| **is_exact).count() as f64 / exact.len() as f64;
    if !pairs.are_scored_outside || exact.len() < LEAST_EXPECTED || share < MOSTLY_EXACT {
        return 0;
    }
    let unscored = changed.iter().filter(|other| {
        let expected = other.item.expected.as_deref();
        let loss = losses.get(other.item.name.as_str());
        expected.is_some_and(|expected| is_lapsed(expected, &other.base, &other.head))
            && loss.is_some_and(|loss| *loss <= 0.0)
    });
    match unscored.count() {
        count if count >= LEAST => count,
        _ => 0,
    }
}

/// Whether the answer of the base is exactly the expected one, and that of the head is another.
pub(super) fn is_lapsed(expected: &str, base: &str, head: &str) -> bool {
    is_exactly(expected, base) && !is_exactly(expected, head)
}

/// Whether an answer is the expected one but for capital letters, a full stop at its end, and the form of a number.
fn is_exactly(expected: &str, answer: &str) -> bool {
    let plain = |text: &str| {
        let text = bare(text);
        text.trim().trim_end_matches('.').to_lowercase()
    };
    let (expected, answer) = (plain(expected), plain(answer));
    let number = |text: &str| text.parse::<f64>().ok();
    let numbers = number(&expected).zip(number(&answer));
    expected == answer || numbers.is_some_and(|(expected, answer)| expected == answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_an_answer_makes_no_other_answer_of_it() {
        for (expected, answer, is_same) in [
            ("Paris", "paris.", true),
            ("\"refund\"", "refund", true),
            ("10", "10.0", true),
            ("10", "10.01", false),
            ("Paris", "Paris, France", false),
        ] {
            assert_eq!(is_exactly(expected, answer), is_same, "{answer}");
        }
    }
}
