//! A committed report, read from the tree of a commit without touching the work tree.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use git2::{ObjectType, Oid, Tree};

use super::remote::Remote;

/// The size of the largest report that is read; a larger one is damaged or hostile.
pub(crate) const MAX_BYTES: usize = 128 * 1024 * 1024;

/// The bytes of a file in a commit; none if the commit has no such file. Fails if the commit or the file exists but
/// cannot be read.
pub(crate) fn read(
    remote: &Remote<'_>,
    commit: Oid,
    path: &Path,
) -> anyhow::Result<Option<Vec<u8>>> {
    let mut tree = tree_of_commit(remote, commit)?;
    let mut names = path.components().peekable();
    while let Some(name) = names.next() {
        let name = name.as_os_str().as_encoded_bytes();
        let Some((id, kind)) = tree.get_name_bytes(name).map(|at| (at.id(), at.kind())) else {
            return Ok(None);
        };
        match (names.peek(), kind) {
            (None, Some(ObjectType::Blob)) => return blob(remote, id).map(Some),
            (Some(_), Some(ObjectType::Tree)) => tree = find(remote, id)?,
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The tree of a commit; it is fetched if this clone does not have it. Fails if the tree is not available.
pub(crate) fn tree_of_commit<'r>(remote: &Remote<'r>, commit: Oid) -> anyhow::Result<Tree<'r>> {
    let cannot = || format!("commit {} cannot be had", super::short(commit));
    let repo = remote.repo();
    let found = match repo.find_commit(commit) {
        Ok(found) => found,
        Err(_) => {
            // A shallow clone knows only the id of the base.
            remote
                .fetch(&[&commit.to_string()], Some(1))
                .with_context(cannot)?;
            repo.find_commit(commit).with_context(cannot)?
        }
    };
    find(remote, found.tree_id()).with_context(cannot)
}

/// A tree; it is fetched if a partial clone has left it out. Fails if the tree is not available.
pub(crate) fn find<'r>(remote: &Remote<'r>, id: Oid) -> anyhow::Result<Tree<'r>> {
    let repo = remote.repo();
    repo.find_tree(id).or_else(|_| {
        remote.want(id)?;
        repo.find_tree(id)
            .with_context(|| format!("failed to read the tree {id}"))
    })
}

/// The bytes of a blob; it is fetched if a partial clone has left it out. Fails if the blob is not available or too
/// large.
pub(crate) fn blob(remote: &Remote<'_>, id: Oid) -> anyhow::Result<Vec<u8>> {
    let repo = remote.repo();
    let blob = repo.find_blob(id).or_else(|_| {
        remote.want(id)?;
        repo.find_blob(id)
            .with_context(|| format!("failed to read the object {id}"))
    })?;
    let bytes = blob.content();
    anyhow::ensure!(
        bytes.len() <= MAX_BYTES,
        "the report has {} bytes, over the limit of {MAX_BYTES}",
        bytes.len()
    );
    Ok(bytes.to_vec())
}

/// Fetches, with one call, every file below a tree that a partial clone has left out. The error is the message of git.
pub(crate) fn complete(remote: &Remote<'_>, tree: &Tree<'_>) -> anyhow::Result<()> {
    let odb = remote
        .repo()
        .odb()
        .context("failed to open the object database")?;
    let mut missing = BTreeSet::new();
    let mut folders = vec![tree.id()];
    while let Some(id) = folders.pop() {
        for entry in &find(remote, id)? {
            match entry.kind() {
                Some(ObjectType::Tree) => folders.push(entry.id()),
                Some(ObjectType::Blob) if !odb.exists(entry.id()) => {
                    missing.insert(entry.id());
                }
                _ => {}
            }
        }
    }
    remote.want_all(&missing)
}
