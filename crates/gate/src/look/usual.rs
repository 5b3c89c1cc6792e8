//! The usual noise in a suite, and from it the variance of each case's difference.
//!
//! If a side ran a case once, its noise is not known, and its only run may have been lucky. So it is assumed to vary
//! like the other side, like the other cases, and at least as much as the observed difference between single calls.

use super::paired::{NoisePart, Paired};

/// How many runs the noise of all cases counts as, besides the noise of the case itself, if a side ran the case once.
const WEIGHT_OF_ALL: f64 = 2.0;

/// The number of repeats without variation that halve the assumed noise of a coin. A few repeats that agree do not
/// prove that a pipeline has no noise.
const DOUBT: f64 = 6.0;

/// The variance of a fair coin, the largest for values between 0 and 1.
const COIN: f64 = 0.25;

/// The lowest share of the noise of single calls that is assumed for a side that ran once. All of that noise would be
/// too much, since the cases that were run again are those that vary.
const LEAST_OF_CALLS: f64 = 0.5;

/// The usual noise in a suite.
pub(super) struct Usual {
    /// The variance of a case's mean due to the answers to the shared input, and due to those to the cells' own inputs;
    /// none without any repeats.
    shared: Option<f64>,
    own: Option<f64>,
    /// The variance of a single cell.
    cell: f64,
    /// The lowest loss of a cell, and the distance from it to the highest loss.
    low: f64,
    scale: f64,
}

impl Usual {
    /// Computes the usual noise from all cases of both sides.
    pub(super) fn of(cases: &[Paired]) -> Self {
        let (mut shared, mut own, mut cell) = (
            MeanVariance::default(),
            MeanVariance::default(),
            MeanVariance::default(),
        );
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

    /// The usual variance due to the answers to the shared input; none without any repeats.
    pub(super) const fn shared(&self) -> Option<f64> {
        self.shared
    }

    /// The usual variance due to the answers to the cells' own inputs.
    pub(super) const fn own(&self) -> Option<f64> {
        self.own
    }

    /// The variance of a case's difference, in independent parts with their degrees of freedom.
    pub(super) fn terms(&self, case: &Paired) -> Vec<(f64, f64)> {
        let (base, head) = case.sides();
        if base.is_single() && head.is_single() {
            // The case was not run again. On average, noise alone would make the squared difference this large.
            return match case.has_moved() {
                true => vec![(case.difference().powi(2), 1.0)],
                false => Vec::new(),
            };
        }
        let mut terms = Vec::with_capacity(4);
        // If a case did not move, the drop cannot depend on its luck.
        let of_calls = match case.has_moved() {
            true => LEAST_OF_CALLS * self.cell,
            false => 0.0,
        };
        let least = of_calls * self.reach(case);
        // The noise of a base with several reports is well known. If a few runs of the head agree, this does not mean
        // that the head has less noise.
        let of_head = |base: NoisePart, head: NoisePart| match case.sides().0.by_report().is_empty()
        {
            true => head,
            false => head.at_least_as_noisy_as(base),
        };
        add(
            &mut terms,
            (base.shared(), of_head(base.shared(), head.shared())),
            self.shared,
            least,
        );
        // If one side estimates the noise of its own answers separately, the other side either does so too, or its
        // repeats contain both parts.
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

    /// How far the answer to the shared input can move the mean of a case, squared: by the full scale if its cells
    /// agree, and at least as far as the case has moved.
    fn reach(&self, case: &Paired) -> f64 {
        let moved = case.difference().powi(2);
        if self.scale <= 0.0 {
            return moved;
        }
        // Only the side with repeats has a known variance.
        let known = match case.sides().1.is_single() {
            true => case.base(),
            false => case.head(),
        };
        let agree = 1.0 - 2.0 * (known - self.low) / self.scale;
        moved.max(self.scale * self.scale * agree * agree) / (self.scale * self.scale)
    }
}

/// Adds the contribution of both sides to one part of the noise.
fn add(
    terms: &mut Vec<(f64, f64)>,
    (one, other): (NoisePart, NoisePart),
    usual: Option<f64>,
    least: f64,
) {
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

/// Adds a side with repeats, and the other side, which has a single run.
fn borrow(
    terms: &mut Vec<(f64, f64)>,
    (part, known): (NoisePart, f64),
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

/// A mean variance, weighted by degrees of freedom.
#[derive(Default)]
struct MeanVariance {
    sum: f64,
    freedom: f64,
}

impl MeanVariance {
    fn take(&mut self, part: NoisePart) {
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
