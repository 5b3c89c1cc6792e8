//! Finds cases whose values differ although none of their conditions has changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::mean;
use super::past::{MadeOf, PastRun};

/// Two values that differ by less than this count as equal: the difference comes from the order of summation.
const SAME: f64 = 1e-9;

/// A flaky case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Flaky {
    /// The case.
    pub(crate) case: String,
    /// The metric whose values differ.
    pub(crate) metric: String,
    /// The lowest value.
    pub(crate) low: f64,
    /// The highest value.
    pub(crate) high: f64,
    /// How many values there are.
    pub(crate) n: usize,
    /// How many runs with equal fingerprints the values come from.
    pub(crate) runs: usize,
}

/// Finds the flaky cases of some runs, in order. Runs of a pipeline without a fingerprint cannot be compared with each
/// other, but the repeats within one such run can.
pub(super) fn find(runs: &[&PastRun], metrics: &BTreeSet<&str>) -> Vec<Flaky> {
    let mut alike: BTreeMap<(&MadeOf, Option<i64>), Vec<&PastRun>> = BTreeMap::new();
    for run in runs {
        let alone = run.made_of.pipeline.is_none().then_some(run.at);
        alike.entry((&run.made_of, alone)).or_default().push(run);
    }
    let mut found: BTreeMap<(&str, &str), Flaky> = BTreeMap::new();
    for runs in alike.values() {
        for metric in metrics {
            for case in mean::cases(runs, metric) {
                let each = runs.iter().map(|run| mean::values(run, metric, case));
                let each: Vec<Vec<f64>> = each.filter(|values| !values.is_empty()).collect();
                let values = each.concat();
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let flaky = Flaky {
                    case: case.to_owned(),
                    metric: (*metric).to_owned(),
                    low,
                    high,
                    n: values.len(),
                    runs: each.len(),
                };
                let widest = found
                    .get(&(case, *metric))
                    .is_none_or(|known| known.high - known.low < high - low);
                if high - low > SAME && widest {
                    found.insert((case, metric), flaky);
                }
            }
        }
    }
    found.into_values().collect()
}
