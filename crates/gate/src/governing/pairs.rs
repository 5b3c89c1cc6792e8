//! The suite for the rule, built from the answers of a probe on both sides.

use std::collections::BTreeMap;

use super::rule::{Answers, SuiteCase, SuiteSide, SuiteSwap, SwapSuite};
use crate::compare::{AnswerPairs, ItemAnswers};
use kelvin_record::Answer;

/// If there are at most this many different answers, numbers count as classes: a rating has one of five values.
const MOST_CLASSES: usize = 6;

impl SwapSuite {
    /// Builds the suite from the answers of one probe. A missing answer of the head counts as an answer that did not
    /// move, which is the worst result for a swap. A missing answer of the base is ignored.
    pub fn of(pairs: &AnswerPairs) -> Self {
        let answered: Vec<&ItemAnswers> = pairs
            .items
            .iter()
            .filter(|item| own(item).0.next().is_some())
            .collect();
        let places: BTreeMap<&str, usize> = answered
            .iter()
            .enumerate()
            .map(|(at, item)| (item.name.as_str(), at))
            .collect();
        let mut items = Vec::new();
        for (case, item) in answered.iter().enumerate() {
            let known = item
                .swaps
                .iter()
                .filter(|swap| swap.answers.0.iter().any(Option::is_some));
            items.extend(known.map(|swap| {
                SuiteSwap {
                    case,
                    of_type: swap.of_type,
                    donor: swap
                        .donor
                        .as_deref()
                        .and_then(|donor| places.get(donor).copied()),
                    variants: swap.names.clone(),
                }
            }));
        }
        let answers = match numbers(&answered) {
            true => Answers::Numbers(
                side(&answered, false, &mut number),
                side(&answered, true, &mut number),
            ),
            false => {
                let mut known = BTreeMap::new();
                let mut class = |answer: &Answer| {
                    let next = known.len() as u32;
                    *known.entry(answer.key().into_owned()).or_insert(next)
                };
                Answers::Classes(
                    side(&answered, false, &mut class),
                    side(&answered, true, &mut class),
                )
            }
        };
        Self {
            types: pairs.types.iter().map(|(name, _)| name.clone()).collect(),
            cases: answered
                .iter()
                .map(|item| SuiteCase {
                    name: item.name.clone(),
                    own: item.own_names.clone(),
                })
                .collect(),
            items,
            answers,
        }
    }
}

/// The own answers of an item on the base and on the head.
fn own(item: &ItemAnswers) -> (impl Iterator<Item = &Answer>, impl Iterator<Item = &Answer>) {
    let base = item.itself.0.iter().chain(&item.own.0);
    let head = item.itself.1.iter().chain(&item.own.1);
    (base.flatten(), head.flatten())
}

/// Whether the answers are numbers with more than a few different values.
fn numbers(items: &[&ItemAnswers]) -> bool {
    let mut known: Vec<f64> = Vec::new();
    for item in items {
        let (base, head) = own(item);
        for answer in base.chain(head) {
            let Answer::Number(number) = answer else {
                return false;
            };
            if known.len() <= MOST_CLASSES && !known.contains(number) {
                known.push(*number);
            }
        }
    }
    let mut swaps = items.iter().flat_map(|item| &item.swaps);
    let all_numbers = swaps.all(|swap| {
        let mut answers = swap.answers.0.iter().chain(&swap.answers.1).flatten();
        answers.all(|answer| matches!(answer, Answer::Number(_)))
    });
    known.len() > MOST_CLASSES && all_numbers
}

fn number(answer: &Answer) -> f64 {
    match answer {
        Answer::Number(number) => *number,
        Answer::Text(_) | Answer::StandIn(_) | Answer::Kept(_) | Answer::Null => 0.0,
    }
}

/// The most frequent answer; among equally frequent answers the first.
fn most_frequent<A: Copy + PartialEq>(answers: &[A]) -> A {
    let times = |one: &A| answers.iter().filter(|other| *other == one).count();
    let mut most = answers[0];
    for one in answers {
        if times(one) > times(&most) {
            most = *one;
        }
    }
    most
}

fn side<A: Copy + PartialEq>(
    items: &[&ItemAnswers],
    of_head: bool,
    answer: &mut dyn FnMut(&Answer) -> A,
) -> SuiteSide<A> {
    let (mut owns, mut swaps, mut draws) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let (base, head) = own(item);
        let mut of_case: Vec<A> = match of_head {
            true => head.map(&mut *answer).collect(),
            false => Vec::new(),
        };
        if of_case.is_empty() {
            of_case = base.map(&mut *answer).collect();
        }
        for swap in &item.swaps {
            if !swap.answers.0.iter().any(Option::is_some) {
                continue;
            }
            let given = if of_head {
                &swap.answers.1
            } else {
                &swap.answers.0
            };
            draws = draws.max(given.len());
            let mut of_swap: Vec<A> = given.iter().flatten().map(&mut *answer).collect();
            if of_swap.is_empty() {
                of_swap.push(most_frequent(&of_case));
            }
            swaps.push(of_swap);
        }
        owns.push(of_case);
    }
    SuiteSide {
        own: owns,
        swaps,
        draws,
    }
}
