//! The history of a repository: its HEAD, the parents of a commit, and which commit came after which.

use std::path::Path;

use super::Unknown;
use anyhow::{Context as _, anyhow};
use kelvin_system::git::{self, Oid, Repository};

/// The parents according to the commit object itself. In a shallow clone libgit2 hides the parents of a boundary
/// commit; the object contains them.
pub(super) fn parents(repo: &Repository, commit: Oid) -> anyhow::Result<Vec<Oid>> {
    let odb = repo.odb().context("failed to open the object database")?;
    let object = odb
        .read(commit)
        .with_context(|| format!("commit {} is not in this clone", short(commit)))?;
    let text = String::from_utf8_lossy(object.data());
    Ok(text
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| git::id(line.strip_prefix("parent ")?).ok())
        .collect())
}

/// The first seven digits of a commit.
pub(crate) fn short(commit: Oid) -> String {
    let mut text = commit.to_string();
    text.truncate(7);
    text
}

/// The commit that is checked out; none before the first. Fails if HEAD exists and cannot be read.
pub(crate) fn checked_out(repo: &Repository) -> anyhow::Result<Option<Oid>> {
    match repo.head().and_then(|head| head.peel_to_commit()) {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => Ok(None),
        Err(error) => {
            let why = error.message();
            let what = anyhow!("the commit that is checked out cannot be read: {why}");
            Err(Unknown::Unreachable.mark(what))
        }
    }
}

pub(super) fn head(repo: &Repository) -> anyhow::Result<Oid> {
    checked_out(repo)?.context("failed to read HEAD: the repository has no commit yet")
}

/// Commits that the clone has, each after its ancestors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// The commits that are not ancestors of the checked-out commit: later ones, and those of other branches.
    pub(crate) outside: Vec<String>,
    /// The ancestors of the checked-out commit; the last one is its nearest ancestor, or the commit itself.
    pub(crate) inside: Vec<String>,
}

/// Sorts the given commits that the clone has by ancestry, without regard to the clocks of their runs. Empty without a
/// repository.
pub(crate) fn lineage(root: &Path, commits: &[&str]) -> Lineage {
    let Ok(repo) = super::open(root) else {
        return Lineage::default();
    };
    let known = |commit: &&str| {
        let commit = git::id(commit).ok()?;
        repo.find_commit(commit).ok().map(|commit| commit.id())
    };
    let known: Vec<Oid> = commits.iter().filter_map(known).collect();
    let ordered: Vec<Oid> = walked(&repo, &known, false)
        .into_iter()
        .filter(|one| known.contains(one))
        .collect();
    let tip = checked_out(&repo).ok().flatten();
    let leads_there = |commit: &Oid| {
        let reaches = |tip: Oid| repo.graph_descendant_of(tip, *commit).unwrap_or(false);
        tip.is_some_and(|tip| tip == *commit || reaches(tip))
    };
    let (inside, outside): (Vec<Oid>, Vec<Oid>) = ordered.into_iter().partition(leads_there);
    let words = |commits: Vec<Oid>| commits.iter().map(Oid::to_string).collect();
    Lineage {
        outside: words(outside),
        inside: words(inside),
    }
}

/// Every commit in the history of the given ones, each after its ancestors; empty if the history cannot be read.
pub(super) fn walked(repo: &Repository, from: &[Oid], only_first_parents: bool) -> Vec<Oid> {
    let found = || -> Result<Vec<Oid>, git2::Error> {
        let mut walk = repo.revwalk()?;
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE)?;
        if only_first_parents {
            walk.simplify_first_parent()?;
        }
        for commit in from {
            walk.push(*commit)?;
        }
        walk.collect()
    };
    found().unwrap_or_default()
}
