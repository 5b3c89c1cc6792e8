//! Lists a work tree as git sees it. Files that agree with the index are not read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use git2::{
    Delta, Diff, DiffOptions, FileMode, IndexEntry, ObjectFormat, ObjectType, Oid, Tree,
    TreeWalkMode, TreeWalkResult,
};

use super::{CodeFile, Excluded, Files};
use crate::git::{AcceptedOwners, Repository};
use kelvin_base::file::{self, OUTPUT_MARK};

/// The kind of an index entry that is a repository within the repository.
const SUBMODULE: &str = "submodule";

/// The flags with which `git update-index --assume-unchanged` and `--skip-worktree` make git ignore the state of a
/// file.
const ASSUME_UNCHANGED: u16 = 1 << 15;
const SKIP_WORKTREE: u16 = 1 << 14;

/// The state of a repository.
pub(super) struct RepositoryState {
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// The files of the work tree; none if they cannot be listed.
    pub(super) files: Option<Files>,
    /// The files that git does not track.
    pub(super) untracked: BTreeSet<Vec<u8>>,
    /// Files left behind by runs, by their place or name; they are not among `files`.
    pub(super) left: BTreeSet<Vec<u8>>,
    /// The commit that is checked out; none before the first commit.
    pub(super) commit: Option<String>,
    /// Whether the work tree differs from the commit.
    pub(super) dirty: bool,
}

/// Examines the repository that contains `root`; none if there is no repository with a work tree.
pub(super) fn look(root: &Path, exclude: &Excluded) -> Option<RepositoryState> {
    let repository = discover(root)?;
    let workdir = repository.workdir()?.to_path_buf();
    let head = repository
        .head()
        .and_then(|head| head.peel_to_commit())
        .ok();
    let mut listing = RepositoryListing {
        exclude,
        files: Files::new(),
        untracked: BTreeSet::new(),
        left: BTreeSet::new(),
        dirty: false,
    };
    let listed = listing.list(&repository, &workdir, b"");
    let tree = head.as_ref().and_then(|head| head.tree().ok());
    // Without a commit, all files differ from it.
    let staged = repository
        .diff_tree_to_index(tree.as_ref(), None, None)
        .is_ok_and(|diff| diff.deltas().len() > 0);
    Some(RepositoryState {
        top: workdir,
        files: listed.is_ok().then_some(listing.files),
        untracked: listing.untracked,
        left: listing.left,
        commit: head.map(|head| head.id().to_string()),
        dirty: staged || listing.dirty,
    })
}

/// The files in the index; none if it contains other repositories.
pub(super) fn committed(root: &Path, exclude: &Excluded) -> Option<Files> {
    let repository = discover(root)?;
    let workdir = repository.workdir()?;
    let index = repository.index().ok()?;
    let mut files = Files::new();
    for entry in index.iter() {
        let kind = kind(entry.mode);
        if exclude.has(&workdir.join(OsStr::from_bytes(&entry.path))) {
            continue;
        }
        if kind == SUBMODULE {
            return None;
        }
        let content = entry.id.as_bytes().to_vec();
        files.insert(entry.path, CodeFile { kind, content });
    }
    Some(files)
}

/// The files of a work tree, and those that differ from a commit.
pub struct Against {
    /// The top of the work tree.
    pub top: PathBuf,
    /// Every file that git knows or would add, relative to the top.
    pub files: BTreeSet<PathBuf>,
    /// The files that were added, changed or removed since the commit.
    pub changed: BTreeSet<PathBuf>,
    /// The files that git does not track; what a run leaves behind may be among them.
    pub untracked: BTreeSet<PathBuf>,
}

