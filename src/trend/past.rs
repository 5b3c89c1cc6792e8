//! A run of the past: what is kept of its report, which may be large, while many are looked at together.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fall::Scale;
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_gate::report::{Decision, Report, StoredVerdict};
use kelvin_record::{Ending, Metric, SectionFingerprint, probe_of};

/// Where a report was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// On the branch of reports.
    Branch,
    /// In the local history.
    History,
    /// In a folder of traces that another tool has recorded.
    Traces,
}

/// Why a report is read and not counted: its figures are not those of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Left {
    /// It is that of one shard.
    Shard,
    /// It is that of a dry run, which called nothing.
    DryRun,
    /// The run did not come to its end.
    Unfinished,
    /// The run was restricted to some items.
    Restricted,
    /// A person is still to decide about the chain.
    Undecided,
    /// Its commit is none that the default branch had at its tip.
    Unmerged,
}

impl Left {
    /// What such reports are, for people.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Shard => "of a single shard",
            Self::DryRun => "of a dry run",
            Self::Unfinished => "of a run that did not come to its end",
            Self::Restricted => "of a run that was restricted to some cases",
            Self::Undecided => "of a chain about which a person is still to decide",
            Self::Unmerged => "of a commit beside the history of the default branch",
        }
    }
}

/// What is kept of the report of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastRun {
    /// The name of its configuration.
    pub(crate) configuration: String,
    /// Where it was found.
    pub(crate) place: Place,
    /// The commit that was checked out.
    pub(crate) commit: Option<String>,
    /// Whether the files differed from it.
    pub(crate) dirty: bool,
    /// When it started, in seconds since 1970; of runs that were put in the order of the history, when its commit was the
    /// newest.
    pub(crate) at: i64,
    /// What its figures depend on.
    pub(crate) made_of: MadeOf,
    /// What it took.
    pub(crate) cost: Cost,
    /// Its figures, by id.
    pub(crate) figures: BTreeMap<String, PastFigure>,
    /// The cases of each label, by probe.
    pub(crate) groups: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// What somebody decided about a regression that the run found.
    pub(crate) decision: Option<Decision>,
    /// What the gate said of it.
    pub(crate) verdict: Option<StoredVerdict>,
}

/// What figures depend on. Where two runs agree in all of it, their figures differ by chance alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MadeOf {
    pub(super) tool: String,
    pub(super) seed: u64,
    pub(super) configuration: Digest,
    /// None where it could not be told.
    pub(super) pipeline: Option<Digest>,
    /// The items and the command of each probe.
    pub(super) sections: BTreeMap<String, (Option<Digest>, Option<Digest>)>,
}

impl MadeOf {
    /// What the figures of a recorded chain depend on: its version, and what it is made of.
    pub(super) const fn traced(version: Digest, code: Option<Digest>) -> Self {
        Self {
            tool: String::new(),
            seed: 0,
            configuration: version,
            pipeline: code,
            sections: BTreeMap::new(),
        }
    }

    /// What the figures of a run would depend on that this program makes: the configuration, the seed and the
    /// code of the pipeline, and the items and the command of each probe.
    pub(crate) fn by_this<'a>(
        (configuration, seed, pipeline): (Digest, u64, Option<Digest>),
        sections: impl Iterator<Item = (&'a str, SectionFingerprint)>,
    ) -> Self {
        Self {
            tool: format!("kelvin {}", env!("CARGO_PKG_VERSION")),
            seed,
            configuration,
            pipeline,
            sections: sections
                .map(|(name, SectionFingerprint { items, command })| {
                    (name.to_owned(), (items, command))
                })
                .collect(),
        }
    }
}

/// A figure of a run of the past.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastFigure {
    /// Unrounded; none where it was not measured.
    pub(crate) value: Option<f64>,
    /// Why not.
    pub(crate) reason: Option<String>,
    /// How its values are read.
    pub(crate) scale: Scale,
    /// Whether a person is shown it first.
    pub(crate) shown_first: bool,
    /// The value of each repeat of each case.
    pub(crate) cases: BTreeMap<String, Vec<Option<f64>>>,
}

