//! One case with the cells that two sides share: its mean loss, and how much the mean varies from run to run.

use super::draws::Draws;
use super::{GUARD, PairedCase, PairedCell};

/// A case with at least one cell that both sides measured.
pub(crate) struct Paired {
    place: usize,
    cells: usize,
    weight: f64,
    identical: bool,
    base: CaseSide,
    head: CaseSide,
}

/// One side of the case.
pub(crate) struct CaseSide {
    /// The mean over the shared cells.
    mean: f64,
    /// The mean of every repeat that gave any value.
    repeats: Vec<f64>,
    /// Whether any two values of one cell differ.
    varies: bool,
    /// How the mean varies with the answer to the input that all cells share.
    shared: NoisePart,
    /// How the mean varies with the answers to the cells' own inputs; none if `shared` contains both.
    own: Option<NoisePart>,
    /// The variance of a single cell between the answers to its own input, and the degrees of freedom of this estimate;
    /// 0 degrees without any repeats.
    cell: (f64, f64),
    /// The lowest and the highest mean of a cell.
    range: (f64, f64),
    /// The values of each stored report for the case, if there are several reports; none for a report that lacks a
    /// cell.
    by_report: Vec<Option<OfReport>>,
}

/// The values of one of several reports for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfReport {
    /// The mean over the cells.
    pub(super) mean: f64,
    /// The variance of that mean between runs of the report; none for fewer than two runs.
    pub(super) noise: Option<f64>,
}

/// A part of the noise of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoisePart {
    /// The variance of the case's mean loss between single runs; none for fewer than two runs.
    pub(super) variance: Option<f64>,
    /// The number of runs.
    pub(super) runs: f64,
}

impl NoisePart {
    /// If its own variance is smaller than the pooled variance of both sides, weighted by degrees of freedom, uses the
    /// pooled one.
    pub(super) fn at_least_as_noisy_as(self, other: Self) -> Self {
        let together = self.variance.zip(other.variance).map(|(own, other_own)| {
            let (freedom, other_freedom) = (self.runs - 1.0, other.runs - 1.0);
            let sum = own * freedom + other_own * other_freedom;
            own.max(sum / (freedom + other_freedom))
        });
        Self {
            variance: together.or(self.variance),
            ..self
        }
    }
}

/// Splits the cases that the base measured: the cases that the head measured too, and the indices of those that the
/// head lost.
pub(crate) fn pair(cases: &[PairedCase]) -> (Vec<Paired>, Vec<usize>) {
    let mut paired = Vec::with_capacity(cases.len());
    let mut lost = Vec::new();
    for (place, case) in cases.iter().enumerate() {
        let common: Vec<&PairedCell> = case
            .cells
            .iter()
            .filter(|cell| cell.base.mean().is_some() && cell.head.mean().is_some())
            .collect();
        if !common.is_empty() {
            let side = |of: fn(&PairedCell) -> &Draws| {
                let cells: Vec<&Draws> = common.iter().map(|cell| of(cell)).collect();
                CaseSide::of(&cells)
            };
            paired.push(Paired {
                place,
                cells: common.len(),
                weight: case.weight,
                identical: common.iter().all(|cell| cell.base == cell.head),
                base: side(|cell| &cell.base),
                head: side(|cell| &cell.head),
            });
        } else if case.cells.iter().any(|cell| cell.base.mean().is_some()) {
            lost.push(place);
        }
    }
    (paired, lost)
}

impl Paired {
    pub(crate) const fn place(&self) -> usize {
        self.place
    }

    pub(super) const fn cells(&self) -> usize {
        self.cells
    }

    pub(super) const fn weight(&self) -> f64 {
        self.weight
    }

    /// How many samples of the metric the case stands for.
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

    /// Whether both sides have equal values in every cell of every repeat: then both are the same measurement.
    pub(super) const fn is_identical(&self) -> bool {
        self.identical
    }

    pub(super) fn has_moved(&self) -> bool {
        self.difference().abs() > GUARD
    }

    pub(super) fn is_unstable(&self) -> bool {
        self.has_moved() || self.base.varies || self.head.varies
    }

    /// The base and the head.
    pub(crate) const fn sides(&self) -> (&CaseSide, &CaseSide) {
        (&self.base, &self.head)
    }
}

impl CaseSide {
    fn of(cells: &[&Draws]) -> Self {
        let count = cells.len() as f64;
        let means: Vec<f64> = cells.iter().filter_map(|cell| cell.mean()).collect();
        let rounds = cells.iter().map(|cell| cell.repeats()).max().unwrap_or(0);
        let repeats = rows(cells, &means, rounds, Draws::repeat);
        let is_crossed = cells.iter().any(|cell| cell.is_crossed());
        let (shared, own, cell) = match is_crossed {
            true => crossed(cells, &means),
            false => {
                let part = NoisePart {
                    variance: variance(&repeats),
                    runs: repeats.len() as f64,
                };
                // Every input has a single answer, so nobody knows which answer was lucky.
                let own = (repeats.len() < 2).then_some(part);
                let freedom = part.variance.map_or(0.0, |_| part.runs - 1.0);
                (part, own, (part.variance.unwrap_or(0.0), freedom))
            }
        };
        Self {
            mean: means.iter().sum::<f64>() / count,
            varies: match is_crossed {
                true => cells.iter().any(|cell| {
                    let all = cell.pairs.iter().flatten();
                    varies(all.filter_map(|loss| *loss))
                }),
                false => varies(repeats.iter().copied()),
            },
            repeats,
            shared,
            own,
            cell,
            by_report: by_report(cells),
            range: (
                means.iter().copied().fold(f64::INFINITY, f64::min),
                means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ),
        }
    }

