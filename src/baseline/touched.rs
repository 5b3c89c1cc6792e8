//! The files that a change touches, with both sides of each: added, changed or removed, and the kind of the entry.
//! Renames are not detected, so a moved file counts as removed at one path and added at another.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use git2::{Oid, SubmoduleIgnore, SubmoduleStatus, Tree};
use kelvin_base::file;
use kelvin_system::git::Repository;
use kelvin_system::pipeline;

use super::remote::Remote;
use super::{Hint, Login, ancestry, commit, tree};

/// Mask for the bits of a mode that give the kind of a tree entry.
const KIND: i32 = 0o170_000;
const FOLDER: i32 = 0o040_000;
const LINK: i32 = 0o120_000;
const REPOSITORY: i32 = 0o160_000;

/// The kind of a touched path. If its two sides have different kinds, the more dangerous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TouchedKind {
    /// A plain file.
    File,
    /// A symbolic link, which may lead to any place.
    Link,
    /// A repository within the repository.
    Repository,
}

/// The state that is compared with the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TouchedBy {
    /// The work tree, including uncommitted and untracked files.
    WorkTree,
    /// The commit that is checked out: a job may install any files beside it, and they do not count.
    Commit,
    /// The commit that is checked out, compared with the commit where it left the branch of the base: later commits on
    /// that branch are not part of the change.
    CommitSinceItLeft,
}

/// The files that a change touches.
#[derive(Debug)]
pub(crate) struct Touched {
    /// The commit that the change is compared with.
    pub(crate) base: Oid,
    /// The commit that is checked out.
    pub(crate) head: Oid,
    /// The top folder of the work tree, with links resolved.
    pub(crate) top: PathBuf,
    /// The folder of the configuration, relative to the top of the repository.
    pub(crate) below: PathBuf,
    /// The touched paths, relative to the top.
    pub(crate) paths: BTreeMap<PathBuf, TouchedKind>,
    /// The touched paths that are not committed; empty if only commits are compared.
    pub(crate) uncommitted: BTreeSet<PathBuf>,
}

/// Lists the files that a change touches. Fails if there is no base, or a tree cannot be read.
pub(crate) fn touched(
    root: &Path,
    (login, hint): (Option<&Login>, &Hint),
    by: TouchedBy,
) -> anyhow::Result<Touched> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo).with(login, hint);
    let base = commit::base(&remote, hint)?.commit;
    let head = ancestry::head(&repo)?;
    let top = repo.workdir().context("the repository has no work tree")?;
    let top = top.canonicalize()?;
    let below = root.canonicalize()?;
    let below = below
        .strip_prefix(&top)
        .context("the configuration is outside the repository")?;
    let mut uncommitted = BTreeSet::new();
    let paths = match by {
        TouchedBy::WorkTree => {
            let committed = tree::tree_of_commit(&remote, head)?;
            uncommitted.extend(in_work_tree(root, &repo, &committed)?.into_keys());
            in_work_tree(root, &repo, &tree::tree_of_commit(&remote, base)?)?
        }
        TouchedBy::Commit => between(&remote, base, head)?,
        TouchedBy::CommitSinceItLeft => {
            let left = repo
                .merge_base(base, head)
                .context("the change and its base have no common history")?;
            between(&remote, left, head)?
        }
    };
    Ok(Touched {
        base,
        head,
        below: below.to_path_buf(),
        top,
        paths,
        uncommitted,
    })
}

fn between(
    remote: &Remote<'_>,
    before: Oid,
    after: Oid,
) -> anyhow::Result<BTreeMap<PathBuf, TouchedKind>> {
    let mut paths = BTreeMap::new();
    let before = tree::tree_of_commit(remote, before)?.id();
    let after = tree::tree_of_commit(remote, after)?.id();
    differing(
        remote,
        (Some(before), Some(after)),
        Path::new(""),
        &mut paths,
    )?;
    Ok(paths)
}

