//! Records a finished check in the local history, and can compute its figures again from there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::{configuration, ledger, stage};
use crate::baseline;
use crate::history::{History, RunScene};
use crate::registry::Registry;
use kelvin_base::notice::Notice;
use kelvin_gate::report::Report;
use kelvin_record::{Ending, Findings, Metric, probe_of};

/// Records the report of a check; a dry run is not recorded. Fails if the history cannot be written.
pub(crate) fn record(registry: Registry, config: &Path, report: &Report) -> anyhow::Result<()> {
    if report.run.ending == Ending::DryRun {
        return Ok(());
    }
    let config = registry.configured_in(config)?;
    let scene = RunScene {
        configuration: configuration(&config),
        branch: baseline::branch(&config.root).or_else(told_branch),
    };
    let mut history = History::create(&config.root)?;
    history.record(report, &scene)?;
    let entries = ledger::entries(report);
    if !entries.is_empty() {
        history.append(&entries)?;
    }
    Ok(())
}

/// Records a run that was made elsewhere and measured here, in the history of a folder. Fails if the history cannot be
/// written.
pub(crate) fn record_eval(folder: &Path, report: &Report) -> anyhow::Result<()> {
    let scene = RunScene {
        configuration: "eval".to_owned(),
        branch: baseline::branch(folder).or_else(told_branch),
    };
    History::create(folder)?.record(report, &scene)?;
    Ok(())
}

/// The branch according to the workflow, because the checkout of a workflow is on no branch.
fn told_branch() -> Option<String> {
    ["GITHUB_HEAD_REF", "GITHUB_REF_NAME"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|branch| !branch.is_empty())
}

/// The figures of a run, computed again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Recomputed {
    /// The id of the run.
    pub(crate) run: String,
    /// The version of kelvin that measured the run.
    pub(crate) measured_by: String,
    /// The version of kelvin that computed the figures again.
    pub(crate) recomputed_by: String,
    /// Whether the distances between the decisions were computed again too. Otherwise the stored distances are used,
    /// because this version does not know how they were computed.
    pub(crate) distances: bool,
    /// How many figures were computed again.
    pub(crate) figures: usize,
    /// The figures that differ, by id.
    pub(crate) changed: BTreeMap<String, Changed>,
    /// The figures of probes that cannot be computed from the stored data; they stay unchanged.
    pub(crate) kept: Vec<String>,
    /// The report with today's figures.
    #[serde(skip)]
    pub(crate) report: Report,
}

/// A figure before and after; none if the figure does not exist on that side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Changed {
    /// The figure as it was recorded.
    pub(crate) stored: Option<Metric>,
    /// The figure, computed with the current formulas.
    pub(crate) now: Option<Metric>,
}

/// The notices of a report that follow from its figures.
pub(super) fn notices_of_figures(report: &Report) -> BTreeSet<Notice> {
    let known = report.probes.known().into_iter();
    known
        .flat_map(|(kind, section)| kind.recompute(section.boxed()).notices)
        .collect()
}

/// Computes the figures of a recorded run again, with today's formulas.
pub(crate) fn recompute(id: &str, stored: Report) -> Recomputed {
    let known = stored.probes.known().into_iter();
    let findings: Vec<(&str, Findings)> = known
        .map(|(kind, section)| (kind.name(), kind.recompute(section.boxed())))
        .collect();
    let is_made = |id: &str| findings.iter().any(|(name, _)| *name == probe_of(id));
    // If this program does not know a probe, the figures of the probe are not changed.
    let others = stored.metrics.iter().filter(|(id, _)| !is_made(id));
    let others: BTreeMap<String, Metric> = others
        .map(|(id, metric)| (id.clone(), metric.clone()))
        .collect();
    let kept = others.keys().cloned().collect();
    let found = || findings.iter().map(|(_, found)| found);
    let figures = found().map(|found| found.metrics.len()).sum();
    let compared = found().all(|found| found.compared);
    let again: BTreeSet<&Notice> = found().flat_map(|found| &found.notices).collect();
    let notices = stored
        .notices
        .iter()
        .filter(|notice| !again.contains(notice));
    let notices = notices.filter(|notice| !stage::is_assembled(notice));
    let notices = notices.cloned().collect();
    let kinds = stored.probes.kinds().clone();
    let mut report = stage::assemble(kinds, stored.run.clone(), findings, notices);
    report.metrics.extend(others);
    let ids: BTreeSet<&String> = stored.metrics.keys().chain(report.metrics.keys()).collect();
    let changed = ids
        .into_iter()
        .filter_map(|id| {
            let (before, now) = (stored.metrics.get(id), report.metrics.get(id));
            let changed = Changed {
                stored: before.cloned(),
                now: now.cloned(),
            };
            (before != now).then(|| (id.clone(), changed))
        })
        .collect();
    Recomputed {
        run: id.to_owned(),
        measured_by: stored.tool.version.clone(),
        recomputed_by: report.tool.version.clone(),
        distances: compared,
        figures,
        changed,
        kept,
        report,
    }
}
