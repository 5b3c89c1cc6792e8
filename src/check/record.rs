//! Records a finished check in the local history, and makes its figures again from there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::{configuration, stage};
use crate::baseline;
use crate::config::{Config, Overrides};
use crate::history::{History, Scene};
use crate::judge;
use crate::probe::evidence::{self, Settings};
use crate::probe::{Ending, Metric, probe_of, retrieval};
use crate::report::Report;

/// Records the report of a check; nothing of a dry run.
///
/// # Errors
///
/// Where the history cannot be written.
pub(crate) fn record(config: &Path, report: &Report) -> anyhow::Result<()> {
    if report.run.ending == Ending::DryRun {
        return Ok(());
    }
    let config = Config::load(&Overrides {
        file: Some(config.to_path_buf()),
        ..Overrides::default()
    })?;
    let scene = Scene {
        configuration: configuration(&config),
        branch: baseline::branch(&config.root).or_else(told_branch),
    };
    History::create(&config.root)?.record(report, &scene)?;
    Ok(())
}

/// Records a run that was made elsewhere and measured here, in the history of a folder.
///
/// # Errors
///
/// Where the history cannot be written.
pub(crate) fn record_eval(folder: &Path, report: &Report) -> anyhow::Result<()> {
    let scene = Scene {
        configuration: "eval".to_owned(),
        branch: baseline::branch(folder).or_else(told_branch),
    };
    History::create(folder)?.record(report, &scene)?;
    Ok(())
}

/// The branch as a workflow tells it: what it checks out has none.
fn told_branch() -> Option<String> {
    ["GITHUB_HEAD_REF", "GITHUB_REF_NAME"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|branch| !branch.is_empty())
}

/// What a run's figures are when they are made again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Recomputed {
    /// The run.
    pub(crate) run: String,
    /// The kelvin that measured it.
    pub(crate) measured_by: String,
    /// The kelvin that made the figures again.
    pub(crate) recomputed_by: String,
    /// Whether the distances between the decisions were made again too; else those that were stored
    /// are used, because the configuration has another scorer by now, or cannot be read.
    pub(crate) distances: bool,
    /// How many figures were made again.
    pub(crate) figures: usize,
    /// The figures that are not the same, by id.
    pub(crate) changed: BTreeMap<String, Changed>,
    /// The figures of probes that cannot be made again from what is stored; they stay.
    pub(crate) kept: Vec<String>,
    /// The report with today's figures.
    #[serde(skip)]
    pub(crate) report: Report,
}

/// A figure before and after; none where there was none, or is none any more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Changed {
    /// As it was recorded.
    pub(crate) stored: Option<Metric>,
    /// As it is made today.
    pub(crate) now: Option<Metric>,
}

/// Makes the figures of a recorded run again, with today's formulas.
pub(crate) fn recompute(id: &str, config: &Path, stored: Report) -> Recomputed {
    let config = Config::load(&Overrides {
        file: Some(config.to_path_buf()),
        ..Overrides::default()
    });
    let scorer = config.ok().map(|config| judge::of(&config.scorer));
    let scorer = scorer.filter(|scorer| scorer.id() == stored.run.scorer);
    let run = stored.run.clone();
    let mut evidence = evidence::recompute(
        stored.cases.clone(),
        &Settings {
            governing_types: &run.governing_types,
            basis: &run.basis,
            ending: run.ending,
            scorer: scorer.as_deref(),
        },
    );
    if !stored.metrics.keys().any(|id| probe_of(id) == "evidence") {
        evidence.metrics.clear();
    }
    if let Some(record) = &stored.retrieval {
        evidence.metrics.extend(retrieval::figures(record));
    }
    let figures = evidence.metrics.len();
    // What no probe below makes again stays as it is.
    let made = |id: &str| {
        let probe = probe_of(id);
        probe == "evidence" || (stored.retrieval.is_some() && probe == "retrieval")
    };
    let others = stored.metrics.iter();
    let others: Vec<_> = others.filter(|(id, _)| !made(id)).collect();
    let kept = others.iter().map(|(id, _)| (*id).clone()).collect();
    for (id, metric) in others {
        evidence.metrics.insert(id.clone(), metric.clone());
    }
    let notices = stored.notices.iter().cloned();
    let of_retrieval = stored.retrieval.as_ref().map(retrieval::notices);
    let again: BTreeSet<_> = evidence
        .notices
        .iter()
        .cloned()
        .chain(of_retrieval.unwrap_or_default())
        .collect();
    let notices = notices
        .filter(|notice| !again.contains(notice) && !stage::is_assembled(notice))
        .collect();
    let report = stage::assemble(run, Some(evidence), stored.retrieval.clone(), notices);
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
        distances: scorer.is_some(),
        figures,
        changed,
        kept,
        report,
    }
}
