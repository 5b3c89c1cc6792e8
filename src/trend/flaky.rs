//! Cases whose values differ although nothing differed that they could depend on.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::mean;
use super::past::{MadeOf, PastRun};

/// Two values that differ by less are the same value, added up in another order.
const SAME: f64 = 1e-9;

/// A case that is flaky.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Flaky {
    /// The case.
    pub(crate) case: String,
    /// The metric whose values differ.
    pub(crate) metric: String,
    /// The lowest and the highest of them.
    pub(crate) low: f64,
    /// As above.
    pub(crate) high: f64,
    /// How many values there are.
    pub(crate) n: usize,
    /// How many runs of equal fingerprints they are of.
    pub(crate) runs: usize,
}

/// Finds the flaky cases of some runs, in order. Runs whose pipeline has no fingerprint cannot be laid next to
/// each other, but the repeats within one of them can.
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
