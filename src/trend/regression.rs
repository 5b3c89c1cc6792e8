//! One version beside the version before it: what dropped, by unit and for the whole chain.
//!
//! A unit is a case or a label; a chain is a whole run of a configuration. A trace of another system has units
//! and chains of its own. Whatever they are, here they are names with samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fall::{Scale, is_fall};
use super::lasting::{self, LastingFall};
use super::past::{PastRun, live};
use super::{mean, summarize};
use crate::baseline::Lineage;
use kelvin_record::probe_of;

/// How many runs of a version are looked at, the newest ones.
const NEWEST: usize = 20;

/// The samples of one chain or unit of one version.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// What was measured: the id of a metric.
    pub(crate) metric: String,
    /// The chain.
    pub(crate) chain: String,
    /// The unit; none for the chain itself.
    pub(crate) unit: Option<String>,
    /// How the values are read.
    pub(crate) scale: Scale,
    /// The values of the live runs.
    pub(crate) values: Vec<f64>,
    /// How many live measurements these are the values of, where that is another number than that of the
    /// values: the value of a whole run is one, however often each of its cases was run.
    pub(crate) n: Option<usize>,
}

impl Sample {
    fn key(&self) -> (&str, Option<&str>, &str) {
        (&self.chain, self.unit.as_deref(), &self.metric)
    }

    fn mean(&self) -> Option<f64> {
        mean::Mean::of(&self.values, 0).value
    }

    /// Whether all measurements of both have one and the same value, and both have as many.
    fn is_equal(&self, other: &Self) -> bool {
        let mut all = self.values.iter().chain(&other.values);
        let first = self.values.first();
        self.n() == other.n() && first.is_some_and(|first| all.all(|value| value == first))
    }

    fn n(&self) -> usize {
        self.n.unwrap_or(self.values.len())
    }
}

/// What one version measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    /// What the version is called.
    pub(crate) version: String,
    /// Each chain and unit.
    pub(crate) each: Vec<Sample>,
}

/// A version beside the one before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Compared {
    /// The version that is looked at.
    pub(crate) current: String,
    /// The version that it is compared with.
    pub(crate) prior: String,
    /// How many live measurements of both a judgement takes.
    pub(crate) live_runs: usize,
    /// Each chain and unit, what dropped first.
    pub(crate) rows: Vec<RegressionRow>,
    /// What fell and stayed so, over all versions and not from the one before to this one alone: as a digest tells it.
    pub(crate) lasting: Vec<LastingFall>,
    /// What a reader must know.
    pub(crate) notices: Vec<String>,
}

/// One chain or unit in both versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RegressionRow {
    /// The chain.
    pub(crate) chain: String,
    /// The unit; none for the chain itself.
    pub(crate) unit: Option<String>,
    /// The metric.
    pub(crate) metric: String,
    /// The mean of the prior version, and how many measurements it is of.
    pub(crate) prior: Option<f64>,
    /// As above.
    pub(crate) n_prior: usize,
    /// The same of the current version.
    pub(crate) current: Option<f64>,
    /// As above.
    pub(crate) n_current: usize,
    /// By how much it is worse, in the values of the metric; below zero where it is better.
    pub(crate) drop: Option<f64>,
    /// What became of it.
    pub(crate) standing: Standing,
}

/// What became of a chain or a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// It is worse by more than a twentieth of the scale of its metric.
    Dropped,
    /// Too few live measurements to say.
    Insufficient,
    /// The current version has it and could not measure it.
    Unmeasured,
    /// The current version does not have it.
    Removed,
    /// It is neither better nor worse by so much.
    Held,
    /// It is better by so much.
    Improved,
    /// The prior version did not have it.
    Added,
}

impl Standing {
    /// Whether a version may be let through as far as this goes: what cannot be told is no pass.
    pub(crate) const fn passes(self) -> bool {
        matches!(self, Self::Held | Self::Improved | Self::Added)
    }

