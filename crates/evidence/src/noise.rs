//! The noise floor: the distance between two runs of the same input, and the figures without that noise.

use super::aggregate::{Figures, Turn, ends, part_missing};
use super::basis::Basis;
use crate::CaseRecord;
use kelvin_base::stats;
use kelvin_record::{Interval, Metric};
use kelvin_run::judge::Scorer;

/// The mean distance over all pairs of baseline runs of a case; none for fewer than two answers, or if no noise floor
/// is measured.
pub(super) fn sigma(basis: &Basis, scorer: &dyn Scorer, case: &CaseRecord) -> Option<f64> {
    if !basis.noise_floor {
        return None;
    }
    let decisions: Vec<_> = case
        .baseline
        .iter()
        .chain(&case.replays)
        .filter_map(|sample| sample.decision.as_ref())
        .collect();
    let mut distances = Vec::new();
    for (at, one) in decisions.iter().enumerate() {
        distances.extend(
            decisions[at + 1..]
                .iter()
                .filter_map(|other| scorer.distance(one, other)),
        );
    }
    stats::mean(&distances)
}

impl Figures<'_> {
    /// Eta: the mean over cases of the mean distance between two runs of the same input.
    pub(super) fn noise_floor(&self) -> Metric {
        let sigmas: Vec<f64> = self.cases.values().filter_map(|case| case.sigma).collect();
        let clusters: Vec<(f64, usize)> = sigmas.iter().map(|sigma| (*sigma, 1)).collect();
        let failed = self
            .cases
            .values()
            .flat_map(|case| &case.replays)
            .filter(|sample| sample.failure.is_some())
            .count();
        let value = stats::mean(&sigmas)
            .ok_or_else(|| "no case has two answers to the same input".to_owned());
        Metric::new(value, sigmas.len(), failed)
            .lower_is_better()
            .interval(ends(stats::clustered_interval(&clusters)))
    }
}

/// Removes the noise from the distances: f(x) = max(0, (x - eta) / (1 - eta)). Subtracting eta from invariance itself
/// would count the noise twice, since the drift already contains it. The interval is that of the raw figure,
/// transformed in the same way, as if eta were known exactly.
pub(super) fn corrected(metric: &Metric, eta: &Metric, turn: Turn) -> Metric {
    let value = match (metric.value, eta.value) {
        // Converting the value into a distance and back would change the last digit of a value without noise.
        (Some(value), Some(0.0)) => Ok(value),
        (Some(value), Some(eta)) if eta < 1.0 => Ok(without(value, eta, turn)),
        (Some(_), Some(_)) => Err("the noise floor is 1: nothing is left to measure".to_owned()),
        (None, _) => Err(metric.reason.clone().unwrap_or_default()),
        (_, None) => Err(part_missing("the noise floor", eta)),
    };
    let interval = metric.interval.zip(eta.value).filter(|(_, eta)| *eta < 1.0);
    Metric::new(value, metric.n, metric.n_failed).interval(interval.map(|(interval, eta)| {
        Interval {
            low: without(interval.low, eta, turn),
            high: without(interval.high, eta, turn),
        }
    }))
}

fn without(value: f64, eta: f64, turn: Turn) -> f64 {
    turn.of(((turn.of(value) - eta) / (1.0 - eta)).max(0.0))
}
