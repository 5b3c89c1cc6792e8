//! Compares a change with the files of its base, and makes a checkout of the base that also has the untracked files.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use git2::{Oid, Status, StatusOptions};

use super::checkout::{CheckoutForm, checkout};
use super::remote::Remote;
use super::{Hint, Login, commit, tree};
use kelvin_system::pipeline;
use kelvin_system::pipeline::Against;

/// The commit with which a change is compared, and how the work tree around `root` differs from it; none if its files
/// cannot be listed.
///
/// # Errors
///
/// Fails if there is no base, or if the base cannot be read.
pub(crate) fn edited(
    root: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<(Oid, Option<Against>)> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo).with(login, hint);
    let base = commit::base(&remote, hint)?;
    let tree = tree::tree_of_commit(&remote, base.commit)?;
    let against = pipeline::against(root, &tree);
    Ok((base.commit, against.context("failed to read the base")?))
}

/// Writes the files of a commit into an empty folder, like [`checkout`], and adds links to everything in the work tree
/// that git does not store, so that programs that were installed there are found. Returns the path of `root` in the new
/// folder.
///
/// # Errors
///
/// Fails if the commit is not available, or if its files cannot be written.
pub(crate) fn furnished(
    root: &Path,
    commit: Oid,
    into: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<PathBuf> {
    let repo = super::open(root)?;
    let written = checkout(
        &repo,
        commit,
        root,
        (into, CheckoutForm::OfAWorkTree),
        (login, hint),
    )?;
    let top = repo.workdir().context("the repository has no work tree")?;
    let mut options = StatusOptions::new();
    options.include_untracked(true).include_ignored(true);
    let statuses = repo.statuses(Some(&mut options))?;
    for entry in statuses.iter() {
        let is_kept = !entry.status().intersects(Status::WT_NEW | Status::IGNORED);
        let Ok(name) = entry.path() else { continue };
        let name = name.trim_end_matches('/');
        let to = written.top.join(name);
        if is_kept || to.symlink_metadata().is_ok() {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        symlink(top.join(name), &to).with_context(|| format!("failed to link `{name}`"))?;
    }
    Ok(written.root)
}

/// Checks that the files of a checkout have not changed since they were written.
///
/// # Errors
///
/// Fails if a file was changed or removed.
pub(crate) fn demand_untouched(root: &Path) -> anyhow::Result<()> {
    let repo = super::open(root)?;
    let mut options = StatusOptions::new();
    options.include_untracked(false);
    let statuses = repo.statuses(Some(&mut options))?;
    let touched = Status::WT_MODIFIED | Status::WT_DELETED | Status::WT_TYPECHANGE;
    let mut touched = statuses
        .iter()
        .filter(|entry| entry.status().intersects(touched));
    let touched = touched.next();
    let name = touched.as_ref().and_then(|entry| entry.path().ok());
    ensure!(
        touched.is_none(),
        "`{}`, a file of the base, was changed while it ran",
        name.unwrap_or("?")
    );
    Ok(())
}
