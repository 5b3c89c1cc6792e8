//! The repository of a pull request in its own folder, for a person who has no checkout. The commits of the change are
//! known there, but none of its files is written.

use std::path::Path;

use anyhow::{Context as _, ensure};
use git2::build::CheckoutBuilder;
use kelvin_system::git::{self, Oid, Repository};

use super::{Hint, Login, Remote, tree};

/// A pull request, with the data from the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visited<'a> {
    /// Its number.
    pub(crate) number: u64,
    /// The commit at its tip.
    pub(crate) head: &'a str,
    /// The branch that the pull request is to be merged into.
    pub(crate) base_ref: &'a str,
}

/// Fetches a pull request and the branch that it is to be merged into, and writes the files of that branch into an
/// empty folder. HEAD names the tip of the pull request, but its files are not written. Fails if the server cannot be
/// reached, or the pull request has another tip.
pub(crate) fn visit(
    folder: &Path,
    url: &str,
    visited: Visited<'_>,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<()> {
    let repo = empty(folder, url, visited.head)?;
    let remote = Remote::of(&repo).with(login, hint);
    let Visited {
        number,
        head,
        base_ref,
    } = visited;
    let branch = format!("refs/remotes/origin/{base_ref}");
    let refspecs = [
        format!("+refs/heads/{base_ref}:{branch}"),
        format!("+refs/pull/{number}/head:refs/kelvin/head"),
    ];
    remote.fetch(&[&refspecs[0], &refspecs[1]], None)?;
    let commit = |name: &str| -> anyhow::Result<Oid> {
        let found = repo.find_reference(name)?.peel_to_commit();
        Ok(found
            .with_context(|| format!("`{name}` is no commit"))?
            .id())
    };
    let tip = commit("refs/kelvin/head")?;
    ensure!(
        tip.to_string() == head,
        "the pull request has another commit at its tip by now"
    );
    repo.set_head_detached(tip)?;
    write_files(&remote, commit(&branch)?, base_ref)
}

/// Fetches a branch into an empty folder, and checks out a commit of this branch, with its files. Fails if the server
/// cannot be reached, or the commit is not on the branch.
pub(crate) fn visit_commit(
    folder: &Path,
    url: &str,
    (name, head): (&str, &str),
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<()> {
    let repo = empty(folder, url, head)?;
    let remote = Remote::of(&repo).with(login, hint);
    let branch = format!("refs/remotes/origin/{name}");
    remote.fetch(&[&format!("+refs/heads/{name}:{branch}")], None)?;
    let tip = repo.find_reference(&branch)?.peel_to_commit()?.id();
    let commit = git::id(head)?;
    ensure!(
        tip == commit || repo.graph_descendant_of(tip, commit).unwrap_or(false),
        "the commit {head} is not on `{name}`"
    );
    repo.set_head_detached(commit)?;
    write_files(&remote, commit, name)
}

/// A repository without files; the files stay on the server until they are read.
fn empty(folder: &Path, url: &str, head: &str) -> anyhow::Result<Repository> {
    let repo =
        Repository::init(folder, git::format_of(head)).context("failed to make a repository")?;
    repo.remote("origin", url)?;
    let mut settings = repo.config()?;
    settings.set_bool("remote.origin.promisor", true)?;
    settings.set_str("remote.origin.partialclonefilter", "blob:none")?;
    Ok(repo)
}

/// Writes the files of a commit into the folder of the repository.
fn write_files(remote: &Remote<'_>, commit: Oid, name: &str) -> anyhow::Result<()> {
    let files = tree::tree_of_commit(remote, commit)?;
    tree::complete(remote, &files)?;
    let mut how = CheckoutBuilder::new();
    how.force()
        .recreate_missing(true)
        .update_index(false)
        .disable_filters(true);
    remote
        .repo()
        .checkout_tree(files.as_object(), Some(&mut how))
        .with_context(|| format!("failed to write the files of `{name}`"))
}

/// Whether a pull request can have been compared with a commit: the commit is on its base branch, and not older than
/// the commit that the change starts from. Fails if [`visit`] did not make the folder.
pub(crate) fn is_base(folder: &Path, visited: Visited<'_>, commit: &str) -> anyhow::Result<bool> {
    let repo = super::open(folder)?;
    let branch = format!("refs/remotes/origin/{}", visited.base_ref);
    let tip = repo.find_reference(&branch)?.peel_to_commit()?.id();
    let Ok(commit) = git::id(commit) else {
        return Ok(false);
    };
    let head = git::id(visited.head)?;
    let begin = repo
        .merge_base(head, tip)
        .context("the pull request has no commit of its base branch")?;
    let reaches =
        |from: Oid, to: Oid| from == to || repo.graph_descendant_of(from, to).unwrap_or(false);
    Ok(reaches(tip, commit) && reaches(commit, begin))
}
