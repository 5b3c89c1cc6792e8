//! Stray answers: answers to swaps that no case has.
//!
//! The rule counts whether a swap moves the decision, but not to which answer, since a third answer may be right. So a
//! head that gives a unique answer to every exchanged input (an apology, or a text that is never the same) would seem
//! to follow more than the base did. If a type is followed only because of such answers, nobody knows whether it really
//! is.

use std::collections::BTreeSet;

use super::rule::{SuiteLooks, SuiteRules, SwapSuite, TypeVerdict};
use super::{OpenReason, TypeDecision};
use crate::compare::{AnswerPairs, ItemAnswers};
use kelvin_record::Answer;

/// Numbers are seldom equal, so their distance decides. If swaps move more than twice as far as the distance between
/// the two cases, so that the squared distance exceeds this factor, the swaps do not lead from one case to the other.
const FAR: f64 = 4.0;

/// If more of the base's swaps than this lead to answers that no case has, the answers do not come from a small set of
/// classes.
const MOST_NEW: f64 = 0.1;

/// The answers of the head to swaps of a type that no case has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strays {
    /// How many swaps have an answer that no case has.
    pub(super) swaps: usize,
    /// One of these answers, as JSON.
    pub(super) example: String,
}

/// Makes the verdict open on each type that would count as lost without such answers. `decisions` are those of the
/// suite, in the order of its types.
pub(super) fn open(
    decisions: &mut [(String, TypeDecision)],
    pairs: &AnswerPairs,
    looks: &SuiteLooks,
    rules: &SuiteRules<'_>,
) {
    if SwapSuite::of(pairs).is_of_numbers() {
        let passed = decisions.iter_mut().map(|(_, decision)| decision);
        passed
            .filter(|decision| {
                matches!(decision.verdict, TypeVerdict::Pass | TypeVerdict::MadeRoom)
            })
            .filter(|decision| decision.figures.has > FAR * decision.figures.had.max(1.0))
            .for_each(|decision| decision.verdict = TypeVerdict::Open(OpenReason::Strays));
        return;
    }
    let Some((known, strays)) = without(pairs) else {
        return;
    };
    let held = looks.give_up(&SwapSuite::of(&known), rules);
    let types = decisions.iter_mut().zip(held.types).zip(strays);
    for (((_, decision), (_, _, by_known)), strays) in types {
        let is_doubted = matches!(
            by_known,
            TypeVerdict::Regression | TypeVerdict::Open(OpenReason::Suspected)
        );
        let is_told = matches!(
            decision.verdict,
            TypeVerdict::Regression | TypeVerdict::Open(OpenReason::Suspected)
        );
        if let Some(strays) = strays.filter(|_| is_doubted && !is_told) {
            decision.verdict = TypeVerdict::Open(OpenReason::Strays);
            decision.strays = Some(strays);
        }
    }
}

/// The same answers with each stray answer of the head replaced by its answer to a case, where the base gave no stray
/// answer, and the strays of each type.
/// None if there are no strays, or if answers repeat the evidence, so that exchanges lead to new answers on the base as
/// well.
fn without(pairs: &AnswerPairs) -> Option<(AnswerPairs, Vec<Option<Strays>>)> {
    let texts = |answers: &[&Vec<Option<Answer>>]| -> Vec<String> {
        let answers = answers.iter().copied().flatten().flatten();
        answers.map(Answer::to_string).collect()
    };
    let own =
        |item: &ItemAnswers| texts(&[&item.itself.0, &item.own.0, &item.itself.1, &item.own.1]);
    let mut known: BTreeSet<String> = pairs.items.iter().flat_map(own).collect();
    let swaps = || pairs.items.iter().flat_map(|item| &item.swaps);
    let of_base: Vec<Vec<String>> = swaps().map(|swap| texts(&[&swap.answers.0])).collect();
    let is_new = |answers: &Vec<String>| answers.iter().any(|text| !known.contains(text));
    let was_new: Vec<bool> = of_base.iter().map(is_new).collect();
    let new = was_new.iter().filter(|new| **new).count();
    if new as f64 > MOST_NEW * of_base.len() as f64 {
        return None;
    }
    known.extend(of_base.into_iter().flatten());
    let mut strays: Vec<Option<Strays>> = vec![None; pairs.types.len()];
    let mut without = pairs.clone();
    let mut was_new = was_new.into_iter();
    for item in &mut without.items {
        let own = item
            .itself
            .1
            .iter()
            .chain(&item.own.1)
            .flatten()
            .next()
            .cloned();
        for swap in &mut item.swaps {
            // Where the answer of the base was one that no case has, another such answer is nothing new: a combination
            // of words stays one where a word is renamed.
            if was_new.next() == Some(true) {
                continue;
            }
            let is_stray = |answer: &Option<Answer>| {
                let text = answer.as_ref().map(Answer::to_string);
                text.filter(|text| !known.contains(text))
            };
            let Some(example) = swap.answers.1.iter().find_map(is_stray) else {
                continue;
            };
            let of_type = strays[swap.of_type].get_or_insert(Strays { swaps: 0, example });
            of_type.swaps += 1;
            for answer in &mut swap.answers.1 {
                if is_stray(answer).is_some() {
                    answer.clone_from(&own);
                }
            }
        }
    }
    strays
        .iter()
        .any(Option::is_some)
        .then_some((without, strays))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::SwapAnswers;

    fn one(text: &str) -> Vec<Option<Answer>> {
        vec![Some(Answer::Text(text.to_owned()))]
    }

    /// Twenty items with one swap each; the answer to the last one is one that no item has, on the base and the head.
    fn renamed(base: &str, head: &str) -> AnswerPairs {
        let item = |at: usize| {
            let (was, is) = if at == 19 { (base, head) } else { ("a", "z") };
            ItemAnswers {
                name: format!("item-{at:02}"),
                itself: (one("a"), one("z")),
                swaps: vec![SwapAnswers {
                    of_type: 0,
                    donor: None,
                    names: (String::new(), String::new()),
                    answers: (one(was), one(is)),
                }],
                ..ItemAnswers::default()
            }
        };
        AnswerPairs {
            types: vec![("rule".to_owned(), "m".to_owned())],
            items: (0..20).map(item).collect(),
            ..AnswerPairs::default()
        }
    }

    #[test]
    fn an_answer_that_no_case_has_is_stray_only_where_that_of_the_base_was_none() {
        assert!(without(&renamed("a, b", "z, b")).is_none());
        assert!(without(&renamed("a", "sorry")).is_some());
    }
}
