//! Compares a version with the previous one: what dropped, for each unit and for the whole chain.
//!
//! A unit is a case or a label; a chain is a whole run of a configuration. A trace of another system has its own units
//! and chains. This module uses them only as names with samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fall::{MetricScale, is_fall};
use super::lasting::{self, LastingFall};
use super::past::{PastRun, live};
use super::{mean, summary};
use crate::baseline::Lineage;
use kelvin_record::probe_of;

/// How many runs of a version are used at most, the newest ones.
const NEWEST: usize = 20;

/// The samples of one chain or unit of one version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChainSample {
    /// The id of the metric that was measured.
    pub(crate) metric: String,
    /// The chain.
    pub(crate) chain: String,
    /// The unit; none for the chain itself.
    pub(crate) unit: Option<String>,
    /// How to read the values.
    pub(crate) scale: MetricScale,
    /// The values of the live runs.
    pub(crate) values: Vec<f64>,
    /// How many live measurements the values come from, if this differs from the number of values: a whole run has one
    /// value, even if each of its cases was run several times.
    pub(crate) n: Option<usize>,
}

impl ChainSample {
    fn key(&self) -> (&str, Option<&str>, &str) {
        (&self.chain, self.unit.as_deref(), &self.metric)
    }

    fn mean(&self) -> Option<f64> {
        mean::Mean::of(&self.values, 0).value
    }

    /// Whether all measurements of both samples have the same value, and both samples have the same number of
    /// measurements.
    fn is_equal(&self, other: &Self) -> bool {
        let mut all = self.values.iter().chain(&other.values);
        let first = self.values.first();
        self.n() == other.n() && first.is_some_and(|first| all.all(|value| value == first))
    }

    fn n(&self) -> usize {
        self.n.unwrap_or(self.values.len())
    }
}

/// The measurements of one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct VersionSamples {
    /// The name of the version.
    pub(crate) version: String,
    /// Each chain and unit.
    pub(crate) each: Vec<ChainSample>,
}

/// A version compared with the previous one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Compared {
    /// The newer version.
    pub(crate) current: String,
    /// The older version that the newer one is compared with.
    pub(crate) prior: String,
    /// How many live measurements of both versions a judgement needs.
    pub(crate) live_runs: usize,
    /// Each chain and unit, first those that dropped.
    pub(crate) rows: Vec<RegressionRow>,
    /// The lasting falls over all versions, as in a digest, and not only from the previous version to this one.
    pub(crate) lasting: Vec<LastingFall>,
    /// Notes that a reader must know.
    pub(crate) notices: Vec<String>,
}

/// A chain or a unit, with the values of both versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RegressionRow {
    /// The chain.
    pub(crate) chain: String,
    /// The unit; none for the chain itself.
    pub(crate) unit: Option<String>,
    /// The metric.
    pub(crate) metric: String,
    /// The mean of the prior version.
    pub(crate) prior: Option<f64>,
    /// How many measurements the prior mean is taken over.
    pub(crate) n_prior: usize,
    /// The mean of the current version.
    pub(crate) current: Option<f64>,
    /// How many measurements the current mean is taken over.
    pub(crate) n_current: usize,
    /// By how much the chain or unit is worse, in the unit of the metric; negative if it is better.
    pub(crate) drop: Option<f64>,
    /// The result of the comparison.
    pub(crate) standing: RegressionStanding,
}

/// The result of comparing a chain or a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RegressionStanding {
    /// The value is worse by more than a twentieth of the scale of its metric.
    Dropped,
    /// There are too few live measurements for a judgement.
    Insufficient,
    /// The current version has the chain or unit and could not measure it.
    Unmeasured,
    /// The current version does not have the chain or unit.
    Removed,
    /// The value is neither worse nor better by more than a twentieth of the scale.
    Held,
    /// The value is better by more than a twentieth of the scale.
    Improved,
    /// The prior version did not have the chain or unit.
    Added,
}

impl RegressionStanding {
    /// Whether a version with this result may pass: with an unknown result it may not.
    pub(crate) const fn passes(self) -> bool {
        matches!(self, Self::Held | Self::Improved | Self::Added)
    }

    /// The text for people.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Insufficient => "insufficient",
            Self::Unmeasured => "unmeasured",
            Self::Removed => "removed",
            Self::Held => "held",
            Self::Improved => "improved",
            Self::Added => "added",
        }
    }
}

