//! The probabilities of the four states of a swap: whether it moves the decision on the base and on the head.

use super::noise::{UsualAnswers, wrong_own};
use super::{SuiteSide, SuiteSwap};

/// How many items of each state are assumed before any is observed: neither, won, lost, both.
pub(super) const PSEUDO: [f64; 4] = [0.5, 0.1, 0.1, 0.5];

/// The same numbers, with more room for unobserved losses.
pub(super) const DOUBT: [f64; 4] = [0.5, 0.1, 0.6, 0.5];

/// The initial shares of the states.
const BEGIN: [f64; 4] = [0.45, 0.05, 0.05, 0.45];

/// The number of rounds of expectation maximisation (Dempster, Laird and Rubin, Journal of the Royal Statistical
/// Society B 39, 1977) after which four shares have converged.
const ROUNDS: usize = 50;

/// A smaller probability does not contribute to the distribution of a sum.
const NOTHING: f64 = 1e-7;

/// Tails of a distribution below this are cut off, so that thousands of items take little time.
const TAIL: f64 = 1e-18;

/// The likelihood of the answers to each item if it does not move the decision, and if it does.
#[derive(Clone, Debug)]
pub(super) struct Likelihoods(Vec<(f64, f64)>);

/// The states of the items of one type.
#[derive(Clone, Debug)]
pub(super) struct States(Vec<[f64; 4]>);

impl Likelihoods {
    /// The likelihoods of all items of a side, with this noise by case. `classes`: the number of different answers.
    pub(super) fn of(
        side: &SuiteSide<u32>,
        own: &UsualAnswers,
        e: &[f64],
        (items, classes): (&[SuiteSwap], usize),
    ) -> Self {
        let wrong = e.iter().zip(&own.count);
        let wrong: Vec<f64> = wrong.map(|(e, count)| wrong_own(*e, *count)).collect();
        let of_item = |(item, answers): (&SuiteSwap, &Vec<u32>)| {
            let usual = own.answers[item.case];
            let others = answers.iter().filter(|answer| **answer != usual).count() as i32;
            let same = answers.len() as i32 - others;
            let e = e[item.case];
            let moves = 1.0 - e / (classes as f64 - 1.0);
            let likely = |other: f64| other.powi(others) * (1.0 - other).powi(same);
            let (held, moved) = (likely(e), likely(moves));
            let wrong = wrong[item.case];
            // If the usual answer is wrong, an item that moves the decision looks as if it did not.
            (
                (1.0 - wrong) * held + wrong * moved,
                (1.0 - wrong) * moved + wrong * held,
            )
        };
        Self(items.iter().zip(&side.swaps).map(of_item).collect())
    }

    /// The likelihoods of some items.
    pub(super) fn pick(&self, places: &[usize]) -> Vec<(f64, f64)> {
        places.iter().map(|place| self.0[*place]).collect()
    }
}

impl States {
    /// The states, by expectation maximisation over the items of one type.
    pub(super) fn of(base: &[(f64, f64)], head: &[(f64, f64)], pseudo: [f64; 4]) -> Self {
        let likely: Vec<[f64; 4]> = base
            .iter()
            .zip(head)
            .map(|(base, head)| {
                [
                    base.0 * head.0,
                    base.0 * head.1,
                    base.1 * head.0,
                    base.1 * head.1,
                ]
            })
            .collect();
        let all = likely.len() as f64 + pseudo.iter().sum::<f64>();
        let mut shares = BEGIN;
        let mut states = Vec::new();
        for _ in 0..ROUNDS {
            states = likely
                .iter()
                .map(|likely| weighed(likely, &shares))
                .collect();
            shares = std::array::from_fn(|state| {
                let sum: f64 = states.iter().map(|item: &[f64; 4]| item[state]).sum();
                (sum + pseudo[state]) / all
            });
        }
        Self(states)
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// For each item, the probability that it moves the decision on the base.
    pub(super) fn moved_on_base(&self) -> Vec<f64> {
        self.0.iter().map(|state| state[2] + state[3]).collect()
    }

    /// For each item, the probability that it moves the decision on the head.
    pub(super) fn moved_on_head(&self) -> Vec<f64> {
        self.0.iter().map(|state| state[1] + state[3]).collect()
    }

    /// How many items are expected to move the decision on both sides.
    pub(super) fn moved_on_both(&self) -> f64 {
        self.0.iter().map(|state| state[3]).sum()
    }

    /// How many items are expected to be lost, minus those that are won.
    pub(super) fn net(&self) -> f64 {
        self.0.iter().map(|state| state[2] - state[1]).sum()
    }

    /// The probability that the lost items exceed the won items by more than this.
    pub(super) fn lost_beyond(&self, threshold: f64) -> f64 {
        let parts = self.0.iter().map(|state| (state[2], state[1]));
        beyond(parts, threshold)
    }

    /// The probability that the won items exceed the lost items by more than this.
    pub(super) fn won_beyond(&self, threshold: f64) -> f64 {
        let parts = self.0.iter().map(|state| (state[1], state[2]));
        beyond(parts, threshold)
    }
}

fn weighed(likely: &[f64; 4], shares: &[f64; 4]) -> [f64; 4] {
    let joint: [f64; 4] = std::array::from_fn(|state| likely[state] * shares[state]);
    let sum: f64 = joint.iter().sum();
    joint.map(|one| one / sum)
}

/// The probability that the sum over independent items exceeds a threshold. Each item adds 1 with the first
/// probability and subtracts 1 with the second; the distribution is exact, item by item.
fn beyond(parts: impl Iterator<Item = (f64, f64)>, threshold: f64) -> f64 {
    // The sum to which the first entry of `chances` belongs; cutting tails changes it.
    let mut least = 0_i64;
    let mut chances = vec![1.0];
    for (up, down) in parts.filter(|(up, down)| up + down > NOTHING) {
        let same = (1.0 - up - down).max(0.0);
        let mut next = vec![0.0; chances.len() + 2];
        for (at, chance) in chances.iter().enumerate() {
            next[at] += chance * down;
            next[at + 1] += chance * same;
            next[at + 2] += chance * up;
        }
        least -= 1;
        let first = next.iter().position(|chance| *chance > TAIL).unwrap_or(0);
        let last = next.iter().rposition(|chance| *chance > TAIL).unwrap_or(0);
        least += first as i64;
        chances = next[first..=last.max(first)].to_vec();
    }
    let values = chances.iter().zip(least..);
    let above = values.filter(|(_, value)| *value as f64 > threshold + crate::look::GUARD);
    above.map(|(chance, _)| chance).sum()
}
