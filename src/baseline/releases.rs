//! The tags of a repository, which are its releases.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sentence::in_a_sentence;
use anyhow::Context as _;
use kelvin_system::git::Repository;

use super::Unknown;

/// The tags of a repository.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    /// The names of the tags of each commit, sorted.
    pub(crate) by_commit: BTreeMap<String, Vec<String>>,
    /// Why a repository cannot be read and so has no tags here. Without this note, a plot without marks would look like
    /// a time without releases.
    pub(crate) unread: Option<String>,
}

/// The tags of the repository that a folder belongs to; none if there is no repository.
pub(crate) fn releases(root: &Path) -> Releases {
    match tags_of_repository(root) {
        Ok(by_commit) => Releases {
            by_commit,
            unread: None,
        },
        Err(error) => Releases {
            by_commit: BTreeMap::new(),
            unread: Some(format!("no release is marked: {}", in_a_sentence(&error))),
        },
    }
}

fn tags_of_repository(root: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    match super::open(root) {
        Ok(repo) => tags(&repo),
        Err(error) if !Unknown::is_in(&error) => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}

/// The names of the tags of each commit that has tags, sorted. Fails if the tags cannot be read.
pub(super) fn tags(repo: &Repository) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut releases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let references = repo
        .references_glob("refs/tags/*")
        .context("the tags cannot be read")?;
    for reference in references.flatten() {
        let name = reference.shorthand().map(str::to_owned);
        let commit = reference.peel_to_commit();
        if let (Ok(name), Ok(commit)) = (name, commit) {
            releases
                .entry(commit.id().to_string())
                .or_default()
                .push(name);
        }
    }
    for names in releases.values_mut() {
        names.sort();
    }
    Ok(releases)
}