/// Compares two versions.
pub(crate) fn compare(
    current: &VersionSamples,
    prior: &VersionSamples,
    live_runs: usize,
) -> Compared {
    let by_key = |of: &'_ VersionSamples| -> BTreeMap<_, ChainSample> {
        let each = of.each.iter();
        each.map(|one| {
            let (chain, unit, metric) = one.key();
            let key = (chain.to_owned(), unit.map(str::to_owned), metric.to_owned());
            (key, one.clone())
        })
        .collect()
    };
    let (now, before) = (by_key(current), by_key(prior));
    let keys: BTreeSet<_> = now.keys().chain(before.keys()).collect();
    let mut rows: Vec<RegressionRow> = keys
        .into_iter()
        .filter_map(|key| row(before.get(key), now.get(key), live_runs))
        .collect();
    rows.sort_by(|one, other| {
        let worse = |row: &RegressionRow| row.drop.unwrap_or(0.0);
        one.standing
            .cmp(&other.standing)
            .then(worse(other).total_cmp(&worse(one)))
    });
    Compared {
        current: current.version.clone(),
        prior: prior.version.clone(),
        live_runs,
        rows,
        lasting: Vec::new(),
        notices: Vec::new(),
    }
}

fn row(
    before: Option<&ChainSample>,
    now: Option<&ChainSample>,
    live_runs: usize,
) -> Option<RegressionRow> {
    let one = now.or(before)?;
    let (prior, current) = (
        before.and_then(ChainSample::mean),
        now.and_then(ChainSample::mean),
    );
    let n = |of: Option<&ChainSample>| of.map_or(0, ChainSample::n);
    let (n_prior, n_current) = (n(before), n(now));
    let worse_by = prior.zip(current).map(|(prior, current)| {
        let worse = one.scale.worse_by(prior, current);
        worse.zip(one.scale.ends)
    });
    // A metric without a scale cannot be judged here; it is shown in the digest.
    if worse_by == Some(None) {
        return None;
    }
    let worse_by = worse_by.flatten();
    let standing = match (before, now) {
        (_, None) => RegressionStanding::Removed,
        (None, Some(_)) => RegressionStanding::Added,
        (Some(_), Some(_)) => match worse_by {
            // The prior version may also have failed to measure this, so the missing value does not count against the
            // current version, but it is no pass either.
            None => RegressionStanding::Unmeasured,
            // If all measurements of both versions are equal, noise cannot hide or explain a drop.
            Some(_)
                if before
                    .zip(now)
                    .is_some_and(|(before, now)| before.is_equal(now)) =>
            {
                RegressionStanding::Held
            }
            Some(_) if n_prior.min(n_current) < live_runs => RegressionStanding::Insufficient,
            Some((worse, _)) if is_fall(worse) => RegressionStanding::Dropped,
            Some((worse, _)) if is_fall(-worse) => RegressionStanding::Improved,
            Some(_) => RegressionStanding::Held,
        },
    };
    Some(RegressionRow {
        chain: one.chain.clone(),
        unit: one.unit.clone(),
        metric: one.metric.clone(),
        prior,
        n_prior,
        current,
        n_current,
        drop: worse_by.map(|(worse, (low, high))| worse * (high - low)),
        standing,
    })
}

/// The runs of each version, the newest version last. A version is a commit; files that differ from their commit are a
/// separate version, named by the fingerprint of the code.
///
/// `lineage`: the commits whose order the repository knows. A commit that is measured again does not become newer, and
/// a wrong clock moves nothing. Versions of other commits stay at the position that the clocks of their runs give.
pub(crate) fn versions<'r>(
    runs: &'r [PastRun],
    lineage: &Lineage,
) -> Vec<(String, Vec<&'r PastRun>)> {
    let by_time = by_time(runs);
    let place = |version: &(String, Vec<&PastRun>)| {
        let commit = version.1.first()?.commit.as_deref()?;
        let mut known = lineage.outside.iter().chain(&lineage.inside);
        let at = known.position(|known| known == commit)?;
        Some((at, version.1.iter().any(|run| run.dirty)))
    };
    let mut told: Vec<_> = by_time.iter().filter(|one| place(one).is_some()).collect();
    told.sort_by_key(|version| place(version));
    let mut told = told.into_iter();
    // The positions of the versions with a known order are filled in this order.
    let filled = by_time.iter().map(|version| match place(version) {
        Some(_) => told.next().unwrap_or(version).clone(),
        None => version.clone(),
    });
    filled.collect()
}

