//! A past run: the part of its report that stays in memory, because reports may be large, and many are compared
//! together.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use super::fall::MetricScale;
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_gate::report::{Decision, Report, StoredVerdict};
use kelvin_record::{Ending, Metric, Nouns, SectionFingerprint, probe_of};

/// Where a report was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// On the branch of reports.
    Branch,
    /// In the local history.
    History,
    /// The report comes from a folder with traces that another tool has recorded.
    Traces,
}

/// Why a report is read but not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeftOutReason {
    /// The report covers only one shard.
    Shard,
    /// The report comes from a dry run, which called nothing.
    DryRun,
    /// The run was not completed.
    Unfinished,
    /// The run was limited to some items.
    Restricted,
    /// A person must still decide about the chain.
    Undecided,
    /// The commit of the run was never the tip of the default branch.
    Unmerged,
}

impl LeftOutReason {
    /// Describes the reports that are left out for this reason, in words for people.
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

/// The part of a run's report that is kept in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastRun {
    /// The name of the configuration.
    pub(crate) configuration: String,
    /// Where the report was found.
    pub(crate) place: Place,
    /// The commit that was checked out.
    pub(crate) commit: Option<String>,
    /// Whether the files differed from the commit.
    pub(crate) dirty: bool,
    /// When the run started, in seconds since 1970. If runs were sorted by the history: a time at which the commit was
    /// the newest.
    pub(crate) at: i64,
    /// The conditions on which the figures depend.
    pub(crate) made_of: MadeOf,
    /// The cost of the run.
    pub(crate) cost: Cost,
    /// The nouns for its items; if its probes have different nouns, the nouns for any item.
    pub(crate) nouns: Nouns,
    /// The figures, by id.
    pub(crate) figures: BTreeMap<String, PastFigure>,
    /// The cases of each label, by probe.
    pub(crate) groups: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// The decision about a regression that the run found.
    pub(crate) decision: Option<Decision>,
    /// The verdict of the gate on the run.
    pub(crate) verdict: Option<StoredVerdict>,
}

/// The conditions on which figures depend. If two runs have the same conditions, their figures differ only by chance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MadeOf {
    pub(super) tool: String,
    pub(super) seed: u64,
    pub(super) configuration: Digest,
    /// The digest of the code of the pipeline; none if not known.
    pub(super) pipeline: Option<Digest>,
    /// The items and the command of each probe.
    pub(super) sections: BTreeMap<String, (Option<Digest>, Option<Digest>)>,
}

impl MadeOf {
    /// The conditions of a recorded chain: its version and its code.
    pub(super) const fn traced(version: Digest, code: Option<Digest>) -> Self {
        Self {
            tool: String::new(),
            seed: 0,
            configuration: version,
            pipeline: code,
            sections: BTreeMap::new(),
        }
    }

    /// The conditions that a run with this program would have: the configuration, the seed and the code of the
    /// pipeline, and the items and the command of each probe.
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

/// A figure of a past run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastFigure {
    /// The unrounded value; none if it was not measured.
    pub(crate) value: Option<f64>,
    /// Why the figure was not measured.
    pub(crate) reason: Option<String>,
    /// How to read the values.
    pub(crate) scale: MetricScale,
    /// Whether the figure is one of those that are shown first.
    pub(crate) shown_first: bool,
    /// The value of each repeat of each case.
    pub(crate) cases: BTreeMap<String, Vec<Option<f64>>>,
}

impl PastRun {
    /// Why a report is not counted; none if it is counted.
    pub(crate) fn left(report: &Report) -> Option<LeftOutReason> {
        match report.run.ending {
            Ending::DryRun => Some(LeftOutReason::DryRun),
            _ if report.run.shard.is_some() => Some(LeftOutReason::Shard),
            Ending::Complete if report.run.only.is_empty() => None,
            Ending::Complete => Some(LeftOutReason::Restricted),
            Ending::Interrupted | Ending::Failed | Ending::Changed => {
                Some(LeftOutReason::Unfinished)
            }
        }
    }

    /// Extracts the needed part of a report. Fails if the report does not say when it was made.
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
            nouns: Nouns::common(&report.probes.nouns()),
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

    /// Whether both values are the same run, found twice. Times are in seconds, and two short runs may start in the
    /// same second: then their costs differ.
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
    /// `once`: the cases whose repeats count as one run, because the pipeline answered them from a cache.
    fn of(metric: &Metric, once: &BTreeSet<&str>) -> Self {
        Self {
            value: metric.value,
            reason: metric.reason.clone(),
            scale: MetricScale::of(metric),
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

/// The cases of each label, by probe. If the cases of a probe have labels, the probe has a figure for each label,
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

/// The label in the id of a figure; none for the figures of all cases.
pub(super) fn label(id: &str) -> Option<&str> {
    id.strip_prefix(probe_of(id))?.strip_prefix(".group.")
}

/// The runs that measured something themselves, oldest first. A run that called nothing repeats the results of another
/// run of the same code: if it were counted too, few samples would look like many.
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

/// A decision, with the first run that was made after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DecidedRun {
    /// When the first run with the decision started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// The decision.
    #[serde(flatten)]
    pub(crate) decision: Decision,
}

/// The decisions in the reports of these runs, oldest first. If a job was run again, its report repeats the decision of
/// the previous run; the decision counts once.
pub(super) fn find_decided(runs: &[&PastRun]) -> Vec<DecidedRun> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for run in runs {
        let Some(decision) = &run.decision else {
            continue;
        };
        let key = (
            &decision.at,
            &decision.by,
            decision.pull_request,
            decision.approved,
        );
        if seen.insert(key) {
            found.push(DecidedRun {
                at: calendar::written(run.at),
                commit: run.commit.clone(),
                decision: decision.clone(),
            });
        }
    }
    found
}

/// A change of a condition on which the figures depend, before a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ConditionChange {
    /// When the first run after the change started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// The conditions that changed, in words.
    pub(crate) what: Vec<&'static str>,
}

/// Names the conditions that differ.
pub(crate) fn differing(old: &MadeOf, new: &MadeOf) -> Vec<&'static str> {
    let of_sections = |of: fn(&(Option<_>, Option<_>)) -> Option<_>| {
        let mut both = old.sections.iter();
        both.any(|(name, section)| {
            let there = new.sections.get(name);
            there.is_some_and(|there| of(section) != of(there))
        })
    };
    let probes = |of: &MadeOf| of.sections.keys().cloned().collect::<Vec<_>>();
    let mut what = Vec::new();
    for (word, differs) in [
        ("the configuration", old.configuration != new.configuration),
        ("the probes", probes(old) != probes(new)),
        ("the cases", of_sections(|(items, _)| *items)),
        ("the command", of_sections(|(_, command)| *command)),
        ("the code of the pipeline", old.pipeline != new.pipeline),
        ("the seed", old.seed != new.seed),
        ("the version of kelvin", old.tool != new.tool),
    ] {
        if differs {
            what.push(word);
        }
    }
    what
}

/// The changes from one run to the next, oldest first.
pub(super) fn find_changes(runs: &[&PastRun]) -> Vec<ConditionChange> {
    let pairs = runs.windows(2);
    let changes = pairs.map(|pair| ConditionChange {
        at: calendar::written(pair[1].at),
        commit: pair[1].commit.clone(),
        what: differing(&pair[0].made_of, &pair[1].made_of),
    });
    changes.filter(|change| !change.what.is_empty()).collect()
}
