//! A mean over the runs of a period: of the whole run, of the cases of one label, or of one case.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::past::PastRun;
use kelvin_base::stats;
use kelvin_record::probe_of;

/// A mean with the number of its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Mean {
    /// The unrounded value; none if nothing was measured.
    pub(crate) value: Option<f64>,
    /// How many values the mean is taken over: for a case its repeats, for whole runs the runs, and for a group the
    /// values of the case with the fewest values.
    pub(crate) n: usize,
    /// How many runs the values come from.
    pub(crate) runs: usize,
    /// Why there is no mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Whether there were runs but none of them had the metric. A run that had the metric and could not measure it is a
    /// different case.
    #[serde(skip)]
    pub(super) is_absent: bool,
}

impl Mean {
    /// The mean of values that come from this many runs.
    pub(crate) fn of(values: &[f64], runs: usize) -> Self {
        Self {
            value: stats::mean(values),
            n: values.len(),
            runs,
            reason: None,
            is_absent: false,
        }
    }

    fn or_why(mut self, why: impl FnOnce() -> String) -> Self {
        if self.value.is_none() {
            self.reason = Some(why());
        }
        self
    }
}

/// The reason for a missing mean if no run was found.
const NO_RUN: &str = "there was no run";

/// The mean of the figures of whole runs.
pub(super) fn of_runs(runs: &[&PastRun], metric: &str) -> Mean {
    let figures = runs.iter().filter_map(|run| run.figures.get(metric));
    let values: Vec<f64> = figures.clone().filter_map(|figure| figure.value).collect();
    let mut mean = Mean::of(&values, values.len()).or_why(|| {
        let mut reasons = figures.filter_map(|figure| figure.reason.clone());
        match (runs.is_empty(), reasons.next_back()) {
            (true, _) => NO_RUN.to_owned(),
            (false, Some(reason)) => reason,
            (false, None) => "no run had this metric".to_owned(),
        }
    });
    mean.is_absent = !runs.is_empty() && !runs.iter().any(|run| run.figures.contains_key(metric));
    mean
}

/// The values of one case in one run.
pub(super) fn values(run: &PastRun, metric: &str, case: &str) -> Vec<f64> {
    let figure = run.figures.get(metric);
    let values = figure.and_then(|figure| figure.cases.get(case));
    values.into_iter().flatten().copied().flatten().collect()
}

/// The mean of one case.
pub(super) fn of_case(runs: &[&PastRun], metric: &str, case: &str) -> Mean {
    let each = runs.iter().map(|run| values(run, metric, case));
    let each: Vec<Vec<f64>> = each.filter(|values| !values.is_empty()).collect();
    let is_listed = runs.iter().any(|run| {
        let figure = run.figures.get(metric);
        figure.is_some_and(|figure| figure.cases.contains_key(case))
    });
    let mut mean = Mean::of(&each.concat(), each.len());
    mean.is_absent = !runs.is_empty() && !is_listed;
    mean.or_why(|| match (runs.is_empty(), is_listed) {
        (true, _) => NO_RUN.to_owned(),
        (false, true) => "the case was run and not measured".to_owned(),
        (false, false) => "no run had this case".to_owned(),
    })
}

/// The mean over some cases. Each case counts once, so that a case with more samples has no larger weight.
pub(super) fn of_cases(runs: &[&PastRun], metric: &str, cases: &BTreeSet<&str>) -> Mean {
    let means = cases.iter().map(|case| of_case(runs, metric, case));
    let means: Vec<Mean> = means.filter(|mean| mean.value.is_some()).collect();
    let values: Vec<f64> = means.iter().filter_map(|mean| mean.value).collect();
    let least = |of: fn(&Mean) -> usize| means.iter().map(of).min().unwrap_or(0);
    let mean = Mean {
        n: least(|mean| mean.n),
        runs: least(|mean| mean.runs),
        ..Mean::of(&values, 0)
    };
    mean.or_why(|| match runs.is_empty() {
        true => NO_RUN.to_owned(),
        false => "none of its cases was measured".to_owned(),
    })
}

/// The cases for which any of these runs has a value of a metric.
pub(super) fn cases<'a>(runs: &[&'a PastRun], metric: &str) -> BTreeSet<&'a str> {
    let figures = runs.iter().filter_map(|run| run.figures.get(metric));
    figures
        .flat_map(|figure| figure.cases.keys())
        .map(String::as_str)
        .collect()
}

/// The cases of each label, for the probe of a metric. The newest run that has the label decides which cases belong to
/// it.
pub(super) fn groups<'a>(
    runs: &[&'a PastRun],
    probe: &str,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut groups = BTreeMap::new();
    for run in runs {
        for (label, cases) in run.groups.get(probe).into_iter().flatten() {
            let cases = cases.iter().map(String::as_str).collect();
            groups.insert(label.as_str(), cases);
        }
    }
    groups
}

/// The subject of a mean.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Of {
    /// Whole runs.
    #[serde(rename = "run")]
    Run,
    /// The cases of one label.
    Group(String),
    /// One case.
    Case(String),
}

/// The value of one run.
pub(super) fn value_in(run: &PastRun, metric: &str, of: &Of) -> Option<f64> {
    mean_of(&[run], metric, of).value
}

/// The mean of some runs.
pub(super) fn mean_of(runs: &[&PastRun], metric: &str, of: &Of) -> Mean {
    match of {
        Of::Run => of_runs(runs, metric),
        Of::Case(case) => of_case(runs, metric, case),
        Of::Group(label) => {
            let groups = groups(runs, probe_of(metric));
            let cases = groups.get(label.as_str()).cloned().unwrap_or_default();
            of_cases(runs, metric, &cases)
        }
    }
}
