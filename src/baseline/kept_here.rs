//! Which files of a work tree git keeps as they are.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use git2::{ObjectType, Oid};
use kelvin_system::git::Repository;

/// The first of some files that git does not keep as it is in the work tree: the file is outside of the repository,
/// ignored, new or changed.
///
/// # Errors
///
/// Where the repository cannot be read.
pub(crate) fn first_not_kept<'f>(
    repo: &Repository,
    files: &'f [PathBuf],
) -> anyhow::Result<Option<&'f Path>> {
    let top = repo.workdir().context("the repository has no work tree")?;
    let top = top.canonicalize().context("failed to find the work tree")?;
    let index = repo.index().context("failed to read the index")?;
    let is_kept = |file: &Path| {
        let real = file.canonicalize().ok();
        let path = real
            .as_deref()
            .and_then(|real| real.strip_prefix(&top).ok());
        let stored = path.and_then(|path| Some(index.get_path(path, 0)?.id));
        let here = Oid::hash_file_ext(ObjectType::Blob, file, repo.object_format()).ok();
        stored.is_some() && stored == here
    };
    let mut files = files.iter().map(PathBuf::as_path);
    Ok(files.find(|file| !is_kept(file)))
}
