//! All stored runs, as a page: from the branch of reports and from the local history.

use std::path::{Path, PathBuf};

use super::folder;
use super::past::{self, Sources};
use crate::baseline::{self, Login};
use crate::registry::Registry;
use crate::trend::{self, PastRun, ReadReports};
use kelvin_base::exit::Misuse;
use kelvin_page::Article;
use kelvin_run::config::Config;

/// The stored runs that are asked for.
#[derive(Clone, Debug)]
pub(crate) struct RunsRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The configuration whose folder contains the history.
    pub(crate) config: PathBuf,
    /// The metrics to show; if empty, those that are shown by default.
    pub(crate) metrics: Vec<String>,
    /// The configuration to show, among several of one repository; all of them unless given.
    pub(crate) name: Option<String>,
    /// The token of the action, for git.
    pub(crate) login: Option<Login>,
    /// The time now, in seconds since 1970.
    pub(crate) now: i64,
}

impl RunsRequest {
    /// Where the runs are read, for a folder and a configuration that may be unreadable.
    pub(super) fn sources<'a>(&'a self, root: &'a Path, config: Option<&'a Config>) -> Sources<'a> {
        Sources {
            registry: self.registry,
            root,
            config,
            name: self.name.as_deref(),
            login: self.login.as_ref(),
        }
    }
}

/// Makes the page. Fails with a [`Misuse`] if a metric is asked for that no run has.
pub(crate) fn runs(request: &RunsRequest) -> anyhow::Result<Article<'static>> {
    let root = folder(&request.config)?;
    let config = request.registry.configured_in(&request.config);
    let sources = request.sources(&root, config.as_ref().ok());
    // The page shows every run; drops are computed only from runs of the default branch, in the order of its history.
    let (runs, mut read) = past::read(&sources);
    let mut of_line = ReadReports::default();
    let line = past::ordered(&root, runs.clone(), request.now, &mut of_line);
    read.notices.extend(of_line.notices);
    demand_metrics(&runs, &request.metrics)?;
    let releases = baseline::releases(&root);
    read.notices.extend(releases.unread);
    Ok(trend::history(
        (&runs, &line),
        &read,
        &releases.by_commit,
        &request.metrics,
    ))
}

/// Rejects a metric that no run has ever had: a misspelt name would look like a period without a finding.
pub(super) fn demand_metrics(runs: &[PastRun], metrics: &[String]) -> Result<(), Misuse> {
    let is_known = |metric: &&String| runs.iter().any(|run| run.figures.contains_key(*metric));
    let Some(unknown) = metrics.iter().find(|metric| !is_known(metric)) else {
        return Ok(());
    };
    let known: std::collections::BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.figures.keys().map(String::as_str))
        .collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(
        Misuse::new(format!("no run has the metric `{unknown}`")).help(match known.is_empty() {
            true => "no run was found at all".to_owned(),
            false => format!("the metrics are: {}", kelvin_page::listed(&known)),
        }),
    )
}