/// Compares the work tree around `root` with the tree of a commit; none if the work tree cannot be listed.
///
/// # Errors
///
/// Fails if the tree cannot be read.
pub fn against(root: &Path, tree: &Tree<'_>) -> anyhow::Result<Option<Against>> {
    let Some(seen) = look(root, &Excluded::new(&[])) else {
        return Ok(None);
    };
    let Some(files) = seen.files else {
        return Ok(None);
    };
    let repository = discover(root);
    let index = repository.as_ref().and_then(|found| found.index().ok());
    let mut before = Files::new();
    let mut submodules = BTreeSet::new();
    let mut changed = BTreeSet::new();
    let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() == Some(ObjectType::Tree) {
            return TreeWalkResult::Ok;
        }
        let name = [folder.as_bytes(), entry.name_bytes()].concat();
        let kind = kind(entry.filemode().cast_unsigned());
        if kind == SUBMODULE {
            // The files of this entry belong to another repository.
            let here = index
                .as_ref()
                .and_then(|index| index.get_path(&path(&name), 0));
            if here.is_none_or(|here| here.id != entry.id()) {
                changed.insert(path(&name));
            }
            submodules.insert(path(&name));
        } else {
            let content = entry.id().as_bytes().to_vec();
            before.insert(name, CodeFile { kind, content });
        }
        TreeWalkResult::Ok
    })?;
    let differing = files
        .iter()
        .filter(|(name, entry)| before.get(*name) != Some(entry));
    let gone = before.keys().filter(|name| !files.contains_key(*name));
    let differing = differing
        .map(|(name, _)| name)
        .chain(gone)
        .map(|name| path(name));
    let is_foreign = |one: &PathBuf| one.ancestors().any(|above| submodules.contains(above));
    changed.extend(differing.filter(|one| !is_foreign(one)));
    Ok(Some(Against {
        top: seen.top,
        files: files.keys().map(|name| path(name)).collect(),
        changed,
        untracked: seen.untracked.iter().map(|name| path(name)).collect(),
    }))
}

/// The kind of an index entry with this mode.
const fn kind(mode: u32) -> &'static str {
    match mode {
        0o120_000 => "link",
        0o160_000 => SUBMODULE,
        mode if mode & 0o100 != 0 => "program",
        _ => "file",
    }
}

/// Opens the repository of a folder, for any owner. Git's check of the owner protects against running programs from the
/// configuration of another user. No program is run here, and a job in a container often finds its checkout owned by
/// another user.
fn discover(folder: &Path) -> Option<Repository> {
    Repository::around(folder, AcceptedOwners::Anybody).ok()
}

struct RepositoryListing<'a> {
    exclude: &'a Excluded,
    files: Files,
    untracked: BTreeSet<Vec<u8>>,
    left: BTreeSet<Vec<u8>>,
    dirty: bool,
}

