//! Opens the repository around a folder, also where it belongs to another user in a container.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use super::Unknown;
use kelvin_system::git::{Closed, Owner, Repository};

/// Opens the repository around a folder.
///
/// # Errors
///
/// What to do, where there is none or it belongs to another user.
pub(crate) fn open(root: &Path) -> anyhow::Result<Repository> {
    let mut opened = Repository::around(root, Owner::Checked);
    if let Err(Closed::Foreign(top)) = &opened
        && is_given(top)
    {
        opened = Repository::around(root, Owner::Anybody);
    }
    match opened {
        Ok(repo) => Ok(repo),
        Err(Closed::Absent) => bail!(Closed::Absent),
        // It may have a baseline, so this is never taken for a project without one.
        Err(closed) => Err(Unknown::Unreachable.mark(anyhow!(closed))),
    }
}

/// Whether a repository is in the workspace that GitHub gave the job. A container finds its checkout owned by another
/// user, and the pipeline in it, which the job runs anyway, could do all that the check of the owner keeps a foreign
/// repository from doing.
fn is_given(top: &Path) -> bool {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let given = workspace.and_then(|workspace| workspace.canonicalize().ok());
    given.is_some_and(|workspace| top.starts_with(workspace))
}
