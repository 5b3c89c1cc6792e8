//! Measures another commit: its own code, its own cases, in a folder of its own.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::Context as _;

use super::{Mode, Request, check};
use crate::baseline::{self, Hint, Login, Oid, Repository};
use crate::config::Shard;
use crate::config::{Config, Overrides};
use crate::report::Report;
use crate::run::Observer;

/// Checks a commit out beside the work tree and measures it there.
///
/// # Errors
///
/// Where it cannot be checked out, or its check is impossible.
pub(super) fn commit(
    config: &Config,
    (repo, commit): (&Repository, Oid),
    fetched_with: (Option<&Login>, &Hint),
    (probe, only, shard): (Option<&'static str>, &[String], Option<Shard>),
    repeats: NonZeroUsize,
    observer: &dyn Observer,
) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let root = baseline::checkout(repo, commit, &config.root, folder.path(), fetched_with)?;
    let name = config.file.file_name().unwrap_or_default();
    let request = Request {
        masker: None,
        overrides: Overrides {
            file: Some(root.join(Path::new(name))),
            jobs: Some(config.jobs),
            repeats: Some(repeats),
            around: config.around,
            cache_dir: config.cache.as_ref().map(|cache| cache.dir.clone()),
            ..Overrides::default()
        },
        probe,
        only: only.to_vec(),
        shard,
        out: Some(folder.path().join("kelvin")),
        mode: Mode::Run,
        is_base: true,
    };
    Ok(check(&request, observer, &|_| true)?.report)
}
