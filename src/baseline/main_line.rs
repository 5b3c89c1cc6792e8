//! Which commits the default branch had at its tip, and which stand beside its history.

use std::collections::BTreeSet;
use std::path::Path;

use kelvin_system::git::Oid;

use super::Remote;
use super::ancestry::walked;
use super::commit::default_branch_here;
use kelvin_system::git;

/// Where some commits stand beside the history of the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MainLine {
    /// Those that the branch itself had at its tip: its first parents, the oldest first.
    pub(crate) on: Vec<String>,
    /// Those that the clone has and that the branch never had at its tip: branches that are not merged, and the commits
    /// of those that are.
    pub(crate) off: BTreeSet<String>,
}

/// The place of each of some commits that the clone tells; of the others nothing is known. A shallow clone does not tell
/// what is beside its history, and one without a default branch tells nothing.
pub(crate) fn main_line(root: &Path, commits: &[&str]) -> MainLine {
    let mut line = MainLine::default();
    let Ok(repo) = super::open(root) else {
        return line;
    };
    let remote = Remote::of(&repo);
    let Some(branch) = default_branch_here(&repo, &remote) else {
        return line;
    };
    // What was committed here and is not pushed yet is on the branch too.
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