    /// For people.
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

/// Lays two versions next to each other.
pub(crate) fn compare(current: &Samples, prior: &Samples, live_runs: usize) -> Compared {
    let by_key = |of: &'_ Samples| -> BTreeMap<_, Sample> {
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

fn row(before: Option<&Sample>, now: Option<&Sample>, live_runs: usize) -> Option<RegressionRow> {
    let one = now.or(before)?;
    let (prior, current) = (before.and_then(Sample::mean), now.and_then(Sample::mean));
    let n = |of: Option<&Sample>| of.map_or(0, Sample::n);
    let (n_prior, n_current) = (n(before), n(now));
    let worse_by = prior.zip(current).map(|(prior, current)| {
        let worse = one.scale.worse_by(prior, current);
        worse.zip(one.scale.ends)
    });
    // What has no scale cannot be judged, and is in the digest.
    if worse_by == Some(None) {
        return None;
    }
    let worse_by = worse_by.flatten();
    let standing = match (before, now) {
        (_, None) => Standing::Removed,
        (None, Some(_)) => Standing::Added,
        (Some(_), Some(_)) => match worse_by {
            // What the prior version could not measure either is no loss of this one, and no pass.
            None => Standing::Unmeasured,
            // Where each measurement of both is the same one, there is no drop that noise could hide or explain.
            Some(_)
                if before
                    .zip(now)
                    .is_some_and(|(before, now)| before.is_equal(now)) =>
            {
                Standing::Held
            }
            Some(_) if n_prior.min(n_current) < live_runs => Standing::Insufficient,
            Some((worse, _)) if is_fall(worse) => Standing::Dropped,
            Some((worse, _)) if is_fall(-worse) => Standing::Improved,
            Some(_) => Standing::Held,
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

/// The runs of each version, the newest version last. A version is a commit; files that differ from their
/// commit are a version of their own, known by the fingerprint of the code.
///
/// `lineage`: the commits whose order the repository tells. A commit that is measured once more is no newer for it, and a
/// clock that goes wrong moves nothing. What it does not tell stays where the clocks of the runs have it.
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
    // The places of those that are told are filled in their order.
    let filled = by_time.iter().map(|version| match place(version) {
        Some(_) => told.next().unwrap_or(version).clone(),
        None => version.clone(),
    });
    filled.collect()
}

/// The falls that last among all runs, which are in their order.
pub(crate) fn lasting_falls(runs: &[PastRun], metrics: &[String]) -> Vec<LastingFall> {
    let live = live(runs);
    let metrics = summarize::metrics(&live, metrics);
    lasting::find(&live, &metrics)
}

/// The same by the clocks of the runs.
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

/// What the version of a run is called.
fn name(run: &PastRun) -> String {
    let code = || match run.made_of.pipeline {
        Some(digest) => format!("code {}", digest.short(10)),
        // Nothing tells the code of this run from that of another.
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

impl Samples {
    /// What the newest live runs of a version have measured, of these metrics or of those that a person is
    /// shown first.
    pub(crate) fn of(version: &str, runs: &[&PastRun], metrics: &[String]) -> Self {
        let live = live(runs.iter().copied());
        let runs = &live[live.len().saturating_sub(NEWEST)..];
        let mut each = Vec::new();
        let chains: BTreeSet<&str> = runs.iter().map(|run| &*run.configuration).collect();
        for chain in chains {
            let own = runs.iter().filter(|run| run.configuration == chain);
            let own: Vec<&PastRun> = own.copied().collect();
            let figures = own.iter().flat_map(|run| &run.figures);
            let wanted = figures.filter(|(id, figure)| match metrics.is_empty() {
                true => figure.shown_first,
                false => metrics.contains(id),
            });
            let wanted: BTreeMap<&str, Scale> = wanted
                .map(|(id, figure)| (id.as_str(), figure.scale))
                .collect();
            for (metric, scale) in wanted {
                each.extend(of_metric(&own, chain, metric, scale));
            }
        }
        Self {
            version: version.to_owned(),
            each,
        }
    }
}

impl Samples {
    /// Counts each chain by its own values: the score of a recorded chain is measured by itself, and is not made
    /// of those of its units.
    #[must_use]
    pub(crate) fn with_chains_of_their_own(mut self) -> Self {
        for sample in self.each.iter_mut().filter(|sample| sample.unit.is_none()) {
            sample.n = None;
        }
        self
    }

    /// Adds those of other chains.
    pub(crate) fn join(&mut self, other: Self) {
        self.each.extend(other.each);
    }
}

fn of_metric(runs: &[&PastRun], chain: &str, metric: &str, scale: Scale) -> Vec<Sample> {
    let sample = |unit: Option<String>, values: Vec<f64>, n: Option<usize>| Sample {
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
    // A chain was live as often as the case of it that was live least.
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
