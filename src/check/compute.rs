//! Measures another commit: its own code, its own cases, in a folder of its own.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::stage;
use super::{Mode, Request};
use crate::baseline::{self, Hint, Login, Oid, Repository};
use crate::config::{Config, Overrides, Shard};
use crate::report::Report;
use crate::run::Observer;

/// How often the items of the other commit are run.
#[derive(Clone, Copy)]
pub(super) enum Runs<'a> {
    /// As often as those of the head. The cache may answer: whoever compares with it looks how often it did.
    AsConfigured,
    /// Some items only, each so often, and all of it now: an answer of the cache is of another day.
    Again(&'a BTreeMap<String, usize>),
}

/// Checks a commit out beside the work tree and measures it there.
///
/// # Errors
///
/// Where it cannot be checked out, or its check is impossible.
pub(super) fn commit(
    config: &Config,
    (repo, commit): (&Repository, Oid),
    fetched_with: (Option<&Login>, &Hint),
    (runs, probe, shard): (Runs<'_>, Option<&'static str>, Option<Shard>),
    observer: &dyn Observer,
) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let root = baseline::checkout(repo, commit, &config.root, folder.path(), fetched_with)?;
    let name = config.file.file_name().unwrap_or_default();
    let again = match runs {
        Runs::AsConfigured => None,
        Runs::Again(wanted) => Some(wanted),
    };
    let request = Request {
        masker: None,
        overrides: Overrides {
            file: Some(root.join(Path::new(name))),
            jobs: Some(config.jobs),
            repeats: Some(config.repeats),
            around: config.around,
            no_cache: again.is_some() || config.cache.is_none(),
            cache: config.cache.is_some(),
            cache_dir: config.cache.as_ref().map(|cache| cache.dir.clone()),
            ..Overrides::default()
        },
        probe,
        only: again.map_or_else(Vec::new, |wanted| wanted.keys().cloned().collect()),
        shard,
        out: Some(folder.path().join("kelvin")),
        mode: Mode::Run,
        is_base: true,
    };
    stage::with(&request, observer, |stage| {
        stage.measure(&|_| true)?;
        if let Some(wanted) = again {
            stage.repeat(wanted)?;
        }
        Ok(stage.report())
    })
}
