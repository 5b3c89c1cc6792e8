//! Opens the repository around a folder, also where the folder belongs to another user in a container.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use super::Unknown;
use kelvin_system::git::{AcceptedOwners, Closed, Repository};

/// Opens the repository around a folder.
///
/// # Errors
///
/// What to do, where there is no repository or it belongs to another user.
pub(crate) fn open(root: &Path) -> anyhow::Result<Repository> {
    let mut opened = Repository::around(root, AcceptedOwners::Checked);
    if let Err(Closed::Foreign(top)) = &opened
        && is_given(top)
    {
        opened = Repository::around(root, AcceptedOwners::Anybody);
    }
    match opened {
        Ok(repo) => Ok(repo),
        Err(Closed::Absent) => bail!(Closed::Absent),
        // This repository may have a baseline, so it is never taken for a project without one.
        Err(closed) => Err(Unknown::Unreachable.mark(anyhow!(closed))),
    }
}

/// Whether a repository is in the workspace that GitHub gave the job. A container finds its checkout owned by another
/// user. Trusting that checkout adds no risk: the job runs the pipeline in it anyway, and the pipeline could do
/// everything that the check of the owner prevents.
fn is_given(top: &Path) -> bool {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let given = workspace.and_then(|workspace| workspace.canonicalize().ok());
    given.is_some_and(|workspace| top.starts_with(workspace))
}
