//! A world of a real model: how often gemma-3-270m gives the first of two answers, for 16 cases, on the base and
//! after three changes.

use crate::world::{CaseTruth, CellTruth, Truth, World};

/// The probabilities, one line a case and arm: the arm, the input of the case, 9 variants that ought to change
/// nothing, 3 swaps.
const FIGURES: &str = include_str!("real_model.txt");

/// What a change did to the pipeline; `base` is nothing.
pub(crate) const ARMS: [&str; 4] = ["base", "section_dropped", "first_only", "temperature"];

/// The suite, so many times over, with the head of an arm.
pub(crate) fn world(arm: &str, copies: usize) -> World {
    let (base, head) = (truths("base"), truths(arm));
    let pairs = base.into_iter().zip(head);
    let once: Vec<CaseTruth> = pairs.map(|(base, head)| CaseTruth { base, head }).collect();
    World {
        cases: std::iter::repeat_n(once, copies).flatten().collect(),
        queries: Vec::new(),
    }
}

fn truths(arm: &str) -> Vec<Truth> {
    let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<&str>>());
    words
        .filter(|words| words[0] == arm)
        .map(|words| {
            let rates = words[1..].iter();
            let rates: Vec<f64> = rates
                .map(|rate| rate.parse().expect("the file has figures"))
                .collect();
            let cells = rates[1..].iter().enumerate().map(|(at, rate)| {
                let metric = usize::from(at >= 9);
                CellTruth {
                    metric,
                    // A swap ought to change the answer: it is lost where both answers are the same.
                    bad: metric == 1,
                    rate: *rate,
                }
            });
            Truth {
                rate: rates[0],
                cells: cells.collect(),
            }
        })
        .collect()
}
