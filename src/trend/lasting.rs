//! Lasting falls: a mean became worse and stayed worse, within a period or across periods.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fall::{MetricScale, is_fall};
use super::mean::{self, Mean, Of, value_in};
use super::past::PastRun;
use super::split::{Split, splits};
use kelvin_base::calendar;
use kelvin_record::{Direction, probe_of};

/// How many runs are examined at most, the newest ones.
const NEWEST: usize = 60;
/// Of histories without any change, at most this share shows a fall by chance: one half of it for whole runs and
/// groups, and the other half for cases, of which there may be many.
pub(super) const ALPHA: f64 = 0.05;

/// A lasting fall.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LastingFall {
    /// The metric.
    pub(crate) metric: String,
    /// The subject of the mean.
    #[serde(flatten)]
    pub(crate) of: Of,
    /// When the first run after the fall started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// The mean before the fall.
    pub(crate) before: Mean,
    /// The mean since the fall.
    pub(crate) now: Mean,
    /// By how much the mean is worse, as a share of the scale.
    pub(crate) worse_by: f64,
    /// Whether the value fell gradually: then the run is in the middle of the fall.
    pub(crate) is_gradual: bool,
    /// When the run started.
    #[serde(skip)]
    pub(super) began: i64,
}

/// A series of values: its subject, and the value of each run, as a share of the scale and with its sign set so that
/// more is better.
struct Series<'a> {
    metric: &'a str,
    of: Of,
    scale: MetricScale,
    values: Vec<Option<f64>>,
}

/// The lasting falls among the newest of the given runs: of whole runs, groups and cases, each tested with its own
/// values.
pub(super) fn find(course: &[&PastRun], metrics: &BTreeMap<&str, MetricScale>) -> Vec<LastingFall> {
    let runs = &course[course.len().saturating_sub(NEWEST)..];
    let (cases, above): (Vec<_>, Vec<_>) = series(runs, metrics)
        .into_iter()
        .partition(|one| matches!(one.of, Of::Case(_)));
    let mut found = Vec::new();
    for family in [above, cases] {
        let values: Vec<_> = family.iter().map(|one| one.values.clone()).collect();
        for (one, splits) in family.iter().zip(splits(&values, ALPHA / 2.0)) {
            found.extend(falls(one, &splits, runs));
        }
    }
    found
}

/// Whole runs and groups that may have fallen: from some run on, each value was worse than all values before. With few
/// runs this may also be noise, but such a mean must not count as stable.
pub(super) fn suspected(
    runs: &[&PastRun],
    metrics: &BTreeMap<&str, MetricScale>,
) -> Vec<LastingFall> {
    let above = series(runs, metrics).into_iter();
    let above = above.filter(|one| !matches!(one.of, Of::Case(_)));
    let found = above.filter_map(|one| {
        let known = known(&one);
        let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let apart = (1..values.len())
            .map(|at| (least(&values[..at]) - most(&values[at..]), at))
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let (_, at) = apart.filter(|(apart, _)| is_fall(*apart))?;
        let split = Split {
            at,
            part: (0, values.len()),
            is_gradual: false,
        };
        Some(fall(&one, &split, &known, runs))
    });
    found.collect()
}

fn series<'a>(runs: &[&PastRun], metrics: &BTreeMap<&'a str, MetricScale>) -> Vec<Series<'a>> {
    let mut found = Vec::new();
    for (metric, scale) in metrics {
        let Some((low, high)) = scale.ends else {
            continue;
        };
        let groups = mean::groups(runs, probe_of(metric));
        let groups = groups.keys().map(|label| Of::Group((*label).to_owned()));
        let cases = mean::cases(runs, metric);
        let cases = cases.iter().map(|case| Of::Case((*case).to_owned()));
        for of in [Of::Run].into_iter().chain(groups).chain(cases) {
            let share = |value: f64| match scale.direction {
                Direction::Higher => (value - low) / (high - low),
                Direction::Lower => (high - value) / (high - low),
            };
            let values = runs.iter();
            let values = values.map(|run| value_in(run, metric, &of).map(share));
            found.push(Series {
                values: values.collect(),
                metric,
                of,
                scale: *scale,
            });
        }
    }
    found
}

/// The runs that have a value, as their index and the value.
fn known(series: &Series<'_>) -> Vec<(usize, f64)> {
    let each = series.values.iter().enumerate();
    each.filter_map(|(at, value)| Some((at, (*value)?)))
        .collect()
}

fn falls(series: &Series<'_>, splits: &[Split], runs: &[&PastRun]) -> Vec<LastingFall> {
    let known = known(series);
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let Some(last) = splits.last() else {
        return Vec::new();
    };
    let level = mean(&values[last.at..]);
    let lasts = splits.iter().filter(|split| {
        let (before, after) = (
            &values[split.part.0..split.at],
            &values[split.at..split.part.1],
        );
        // No single run may cause a fall: the fall must remain without the best run before it and the worst run after
        // it.
        let best = before.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let worst = after.iter().copied().fold(f64::INFINITY, f64::min);
        let without = |values: &[f64], one: f64| {
            let rest = values.len() as f64 - 1.0;
            (values.iter().sum::<f64>() - one) / rest
        };
        is_fall(mean(before) - mean(after))
            && is_fall(without(before, best) - without(after, worst))
            && is_fall(mean(before) - level)
    });
    lasts
        .map(|split| fall(series, split, &known, runs))
        .collect()
}

fn fall(
    series: &Series<'_>,
    split: &Split,
    known: &[(usize, f64)],
    runs: &[&PastRun],
) -> LastingFall {
    let value = |place: usize| value_in(runs[place], series.metric, &series.of);
    let of = |part: &[(usize, f64)]| {
        let values: Vec<f64> = part.iter().filter_map(|(place, _)| value(*place)).collect();
        Mean::of(&values, values.len())
    };
    let before = of(&known[split.part.0..split.at]);
    let now = of(&known[split.at..split.part.1]);
    let both = before.value.zip(now.value);
    let worse_by = both.and_then(|(before, now)| series.scale.worse_by(before, now));
    let first = runs[known[split.at].0];
    LastingFall {
        metric: series.metric.to_owned(),
        of: series.of.clone(),
        at: calendar::written(first.at),
        commit: first.commit.clone(),
        worse_by: worse_by.unwrap_or(0.0),
        is_gradual: split.is_gradual,
        began: first.at,
        before,
        now,
    }
}
