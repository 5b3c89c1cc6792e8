//! What noise is usual in a suite, and with it the variance of each case's difference.
//!
//! A side that ran a case once says nothing of its noise, and its one run may have been a lucky one. It
//! is taken to vary like the other side, like the other cases, and at least as far as single calls were
//! seen to differ.

use super::paired::{Paired, Part};

/// How many runs the noise of all cases together weighs beside that of the case itself, where a side ran
/// the case once.
const WEIGHT_OF_ALL: f64 = 2.0;

/// How many repeats without any variation it takes for half of the noise that a coin would have. Few
/// repeats that agree are no proof that a pipeline has no noise.
const DOUBT: f64 = 6.0;

/// The variance of a coin: the largest of values between 0 and 1.
const COIN: f64 = 0.25;

/// How much of the noise of single calls a side that ran once is held to have at least. All of it would
/// be too much, since the cases that were run again are those that vary.
const LEAST_OF_CALLS: f64 = 0.5;

/// What noise is usual in a suite.
pub(super) struct Usual {
    /// The variance of a case's mean between answers to the shared input, and to the cells' own; none
    /// where nothing was repeated.
    shared: Option<f64>,
    own: Option<f64>,
    /// The variance of a single cell.
    cell: f64,
    /// The lowest loss of a cell, and the distance from there to the highest.
    low: f64,
    scale: f64,
}

impl Usual {
    /// Learns it from all cases of both sides.
    pub(super) fn of(cases: &[Paired]) -> Self {
        let (mut shared, mut own, mut cell) = (Mean::default(), Mean::default(), Mean::default());
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for case in cases {
            let (base, head) = case.sides();
            for side in [base, head] {
                shared.take(side.shared());
                side.own().into_iter().for_each(|part| own.take(part));
                let (variance, freedom) = side.cell();
                cell.add(variance, freedom * case.cells() as f64);
                low = low.min(side.range().0);
                high = high.max(side.range().1);
            }
        }
        let scale = (high - low).max(0.0);
        cell.add(COIN * scale * scale, DOUBT);
        Self {
            shared: shared.value(),
            own: own.value(),
            cell: cell.value().unwrap_or(0.0),
            low,
            scale,
        }
    }

    /// The usual variance with the answer to the shared input; none where nothing was repeated.
    pub(super) const fn shared(&self) -> Option<f64> {
        self.shared
    }

    /// The same with the answers to the cells' own.
    pub(super) const fn own(&self) -> Option<f64> {
        self.own
    }

    /// The variance of a case's difference, in independent parts with their degrees of freedom.
    pub(super) fn terms(&self, case: &Paired) -> Vec<(f64, f64)> {
        let (base, head) = case.sides();
        if base.is_single() && head.is_single() {
            // It was not run again. The squared difference is what noise alone would make it on average.
            return match case.has_moved() {
                true => vec![(case.difference().powi(2), 1.0)],
                false => Vec::new(),
            };
        }
        let mut terms = Vec::with_capacity(4);
        // What did not move has no luck in it that a drop could rest on.
        let of_calls = match case.has_moved() {
            true => LEAST_OF_CALLS * self.cell,
            false => 0.0,
        };
        let least = of_calls * self.reach(case);
        // The noise of a base of several reports is known well: few runs of the head that agree do not mean that it
        // has less.
        let of_head = |base: Part, head: Part| match case.sides().0.by_report().is_empty() {
            true => head,
            false => head.at_least_as_noisy_as(base),
        };
        add(
            &mut terms,
            (base.shared(), of_head(base.shared(), head.shared())),
            self.shared,
            least,
        );
        // Where one side has its own answers apart, the other one may have them too, or its repeats tell
        // both at once.
        match (base.own(), head.own()) {
            (Some(one), Some(other)) if one.variance.or(other.variance).is_some() => {
                let least = of_calls / case.cells() as f64;
                add(&mut terms, (one, of_head(one, other)), self.own, least);
            }
            (Some(part), None) | (None, Some(part)) => {
                if let Some(variance) = part.variance {
                    terms.push((variance / part.runs, part.runs - 1.0));
                }
            }
            _ => {}
        }
        terms
    }

    /// How far the answer to the shared input takes the mean of a case along, squared: all the way where
    /// its cells agree, and at least as far as it has moved.
    fn reach(&self, case: &Paired) -> f64 {
        let moved = case.difference().powi(2);
        if self.scale <= 0.0 {
            return moved;
        }
        // The side that was repeated is the one that is known.
        let known = match case.sides().1.is_single() {
            true => case.base(),
            false => case.head(),
        };
        let agree = 1.0 - 2.0 * (known - self.low) / self.scale;
        moved.max(self.scale * self.scale * agree * agree) / (self.scale * self.scale)
    }
}

/// Adds what both sides make of one part of the noise.
fn add(terms: &mut Vec<(f64, f64)>, (one, other): (Part, Part), usual: Option<f64>, least: f64) {
    match (one.variance, other.variance) {
        (Some(here), Some(there)) => {
            terms.push((here / one.runs, one.runs - 1.0));
            terms.push((there / other.runs, other.runs - 1.0));
        }
        (Some(known), None) => borrow(terms, (one, known), other.runs, usual, least),
        (None, Some(known)) => borrow(terms, (other, known), one.runs, usual, least),
        (None, None) => {
            if let Some(usual) = usual {
                terms.push((usual * (1.0 / one.runs + 1.0 / other.runs), 1.0));
            }
        }
    }
}

/// Adds a side with repeats, and the other one, which has a single run.
fn borrow(
    terms: &mut Vec<(f64, f64)>,
    (part, known): (Part, f64),
    runs: f64,
    usual: Option<f64>,
    least: f64,
) {
    let freedom = part.runs - 1.0;
    let weight = usual.map_or(0.0, |_| WEIGHT_OF_ALL);
    let mixed = (freedom * known + weight * usual.unwrap_or(0.0)) / (freedom + weight);
    terms.push((known / part.runs, freedom));
    terms.push((mixed.max(least) / runs, freedom + weight));
}

/// A mean variance, weighed by degrees of freedom.
#[derive(Default)]
struct Mean {
    sum: f64,
    freedom: f64,
}

impl Mean {
    fn take(&mut self, part: Part) {
        if let Some(variance) = part.variance {
            self.add(variance, part.runs - 1.0);
        }
    }

    fn add(&mut self, variance: f64, freedom: f64) {
        self.sum += variance * freedom;
        self.freedom += freedom;
    }

    fn value(&self) -> Option<f64> {
        (self.freedom > 0.0).then(|| self.sum / self.freedom)
    }
}