/// The lasting falls among all runs; the runs must be given in order.
pub(crate) fn lasting_falls(runs: &[PastRun], metrics: &[String]) -> Vec<LastingFall> {
    let live = live(runs);
    let metrics = summary::metrics(&live, metrics);
    lasting::find(&live, &metrics)
}

/// The runs of each version in the order of their clocks.
fn by_time(runs: &[PastRun]) -> Vec<(String, Vec<&PastRun>)> {
    let mut ordered: Vec<&PastRun> = runs.iter().collect();
    ordered.sort_by_key(|run| run.at);
    let mut versions: Vec<(String, Vec<&PastRun>)> = Vec::new();
    for run in ordered {
        let name = name(run);
        // A version is as new as its newest run.
        let known = versions.iter().position(|(known, _)| *known == name);
        let mut version = known.map_or((name, Vec::new()), |at| versions.remove(at));
        version.1.push(run);
        versions.push(version);
    }
    versions
}

/// The name of the version of a run.
fn name(run: &PastRun) -> String {
    let code = || match run.made_of.pipeline {
        Some(digest) => format!("code {}", digest.short(10)),
        // Without a fingerprint, it is not known whether two runs had the same code.
        None => format!("the run of {}", kelvin_base::calendar::written(run.at)),
    };
    match &run.commit {
        Some(commit) if !run.dirty => commit.clone(),
        Some(commit) => {
            let commit = commit.get(..7).unwrap_or(commit);
            format!("{commit} with changes, {}", code())
        }
        None => code(),
    }
}

impl VersionSamples {
    /// The values of the newest live runs of a version, for the given metrics or, if none is given, for those that are
    /// shown first.
    pub(crate) fn of(version: &str, runs: &[&PastRun], metrics: &[String]) -> Self {
        let live = live(runs.iter().copied());
        let runs = &live[live.len().saturating_sub(NEWEST)..];
        let mut each = Vec::new();
        let chains: BTreeSet<&str> = runs.iter().map(|run| &*run.configuration).collect();
        for chain in chains {
            let own = runs.iter().filter(|run| run.configuration == chain);
            let own: Vec<&PastRun> = own.copied().collect();
            for (metric, scale) in summary::metrics(&own, metrics) {
                each.extend(of_metric(&own, chain, metric, scale));
            }
        }
        Self {
            version: version.to_owned(),
            each,
        }
    }
}

impl VersionSamples {
    /// Counts each chain by its own values: a recorded chain has its own score, which is not computed from the scores
    /// of its units.
    #[must_use]
    pub(crate) fn with_chains_of_their_own(mut self) -> Self {
        for sample in self.each.iter_mut().filter(|sample| sample.unit.is_none()) {
            sample.n = None;
        }
        self
    }

    /// Adds the samples of other chains.
    pub(crate) fn join(&mut self, other: Self) {
        self.each.extend(other.each);
    }
}

fn of_metric(runs: &[&PastRun], chain: &str, metric: &str, scale: MetricScale) -> Vec<ChainSample> {
    let sample = |unit: Option<String>, values: Vec<f64>, n: Option<usize>| ChainSample {
        metric: metric.to_owned(),
        chain: chain.to_owned(),
        unit,
        scale,
        values,
        n,
    };
    let cases = mean::cases(runs, metric);
    let values = |case: &str| -> Vec<f64> {
        let each = runs.iter().flat_map(|run| mean::values(run, metric, case));
        each.collect()
    };
    let figures = runs.iter().filter_map(|run| run.figures.get(metric)?.value);
    // The case with the fewest live runs decides how often the chain counts as live.
    let least = cases.iter().map(|case| values(case).len()).min();
    let mut each = vec![sample(None, figures.collect(), least)];
    for (label, members) in mean::groups(runs, probe_of(metric)) {
        let members: Vec<Vec<f64>> = members.iter().map(|case| values(case)).collect();
        let means = members
            .iter()
            .filter_map(|own| mean::Mean::of(own, 0).value);
        let least = members.iter().map(Vec::len).min();
        each.push(sample(
            Some(format!("group:{label}")),
            means.collect(),
            least,
        ));
    }
    let of_cases = cases.iter();
    each.extend(of_cases.map(|case| sample(Some((*case).to_owned()), values(case), None)));
    each
}
