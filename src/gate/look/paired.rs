//! What two sides have in common of one case, as a mean loss with its repeats.

use super::{Case, Cell, GUARD};

/// A case with at least one cell that both sides measured.
pub(in crate::gate) struct Paired {
    place: usize,
    cells: usize,
    weight: f64,
    identical: bool,
    base: Side,
    head: Side,
}

/// One side of it.
pub(in crate::gate) struct Side {
    /// The mean over the common cells.
    mean: f64,
    /// The same of every repeat that gave any value.
    repeats: Vec<f64>,
}

/// Splits the cases that the base measured into those that the head measured too, and the places
/// of those it lost.
pub(in crate::gate) fn pair(cases: &[Case]) -> (Vec<Paired>, Vec<usize>) {
    let mut paired = Vec::with_capacity(cases.len());
    let mut lost = Vec::new();
    for (place, case) in cases.iter().enumerate() {
        let common: Vec<&Cell> = case
            .cells
            .iter()
            .filter(|cell| mean(&cell.base).is_some() && mean(&cell.head).is_some())
            .collect();
        if !common.is_empty() {
            paired.push(Paired {
                place,
                cells: common.len(),
                weight: case.weight,
                identical: common.iter().all(|cell| cell.base == cell.head),
                base: Side::of(common.iter().map(|cell| cell.base.as_slice())),
                head: Side::of(common.iter().map(|cell| cell.head.as_slice())),
            });
        } else if case.cells.iter().any(|cell| mean(&cell.base).is_some()) {
            lost.push(place);
        }
    }
    (paired, lost)
}

impl Paired {
    pub(super) const fn place(&self) -> usize {
        self.place
    }

    pub(super) const fn cells(&self) -> usize {
        self.cells
    }

    pub(super) const fn weight(&self) -> f64 {
        self.weight
    }

    /// How many samples of the metric it stands for.
    pub(super) fn samples(&self) -> f64 {
        self.weight * self.cells as f64
    }

    pub(super) const fn base(&self) -> f64 {
        self.base.mean
    }

    pub(super) const fn head(&self) -> f64 {
        self.head.mean
    }

    pub(super) fn difference(&self) -> f64 {
        self.head.mean - self.base.mean
    }

    /// Equal in every cell of every repeat: the same measurement.
    pub(super) const fn is_identical(&self) -> bool {
        self.identical
    }

    pub(super) fn has_moved(&self) -> bool {
        self.difference().abs() > GUARD
    }

    pub(super) fn is_unstable(&self) -> bool {
        self.has_moved() || self.base.varies() || self.head.varies()
    }

    /// The base and the head.
    pub(in crate::gate) const fn sides(&self) -> (&Side, &Side) {
        (&self.base, &self.head)
    }
}

impl Side {
    /// A repeat that lacks a cell takes that cell's mean for it, so that cells which failed now and
    /// then do not shift the mean of the case.
    fn of<'a>(cells: impl Iterator<Item = &'a [Option<f64>]> + Clone) -> Self {
        let count = cells.clone().count() as f64;
        let means: Vec<f64> = cells.clone().filter_map(mean).collect();
        let rounds = cells.clone().map(<[_]>::len).max().unwrap_or(0);
        let repeats = (0..rounds)
            .filter_map(|round| {
                let value = |cell: &[Option<f64>]| finite(cell.get(round).copied().flatten());
                cells.clone().find_map(value)?;
                let sum: f64 = cells
                    .clone()
                    .zip(&means)
                    .map(|(cell, mean)| value(cell).unwrap_or(*mean))
                    .sum();
                Some(sum / count)
            })
            .collect();
        Self {
            mean: means.iter().sum::<f64>() / count,
            repeats,
        }
    }

    /// The mean loss of each repeat that gave any value, in order.
    pub(in crate::gate) fn repeats(&self) -> &[f64] {
        &self.repeats
    }

    /// How many repeats.
    pub(super) fn runs(&self) -> f64 {
        self.repeats.len() as f64
    }

    /// The variance between repeats, below two none; 0 where they differ by no more than rounding.
    pub(super) fn variance(&self) -> Option<f64> {
        if self.repeats.len() < 2 {
            return None;
        }
        if !self.varies() {
            return Some(0.0);
        }
        let mean = self.repeats.iter().sum::<f64>() / self.runs();
        let squares: f64 = self.repeats.iter().map(|loss| (loss - mean).powi(2)).sum();
        Some(squares / (self.runs() - 1.0))
    }

    fn varies(&self) -> bool {
        let least = self.repeats.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self
            .repeats
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        most - least > GUARD
    }
}

/// The mean of what was measured.
fn mean(losses: &[Option<f64>]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for loss in losses.iter().filter_map(|loss| finite(*loss)) {
        sum += loss;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

fn finite(loss: Option<f64>) -> Option<f64> {
    loss.filter(|loss| loss.is_finite())
}
