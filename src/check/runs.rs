//! All stored runs, as a page: from the branch of reports and from the local history.

use std::path::PathBuf;

use super::past::{self, Sources};
use super::{folder, summary};
use crate::baseline;
use crate::baseline::Login;
use crate::registry::Registry;
use crate::trend;
use crate::trend::ReadReports;
use kelvin_page::Article;

/// The inputs of the page of all runs.
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

/// Makes the page.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if a metric is asked for that no run has.
pub(crate) fn runs(request: &RunsRequest) -> anyhow::Result<Article<'static>> {
    let root = folder(&request.config)?;
    let config = request.registry.configured_in(&request.config);
    let sources = Sources {
        registry: request.registry,
        root: &root,
        config: config.as_ref().ok(),
        name: request.name.as_deref(),
        login: request.login.as_ref(),
    };
    // The page shows every run; drops are computed only from runs of the default branch, in the order of its history.
    let (runs, mut read) = past::read(&sources);
    let mut of_line = ReadReports::default();
    let line = past::ordered(&root, runs.clone(), request.now, &mut of_line);
    read.notices.extend(of_line.notices);
    summary::demand_metrics(&runs, &request.metrics)?;
    let releases = baseline::releases(&root);
    read.notices.extend(releases.unread);
    Ok(trend::history(
        (&runs, &line),
        &read,
        &releases.by_commit,
        &request.metrics,
    ))
}
