//! Finds out which commits were once the tip of the default branch, and which are not part of its history.

use std::collections::BTreeSet;
use std::path::Path;

use kelvin_system::git::{self, Oid};

use super::Remote;
use super::ancestry::walked;
use super::commit::default_branch_here;

/// The positions of some commits relative to the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MainLine {
    /// The commits that were once the tip of the branch: its first parents, the oldest first.
    pub(crate) on: Vec<String>,
    /// The commits in the clone that were never the tip of the branch: those of unmerged branches, and the inner
    /// commits of merged ones.
    pub(crate) off: BTreeSet<String>,
}

/// The position of each given commit that the clone has; for the others it is not known. A shallow clone does not show
/// which commits are outside its history, and a clone without a default branch shows no positions.
pub(crate) fn main_line(root: &Path, commits: &[&str]) -> MainLine {
    let mut line = MainLine::default();
    let Ok(repo) = super::open(root) else {
        return line;
    };
    let remote = Remote::of(&repo);
    let Some(branch) = default_branch_here(&remote) else {
        return line;
    };
    // A commit that was made here and is not pushed yet belongs to the branch too.
    let tips: Vec<Oid> = [
        format!("refs/remotes/{}/{branch}", remote.name()),
        format!("refs/heads/{branch}"),
    ]
    .iter()
    .filter_map(|name| repo.refname_to_id(name).ok())
    .collect();
    let history = walked(&repo, &tips, true);
    let ids: BTreeSet<Oid> = commits.iter().filter_map(|one| git::id(one).ok()).collect();
    let on: Vec<Oid> = history
        .into_iter()
        .filter(|one| ids.contains(one))
        .collect();
    if !repo.is_shallow() && !tips.is_empty() {
        let off = ids.iter().filter(|one| !on.contains(one));
        let off = off.filter(|one| repo.find_commit(**one).is_ok());
        line.off = off.map(Oid::to_string).collect();
    }
    line.on = on.iter().map(Oid::to_string).collect();
    line
}