impl RepositoryListing<'_> {
    /// Adds the files of a work tree under `prefix`, which is empty or ends with a slash.
    fn list(
        &mut self,
        repository: &Repository,
        workdir: &Path,
        prefix: &[u8],
    ) -> Result<(), git2::Error> {
        self.ignore_excluded(repository, workdir)?;
        let format = repository.object_format();
        for entry in repository.index()?.iter() {
            // The entry belongs to a merge with conflicts, so the work tree decides.
            if entry.flags >> 12 & 0b11 != 0 {
                continue;
            }
            let kind = kind(entry.mode);
            let path = workdir.join(OsStr::from_bytes(&entry.path));
            if self.exclude.has(&path) {
                continue;
            }
            if kind == SUBMODULE && self.nested(&path, &[prefix, &entry.path].concat()) {
                continue;
            }
            let content = entry.id.as_bytes().to_vec();
            let known = CodeFile { kind, content };
            let name = [prefix, &entry.path].concat();
            match self.unlooked(&entry, (&path, format), known) {
                Some(entry) => self.files.insert(name, entry),
                None => self.files.remove(&name),
            };
        }
        self.changed(repository, workdir, prefix)
    }

    /// The entry for a file of the index before the work tree is checked. Git does not read a file that a user has told
    /// it to ignore, so such a file is read here. A file that a sparse checkout leaves out counts as in the index.
    fn unlooked(
        &mut self,
        entry: &IndexEntry,
        (path, format): (&Path, ObjectFormat),
        known: CodeFile,
    ) -> Option<CodeFile> {
        let is_sparse = entry.flags_extended & SKIP_WORKTREE != 0;
        if entry.flags & ASSUME_UNCHANGED == 0 && !is_sparse {
            return Some(known);
        }
        let mode = match known.kind {
            "program" => FileMode::BlobExecutable,
            _ => FileMode::Blob,
        };
        let found = match self::entry(path, mode, format) {
            None if is_sparse => Some(known.clone()),
            found => found,
        };
        self.dirty |= found.as_ref() != Some(&known);
        found
    }

    /// Applies the differences between the work tree and the index.
    fn changed(
        &mut self,
        repository: &Repository,
        workdir: &Path,
        prefix: &[u8],
    ) -> Result<(), git2::Error> {
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .include_typechange(true)
            .ignore_submodules(true)
            .skip_binary_check(true);
        let diff = repository.diff_index_to_workdir(None, Some(&mut options))?;
        let outputs = outputs(&diff, workdir);
        let index = repository.index()?;
        let is_left_out = |name: &[u8]| {
            let entry = index.get_path(Path::new(OsStr::from_bytes(name)), 0);
            entry.is_some_and(|entry| entry.flags_extended & SKIP_WORKTREE != 0)
        };
        for delta in diff.deltas() {
            let file = delta.new_file();
            let Some(name) = file.path_bytes().or_else(|| delta.old_file().path_bytes()) else {
                continue;
            };
            if delta.status() == Delta::Deleted && is_left_out(name) {
                continue;
            }
            let path = workdir.join(OsStr::from_bytes(name));
            let untracked = delta.status() == Delta::Untracked;
            let is_own = untracked && (outputs.has(&path) || file::is_printed_to(&path));
            let is_left = untracked && !is_own && super::is_made_by_runs(&path);
            if is_left && !self.exclude.has(&path) {
                self.left.insert([prefix, name].concat());
            }
            let is_made = is_own || is_left;
            let is_excluded = self.exclude.has(&path) || is_made;
            self.dirty |= !(is_excluded && untracked);
            if is_excluded || file.mode() == FileMode::Commit {
                continue;
            }
            let key = [prefix, name].concat();
            if let Some(folder) = key.strip_suffix(b"/") {
                // This repository was cloned into the work tree and is not a submodule.
                self.nested(&path, folder);
                continue;
            }
            if untracked {
                self.untracked.insert(key.clone());
            }
            match entry(&path, file.mode(), repository.object_format()) {
                Some(entry) => self.files.insert(key, entry),
                None => self.files.remove(&key),
            };
        }
        Ok(())
    }

    /// Lists a repository within the work tree. Returns whether that was possible.
    fn nested(&mut self, folder: &Path, name: &[u8]) -> bool {
        let Ok(repository) = Repository::at(folder, AcceptedOwners::Checked) else {
            return false;
        };
        let prefix = [name, b"/"].concat();
        self.list(&repository, folder, &prefix).is_ok()
    }

    /// Tells git to ignore untracked files under the excluded folders, which may contain thousands of outputs. Single
    /// files are not listed, because git would test each rule on each path.
    fn ignore_excluded(&self, repository: &Repository, workdir: &Path) -> Result<(), git2::Error> {
        let rules: Vec<String> = self
            .exclude
            .0
            .iter()
            .filter(|path| path.is_dir())
            .filter_map(|path| path.strip_prefix(workdir).ok()?.to_str())
            .filter(|path| !path.is_empty() && !path.contains('\n'))
            .map(|path| format!("/{}", escaped(path)))
            .collect();
        if rules.is_empty() {
            return Ok(());
        }
        repository.add_ignore_rule(&rules.join("\n"))
    }
}

/// The output folders of other runs: untracked folders with the marker of this program.
fn outputs(diff: &Diff<'_>, workdir: &Path) -> Excluded {
    let untracked = diff
        .deltas()
        .filter(|delta| delta.status() == Delta::Untracked);
    let marked = untracked.filter_map(|delta| {
        let path = Path::new(OsStr::from_bytes(delta.new_file().path_bytes()?));
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())?;
        (path.file_name()? == OUTPUT_MARK).then(|| workdir.join(folder))
    });
    Excluded(marked.collect())
}

/// A pattern that matches only this path.
pub(super) fn escaped(path: &str) -> String {
    path.chars()
        .flat_map(|c| {
            let special = matches!(c, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ');
            special.then_some('\\').into_iter().chain(Some(c))
        })
        .collect()
}

/// The entry of the work tree at a path, with an id in the format of its repository; none if the path does not exist.
fn entry(path: &Path, mode: FileMode, format: ObjectFormat) -> Option<CodeFile> {
    let unreadable = CodeFile {
        kind: "unreadable",
        content: Vec::new(),
    };
    let data = match fs::symlink_metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => return Some(unreadable),
    };
    if data.is_dir() {
        return None;
    }
    let (kind, content) = if data.is_symlink() {
        let hash = fs::read_link(path).map_err(drop).and_then(|target| {
            Oid::hash_object_ext(ObjectType::Blob, target.as_os_str().as_bytes(), format)
                .map_err(drop)
        });
        ("link", hash)
    } else {
        let kind = match mode {
            FileMode::BlobExecutable => "program",
            _ => "file",
        };
        (
            kind,
            Oid::hash_file_ext(ObjectType::Blob, path, format).map_err(drop),
        )
    };
    let entry = content.map(|content| CodeFile {
        kind,
        content: content.as_bytes().to_vec(),
    });
    Some(entry.unwrap_or(unreadable))
}
