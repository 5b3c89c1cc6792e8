//! The runs of each configuration in order, and the changes from one to the next.

use std::collections::BTreeMap;

use super::fall::{MetricScale, is_fall};
use super::past::PastRun;
use super::{change, mean};

/// The runs of one configuration, oldest first.
pub(super) struct Runs<'a> {
    pub(super) name: &'a str,
    pub(super) runs: Vec<&'a PastRun>,
    /// How many older runs were left out.
    pub(super) older: usize,
    /// The metrics to show.
    pub(super) metrics: BTreeMap<&'a str, MetricScale>,
}

/// The changes from one run to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunTurn<'a> {
    /// The changed properties on which the figures depend, in words.
    pub(super) what: Vec<&'static str>,
    /// The cases whose value moved by more than a fall needs, the largest move first.
    pub(super) moved: Vec<MovedCase<'a>>,
}

/// A case whose value has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MovedCase<'a> {
    pub(super) case: &'a str,
    pub(super) metric: &'a str,
    pub(super) before: f64,
    pub(super) now: f64,
    /// By how much the value is worse, as a share of the scale; negative where it is better.
    pub(super) worse_by: f64,
}

/// The newest runs of each configuration, by its name.
pub(super) fn of<'a>(runs: &'a [PastRun], metrics: &[String], most: usize) -> Vec<Runs<'a>> {
    let mut by_name: BTreeMap<&str, Vec<&PastRun>> = BTreeMap::new();
    for run in runs {
        by_name.entry(&run.configuration).or_default().push(run);
    }
    let each = by_name.into_iter().map(|(name, mut runs)| {
        runs.sort_by_key(|run| run.at);
        let older = runs.len().saturating_sub(most);
        runs.drain(..older);
        let metrics = super::summarize::metrics(&runs, metrics);
        Runs {
            name,
            runs,
            older,
            metrics,
        }
    });
    each.collect()
}

/// Finds the changes from one run to the next.
pub(super) fn turn<'a>(
    before: &PastRun,
    now: &'a PastRun,
    metrics: &BTreeMap<&'a str, MetricScale>,
) -> RunTurn<'a> {
    let mut moved = Vec::new();
    for (metric, scale) in metrics {
        for case in mean::cases(&[now], metric) {
            let value = |run: &PastRun| mean::of_case(&[run], metric, case).value;
            let (Some(old), Some(new)) = (value(before), value(now)) else {
                continue;
            };
            let worse_by = scale.worse_by(old, new).unwrap_or(0.0);
            if is_fall(worse_by) || is_fall(-worse_by) {
                moved.push(MovedCase {
                    case,
                    metric,
                    before: old,
                    now: new,
                    worse_by,
                });
            }
        }
    }
    moved.sort_by(|one, other| other.worse_by.abs().total_cmp(&one.worse_by.abs()));
    RunTurn {
        what: change::differing(&before.made_of, &now.made_of),
        moved,
    }
}