/// Adds the differences between two trees; none stands for an empty tree.
fn differing(
    remote: &Remote<'_>,
    (before, after): (Option<Oid>, Option<Oid>),
    folder: &Path,
    into: &mut BTreeMap<PathBuf, TouchedKind>,
) -> anyhow::Result<()> {
    if before == after {
        return Ok(());
    }
    let (before, after) = (entries(remote, before)?, entries(remote, after)?);
    let names: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        let path = folder.join(OsStr::from_bytes(name));
        let sides = || [old, new].into_iter().flatten();
        let kinds = sides().filter(|(_, mode)| mode & KIND != FOLDER);
        if let Some(kind) = kinds.map(|(_, mode)| kind(*mode)).max() {
            into.insert(path.clone(), kind);
        }
        let folder_of = |side: Option<&(Oid, i32)>| {
            let side = side.filter(|(_, mode)| mode & KIND == FOLDER);
            side.map(|(id, _)| *id)
        };
        differing(remote, (folder_of(old), folder_of(new)), &path, into)?;
    }
    Ok(())
}

/// The entries of a tree, each with its id and its mode.
fn entries(
    remote: &Remote<'_>,
    tree: Option<Oid>,
) -> anyhow::Result<BTreeMap<Vec<u8>, (Oid, i32)>> {
    let Some(tree) = tree else {
        return Ok(BTreeMap::new());
    };
    let tree = tree::find(remote, tree)?;
    let entries = tree.iter();
    Ok(entries
        .map(|entry| (entry.name_bytes().to_vec(), (entry.id(), entry.filemode())))
        .collect())
}

const fn kind(mode: i32) -> TouchedKind {
    match mode & KIND {
        LINK => TouchedKind::Link,
        REPOSITORY => TouchedKind::Repository,
        _ => TouchedKind::File,
    }
}

fn in_work_tree(
    root: &Path,
    repo: &Repository,
    base: &Tree<'_>,
) -> anyhow::Result<BTreeMap<PathBuf, TouchedKind>> {
    let against = pipeline::against(root, base).context("failed to read the base")?;
    let against = against.context("the files of the repository cannot be listed")?;
    let of_base = |path: &Path| base.get_path(path).map(|entry| kind(entry.filemode()));
    let here = |path: &Path| match against.top.join(path).symlink_metadata() {
        Ok(data) if data.is_symlink() => TouchedKind::Link,
        Ok(data) if data.is_dir() => TouchedKind::Repository,
        _ => TouchedKind::File,
    };
    let mut paths: BTreeMap<PathBuf, TouchedKind> = against
        .changed
        .iter()
        .map(|path| {
            let before = of_base(path).unwrap_or(TouchedKind::File);
            (path.clone(), before.max(here(path)))
        })
        .collect();
    // An edit within a submodule changes no file of this repository.
    for submodule in repo.submodules()? {
        let name = submodule.path().to_path_buf();
        let status = name
            .to_str()
            .context("the name of a submodule is no text")
            .and_then(|name| Ok(repo.submodule_status(name, SubmoduleIgnore::None)?))?;
        let plain = SubmoduleStatus::IN_HEAD
            | SubmoduleStatus::IN_INDEX
            | SubmoduleStatus::IN_CONFIG
            | SubmoduleStatus::IN_WD
            | SubmoduleStatus::WD_UNINITIALIZED;
        if !plain.contains(status) {
            paths.insert(name, TouchedKind::Repository);
        }
    }
    Ok(paths)
}

/// The files of the commit that is checked out.
#[derive(Debug, Default)]
pub(crate) struct HeadFiles {
    /// The files and links, relative to the top.
    pub(crate) files: BTreeSet<PathBuf>,
    /// The links, each with its target relative to the top; none for a link that leads out of the repository.
    pub(crate) links: Vec<(PathBuf, Option<PathBuf>)>,
}

/// Lists the files of the commit that is checked out. Fails if a tree or a link cannot be read.
pub(crate) fn head_files(
    root: &Path,
    (login, hint): (Option<&Login>, &Hint),
) -> anyhow::Result<HeadFiles> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo).with(login, hint);
    let head = tree::tree_of_commit(&remote, ancestry::head(&repo)?)?.id();
    let mut found = HeadFiles::default();
    let mut folders = vec![(PathBuf::new(), head)];
    while let Some((folder, id)) = folders.pop() {
        for (name, (id, mode)) in entries(&remote, Some(id))? {
            let path = folder.join(OsStr::from_bytes(&name));
            match mode & KIND {
                FOLDER => {
                    folders.push((path, id));
                    continue;
                }
                LINK => {
                    let target = tree::blob(&remote, id)?;
                    let target = folder.join(OsStr::from_bytes(&target));
                    found.links.push((path.clone(), file::plain(&target)));
                }
                _ => {}
            }
            found.files.insert(path);
        }
    }
    Ok(found)
}