    /// The mean loss of each repeat that gave any value, in order.
    pub(crate) fn repeats(&self) -> &[f64] {
        &self.repeats
    }

    /// Whether any two values of one cell differ.
    pub(super) const fn varies(&self) -> bool {
        self.varies
    }

    /// Whether the side has a single value for the case.
    pub(super) fn is_single(&self) -> bool {
        self.shared.runs < 2.0 && self.own.is_none_or(|own| own.runs < 2.0)
    }

    pub(super) const fn shared(&self) -> NoisePart {
        self.shared
    }

    pub(super) const fn own(&self) -> Option<NoisePart> {
        self.own
    }

    /// The lowest and the highest mean of a cell.
    pub(super) const fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Whether all runs come from one report.
    pub(crate) const fn is_of_one_report(&self) -> bool {
        self.by_report.is_empty()
    }

    /// The values of each stored report, if there are several.
    pub(super) fn by_report(&self) -> &[Option<OfReport>] {
        &self.by_report
    }

    /// The variance of a single cell, and its degrees of freedom.
    pub(super) const fn cell(&self) -> (f64, f64) {
        self.cell
    }
}

/// The two parts of the noise of a two-sample mean over all pairs, by the jackknife (Arvesen, "Jackknifing
/// U-statistics", Annals of Mathematical Statistics 40, 1969): the variance of the means in which one answer of one
/// kind is fixed. The joint effect of both kinds is counted in each part, so the error is rather too large than too
/// small.
fn crossed(cells: &[&Draws], means: &[f64]) -> (NoisePart, Option<NoisePart>, (f64, f64)) {
    let count = cells.len() as f64;
    let rounds = cells.iter().map(|cell| cell.shared_runs()).max();
    let rows = rows(cells, means, rounds.unwrap_or(0), Draws::with_shared);
    let shared = NoisePart {
        variance: variance(&rows),
        runs: rows.len() as f64,
    };
    let (mut sum, mut known, mut squares, mut freedom) = (0.0, 0.0, 0.0, 0.0);
    let mut most = 0;
    for cell in cells {
        let own = cell.of_own();
        most = most.max(own.len());
        if let Some(variance) = variance(&own) {
            sum += variance;
            known += 1.0;
            squares += variance * (own.len() - 1) as f64;
            freedom += (own.len() - 1) as f64;
        }
    }
    let own = NoisePart {
        // The variance is the mean over the cells; cells without repeats are assumed to vary like the others.
        variance: (known > 0.0).then(|| sum / known / count),
        runs: most as f64,
    };
    let cell = if freedom > 0.0 {
        squares / freedom
    } else {
        0.0
    };
    (shared, Some(own), (cell, freedom))
}

/// The values of each report for a case; none for a report that lacks a cell, since its other cells may be easier or
/// harder.
fn by_report(cells: &[&Draws]) -> Vec<Option<OfReport>> {
    let all: Vec<Vec<Draws>> = cells.iter().map(|cell| cell.by_report()).collect();
    let count = all.iter().map(Vec::len).min().unwrap_or(0);
    let of_report = |report: usize| {
        let own: Vec<&Draws> = all.iter().map(|cell| &cell[report]).collect();
        if own.iter().any(|cell| cell.mean().is_none()) {
            return None;
        }
        let side = CaseSide::of(&own);
        let parts = [Some(side.shared), side.own].into_iter().flatten();
        let known = parts.filter_map(|part| Some(part.variance? / part.runs));
        Some(OfReport {
            mean: side.mean,
            noise: known.reduce(|one, other| one + other),
        })
    };
    (0..count).map(of_report).collect()
}

/// The mean over the cells in each repeat. A cell that is missing in a repeat is replaced by its mean, so that cells
/// that failed sometimes do not change the mean of the case.
fn rows(
    cells: &[&Draws],
    means: &[f64],
    rounds: usize,
    of: fn(&Draws, usize) -> Option<f64>,
) -> Vec<f64> {
    let rounds = 0..rounds;
    let row = rounds.filter_map(|round| {
        cells.iter().find_map(|cell| of(cell, round))?;
        let values = cells.iter().zip(means);
        let sum: f64 = values
            .map(|(cell, mean)| of(cell, round).unwrap_or(*mean))
            .sum();
        Some(sum / cells.len() as f64)
    });
    row.collect()
}

/// The variance between values; none for fewer than two values, and 0 if they differ only by rounding.
fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    if !varies(values.iter().copied()) {
        return Some(0.0);
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|loss| (loss - mean).powi(2)).sum();
    Some(squares / (values.len() as f64 - 1.0))
}

fn varies(values: impl Iterator<Item = f64> + Clone) -> bool {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(f64::NEG_INFINITY, f64::max);
    most - least > GUARD
}
