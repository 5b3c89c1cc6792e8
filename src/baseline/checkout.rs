//! A commit's files in a folder beside the work tree.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use git2::build::CheckoutBuilder;
use git2::{Oid, Repository};

use super::{Hint, Login, Remote, tree};

/// Writes the files of a commit into an empty folder. Returns what `root`, a folder in the work
/// tree, is called there. Neither the index nor the work tree is touched.
///
/// # Errors
///
/// Where the commit is not at hand or its files cannot be written.
pub(crate) fn checkout(
    repo: &Repository,
    commit: Oid,
    root: &Path,
    into: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<PathBuf> {
    let top = repo.workdir().context("the repository has no work tree")?;
    let below = root
        .canonicalize()
        .ok()
        .zip(top.canonicalize().ok())
        .and_then(|(root, top)| root.strip_prefix(&top).ok().map(Path::to_path_buf))
        .context("the configuration is outside the repository")?;
    let remote = Remote::of(repo).with(login, hint);
    let tree = tree::of(repo, &remote, commit)?;
    tree::complete(repo, &remote, &tree)
        .with_context(|| format!("failed to fetch the files of {}", super::short(commit)))?;
    let files = into.join("files");
    std::fs::create_dir(&files).context("failed to make a temporary folder")?;
    let mut how = CheckoutBuilder::new();
    how.target_dir(&files)
        .force()
        .recreate_missing(true)
        .update_index(false)
        .disable_filters(false);
    repo.checkout_tree(tree.as_object(), Some(&mut how))
        .with_context(|| format!("failed to check out {}", super::short(commit)))?;
    Ok(files.join(below))
}
