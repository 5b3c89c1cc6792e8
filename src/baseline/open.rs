//! Opens the repository around a folder, also where it belongs to another user in a container.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use git2::Repository;

use super::Unknown;
use crate::digest::pipeline;

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
        // It may have a baseline, so this is never taken for a project without one.
        Err(error) => Err(Unknown::Unreachable.mark(match pipeline::unread(root) {
            Some(why) => anyhow!(why),
            None => anyhow!(error),
        })),
    }
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
