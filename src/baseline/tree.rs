//! A committed report, read from the tree of a commit without touching the work tree.

use std::path::Path;

use anyhow::Context as _;
use git2::{Oid, Repository};

use super::remote::Remote;

/// The largest report that is read; a larger one is damaged or hostile.
pub(crate) const MAX_BYTES: usize = 128 * 1024 * 1024;

/// The bytes of a file in a commit; none where the commit has no such file.
///
/// # Errors
///
/// Where the commit or the file is there and cannot be read.
pub(crate) fn read(
    repo: &Repository,
    remote: &Remote<'_>,
    commit: Oid,
    path: &Path,
) -> anyhow::Result<Option<Vec<u8>>> {
    let tree = repo
        .find_commit(commit)
        .and_then(|commit| commit.tree())
        .or_else(|_| {
            // A shallow clone knows the base by name only.
            remote
                .fetch(&[&commit.to_string()], Some(1))
                .map_err(|error| git2::Error::from_str(&format!("{error:#}")))?;
            repo.find_commit(commit)?.tree()
        })
        .with_context(|| format!("commit {} cannot be had", super::short(commit)))?;
    let Ok(entry) = tree.get_path(path) else {
        return Ok(None);
    };
    blob(repo, remote, entry.id()).map(Some)
}

/// The bytes of a blob, also where a partial clone has left it out.
///
/// # Errors
///
/// Where it cannot be had, or is too large.
pub(crate) fn blob(repo: &Repository, remote: &Remote<'_>, id: Oid) -> anyhow::Result<Vec<u8>> {
    let bytes = match repo.find_blob(id) {
        Ok(blob) => blob.content().to_vec(),
        Err(_) => remote.read_blob(id)?,
    };
    anyhow::ensure!(
        bytes.len() <= MAX_BYTES,
        "the report has {} bytes, over the limit of {MAX_BYTES}",
        bytes.len()
    );
    Ok(bytes)
}
