//! What both sides answered: to each case as it is, and to each of its swaps.

use std::collections::BTreeMap;

use crate::baseline::compare::{AnswerPairs, ItemAnswers};
use crate::probe::Answer;

/// With no more different answers than this, numbers are taken as classes: a rating is one of five.
const MOST_CLASSES: usize = 6;

/// The answers of one probe on both sides of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Suite {
    /// The names of the declared types.
    pub(crate) types: Vec<String>,
    /// The cases that both sides measured on the same input.
    pub(crate) cases: Vec<Case>,
    /// The swaps that both sides were asked, in any order.
    pub(crate) items: Vec<Item>,
    /// What was answered.
    pub(crate) answers: Answers,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Case {
    /// Its name.
    pub(crate) name: String,
    /// The names of the variants that should change nothing, on the base and on the head.
    pub(crate) own: (Vec<String>, Vec<String>),
}

/// One swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The place of its case.
    pub(crate) case: usize,
    /// The place of its type.
    pub(crate) of_type: usize,
    /// The place of the case that its unit comes from; none where that is not among the cases.
    pub(crate) donor: Option<usize>,
    /// The names of the variant on the base and on the head.
    pub(crate) variants: (String, String),
}

/// The answers of the base and of the head.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answers {
    /// Answers that are equal or not, as numbers of their classes.
    Classes(Side<u32>, Side<u32>),
    /// Answers that are numbers.
    Numbers(Side<f64>, Side<f64>),
}

/// The answers of one side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Side<A> {
    /// The answers to each case as it is, and to its variants that should change nothing; at least one.
    pub(crate) own: Vec<Vec<A>>,
    /// The answers to each swap.
    pub(crate) swaps: Vec<Vec<A>>,
    /// How often the cases were run at most.
    pub(crate) draws: usize,
}

impl Suite {
    /// Of the answers of one probe. What the head does not answer counts as an answer that moved nothing: the worst
    /// that a swap can get. What the base did not answer tells nothing.
    pub(crate) fn of(pairs: &AnswerPairs) -> Self {
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
                Item {
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
                    *known.entry(answer.to_string()).or_insert(next)
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
                .map(|item| Case {
                    name: item.name.clone(),
                    own: item.own_names.clone(),
                })
                .collect(),
            items,
            answers,
        }
    }

    /// How often both sides were run at most.
    pub(crate) fn draws(&self) -> (usize, usize) {
        match &self.answers {
            Answers::Classes(base, head) => (base.draws, head.draws),
            Answers::Numbers(base, head) => (base.draws, head.draws),
        }
    }
}

impl<A> Side<A> {
    /// By case: how often a swap of it was run at most.
    pub(super) fn most_runs(&self, items: &[Item], cases: usize) -> Vec<usize> {
        let mut most = vec![0; cases];
        for (item, answers) in items.iter().zip(&self.swaps) {
            most[item.case] = most[item.case].max(answers.len());
        }
        most
    }
}

/// The own answers of an item on the base and on the head.
fn own(item: &ItemAnswers) -> (impl Iterator<Item = &Answer>, impl Iterator<Item = &Answer>) {
    let base = item.itself.0.iter().chain(&item.own.0);
    let head = item.itself.1.iter().chain(&item.own.1);
    (base.flatten(), head.flatten())
}

/// Whether the answers are numbers, and not a few levels.
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
        Answer::Text(_) => 0.0,
    }
}

/// Of equals the first.
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
) -> Side<A> {
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
    Side {
        own: owns,
        swaps,
        draws,
    }
}
