//! Opens the repository around a folder, also where it belongs to another user in a container.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use git2::Repository;

use super::Unknown;

/// Opens the repository around a folder.
///
/// # Errors
///
/// What to do, where there is none or it belongs to another user.
pub(crate) fn open(root: &Path) -> anyhow::Result<Repository> {
    match Repository::discover(root) {
        Ok(repo) => Ok(repo),
        Err(error) if error.code() == git2::ErrorCode::Owner => {
            let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
            owned_by_another(root, workspace.as_deref())
                .map_err(|error| Unknown::Unreachable.mark(error))
        }
        Err(error) if error.code() == git2::ErrorCode::NotFound => {
            bail!("there is no git repository here")
        }
        Err(error) => Err(Unknown::Unreachable.mark(unreadable(&error))),
    }
}

/// A repository that is there and that libgit2 cannot read. It may have a baseline, so this is never
/// taken for a project without one.
fn unreadable(error: &git2::Error) -> anyhow::Error {
    let why = error.message();
    if why.contains("refstorage") {
        return anyhow!(
            "the git repository here keeps its references in a form that cannot be read yet (reftable); \
             `git refs migrate --ref-format=files` gives them the form that can"
        );
    }
    if why.contains("object format") || why.contains("objectformat") {
        return anyhow!(
            "the git repository here names its objects by SHA-256, which cannot be read yet; a clone \
             whose objects have SHA-1 names can"
        );
    }
    anyhow!("the git repository here cannot be opened: {why}")
}

/// A repository of another user, where it is in the workspace that GitHub gave the job. A container
/// finds its checkout like that, and the pipeline in it, which the job runs anyway, could do all that
/// the check of the owner keeps a foreign repository from doing.
fn owned_by_another(root: &Path, workspace: Option<&Path>) -> anyhow::Result<Repository> {
    let top = root
        .canonicalize()
        .ok()
        .and_then(|root| {
            let top = root.ancestors().find(|top| top.join(".git").exists());
            top.map(Path::to_path_buf)
        })
        .unwrap_or_else(|| root.to_path_buf());
    let given = workspace.and_then(|workspace| workspace.canonicalize().ok());
    if !given.is_some_and(|workspace| top.starts_with(workspace)) {
        bail!(
            "the repository belongs to another user; if you trust it, run `git config --global \
             --add safe.directory '{}'`",
            top.display()
        );
    }
    // What libgit2 opens as bare, it opens whoever owns it.
    Repository::discover_path(&top, &[] as &[&std::ffi::OsStr])
        .and_then(Repository::open_bare)
        .and_then(|repo| repo.set_workdir(&top, false).map(|()| repo))
        .with_context(|| format!("failed to open the repository `{}`", top.display()))
}