impl PastRun {
    /// Why a report is not counted; none where it is.
    pub(crate) fn left(report: &Report) -> Option<Left> {
        match report.run.ending {
            Ending::DryRun => Some(Left::DryRun),
            _ if report.run.shard.is_some() => Some(Left::Shard),
            Ending::Complete if report.run.only.is_empty() => None,
            Ending::Complete => Some(Left::Restricted),
            Ending::Interrupted | Ending::Failed | Ending::Changed => Some(Left::Unfinished),
        }
    }

    /// Takes of a report what is looked at.
    ///
    /// # Errors
    ///
    /// Where the report does not say when it was made.
    pub(crate) fn of(report: &Report, configuration: &str, place: Place) -> Result<Self, String> {
        let session = &report.run.session;
        let sections = report.probes.iter();
        let fingerprints = &report.run.fingerprints;
        Ok(Self {
            configuration: configuration.to_owned(),
            place,
            commit: session.commit.clone(),
            dirty: session.dirty,
            at: calendar::moment(&session.started_at)?,
            made_of: MadeOf {
                tool: format!("{} {}", report.tool.name, report.tool.version),
                ..MadeOf::by_this(
                    (fingerprints.config, report.run.seed, fingerprints.pipeline),
                    sections.map(|(name, section)| (name, section.fingerprint())),
                )
            },
            cost: session.cost,
            figures: report
                .metrics
                .iter()
                .map(|(id, metric)| {
                    let once = report.kept(probe_of(id));
                    (id.clone(), PastFigure::of(metric, &once))
                })
                .collect(),
            groups: groups(report),
            decision: session.decision.clone(),
            verdict: session.verdict.clone(),
        })
    }

    /// Whether both are one run that was found twice. Times are in seconds, and two short runs may begin in
    /// the same one: what they took tells them apart.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.at == other.at
            && self.cost == other.cost
            && self.commit == other.commit
            && self.configuration == other.configuration
            && self.made_of == other.made_of
    }

    /// Whether the run called nothing, because every answer came from the cache.
    pub(super) const fn is_replay(&self) -> bool {
        self.cost.invocations == 0 && self.cost.cache_hits + self.cost.resumed > 0
    }
}

impl PastFigure {
    /// `once` are the cases whose repeats count as one run, because the pipeline answered them from memory.
    fn of(metric: &Metric, once: &BTreeSet<&str>) -> Self {
        Self {
            value: metric.value,
            reason: metric.reason.clone(),
            scale: Scale::of(metric),
            shown_first: metric.is_shown_first(),
            cases: metric
                .per_case
                .iter()
                .map(|(case, value)| {
                    let samples = match once.contains(case.as_str()) {
                        true => std::slice::from_ref(&value.value),
                        false => value.samples(),
                    };
                    (case.clone(), samples.to_vec())
                })
                .collect(),
        }
    }
}

/// The cases of each label, by probe. A probe whose cases have labels has a figure for each of them, which is
/// called `PROBE.group.LABEL`.
fn groups(report: &Report) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let mut groups: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (id, metric) in &report.metrics {
        if let Some(label) = label(id) {
            let of_probe = groups.entry(probe_of(id).to_owned()).or_default();
            let cases = metric.per_case.keys().cloned().collect();
            of_probe.insert(label.to_owned(), cases);
        }
    }
    groups
}

/// The label that a figure is of; none for the figures of all cases.
pub(super) fn label(id: &str) -> Option<&str> {
    id.strip_prefix(probe_of(id))?.strip_prefix(".group.")
}

/// Those of some runs that measured anything of their own, oldest first. A run that called nothing repeats
/// what another run of the same code has measured: counted again, it would make few samples look like many.
pub(super) fn live<'a>(runs: impl IntoIterator<Item = &'a PastRun>) -> Vec<&'a PastRun> {
    let mut runs: Vec<&PastRun> = runs.into_iter().collect();
    runs.sort_by_key(|run| (run.is_replay(), run.at));
    let mut live: Vec<&PastRun> = Vec::new();
    for run in runs {
        let is_known = |other: &&PastRun| {
            other.configuration == run.configuration && other.made_of == run.made_of
        };
        if !run.is_replay() || !live.iter().any(is_known) {
            live.push(run);
        }
    }
    live.sort_by_key(|run| run.at);
    live
}
