//! The git repository around a folder, and the committed versions of a file. It is read with libgit2, which cannot read
//! reftables.

mod process;

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
pub use git2::Oid;
use git2::{ErrorCode, ObjectFormat, RepositoryInitOptions, RepositoryOpenFlags};

pub use process::start;

/// Why a repository with a reftable is not opened, and advice.
const REFTABLE: &str = "the git repository here keeps its references as a reftable, which is not read; \
                        `git refs migrate --ref-format=files` makes files of them";

/// A repository that is open.
pub struct Repository {
    opened: git2::Repository,
    /// The work tree, if it belongs to another user and was opened anyway.
    trusted: Option<PathBuf>,
}

/// Says which owners of repositories are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedOwners {
    /// Only owners that git itself would accept.
    Checked,
    /// Any owner: for code that only reads, and does not run programs that the repository names.
    Anybody,
}

/// Why no repository was opened.
#[derive(Debug)]
pub enum Closed {
    /// There is no repository.
    Absent,
    /// The repository belongs to another user; the top of its work tree.
    Foreign(PathBuf),
    /// The repository exists but cannot be read, for this reason.
    Unread(String),
}

impl Deref for Repository {
    type Target = git2::Repository;

    fn deref(&self) -> &git2::Repository {
        &self.opened
    }
}

impl Repository {
    /// Opens the repository that contains a folder.
    pub fn around(folder: &Path, owner: AcceptedOwners) -> Result<Self, Closed> {
        Self::open(folder, RepositoryOpenFlags::empty(), owner)
    }

    /// Opens the repository whose work tree is a folder.
    pub fn at(folder: &Path, owner: AcceptedOwners) -> Result<Self, Closed> {
        Self::open(folder, RepositoryOpenFlags::NO_SEARCH, owner)
    }

    /// Creates an empty repository with this format of object names.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn init(folder: &Path, format: ObjectFormat) -> Result<Self, git2::Error> {
        let mut how = RepositoryInitOptions::new();
        let opened = git2::Repository::init_opts(folder, how.object_format(format))?;
        Ok(Self {
            opened,
            trusted: None,
        })
    }

    fn open(
        folder: &Path,
        flags: RepositoryOpenFlags,
        owner: AcceptedOwners,
    ) -> Result<Self, Closed> {
        let (opened, trusted) = match git2::Repository::open_ext(folder, flags, &[] as &[&OsStr]) {
            Ok(opened) => (opened, None),
            Err(error) if error.code() == ErrorCode::NotFound => {
                let own = top(folder).join(".git");
                return Err(match own.symlink_metadata() {
                    // This happens, for example, for a linked work tree whose repository was moved.
                    Ok(_) => Closed::Unread(format!(
                        "`{}` is there and leads to no git repository that can be opened",
                        own.display()
                    )),
                    Err(_) => Closed::Absent,
                });
            }
            Err(error) if error.code() == ErrorCode::Owner => {
                let top = top(folder);
                if owner == AcceptedOwners::Checked {
                    return Err(Closed::Foreign(top));
                }
                // A repository that libgit2 opens as bare may belong to anybody.
                let opened = git2::Repository::discover_path(&top, &[] as &[&OsStr])
                    .and_then(git2::Repository::open_bare)
                    .and_then(|opened| opened.set_workdir(&top, false).map(|()| opened))
                    .map_err(|error| Closed::unopened(&error))?;
                (opened, Some(top))
            }
            Err(error) if error.message().contains("refstorage") => {
                return Err(Closed::Unread(REFTABLE.to_owned()));
            }
            Err(error) => return Err(Closed::unopened(&error)),
        };
        Ok(Self { opened, trusted })
    }

    /// The git setting that makes the system's `git` accept a repository of another user that was opened on purpose.
    pub fn trust(&self) -> Option<String> {
        let top = self.trusted.as_deref()?;
        Some(format!("safe.directory={}", top.display()))
    }

    /// Makes a reference point to a commit. With `from`, the reference must point to that commit before (none: it must
    /// not exist). Returns whether it did.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn point(
        &self,
        reference: &str,
        to: Oid,
        from: Option<Option<Oid>>,
        why: &str,
    ) -> anyhow::Result<bool> {
        let failed = || format!("failed to update `{reference}`");
        let from = from.map(|from| from.unwrap_or_else(|| zero(self.object_format())));
        let updated = match from {
            Some(from) => self.reference_matching(reference, to, true, from, why),
            None => self.reference(reference, to, true, why),
        };
        match updated {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Locked) => {
                Ok(false)
            }
            Err(error) => Err(error).with_context(failed),
        }
    }
}

impl Closed {
    fn unopened(error: &git2::Error) -> Self {
        Self::Unread(format!(
            "the git repository here cannot be opened: {}",
            error.message()
        ))
    }
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("there is no git repository here"),
            Self::Foreign(top) => write!(
                f,
                "the repository belongs to another user; if you trust it, run `git config --global \
                 --add safe.directory '{}'`",
                top.display()
            ),
            Self::Unread(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Closed {}

/// Why the existing repository cannot be read; none if there is no repository, or if it can be read.
pub fn unread(root: &Path) -> Option<String> {
    match Repository::around(root, AcceptedOwners::Anybody) {
        Err(Closed::Unread(why)) => Some(why),
        _ => None,
    }
}

/// The id of an object from its full name; the length of the name shows its format.
///
/// # Errors
///
/// Fails if the text is not such a name.
pub fn id(name: &str) -> Result<Oid, git2::Error> {
    Oid::from_str_ext(name, format_of(name))
}

/// The format of object names to which this name belongs.
pub const fn format_of(name: &str) -> ObjectFormat {
    match name.len() {
        64 => ObjectFormat::Sha256,
        _ => ObjectFormat::Sha1,
    }
}

const fn zero(format: ObjectFormat) -> Oid {
    match format {
        ObjectFormat::Sha1 => Oid::ZERO_SHA1,
        ObjectFormat::Sha256 => Oid::ZERO_SHA256,
    }
}

/// The top of the work tree that contains a folder.
pub fn top(folder: &Path) -> PathBuf {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = real.ancestors().find(|top| top.join(".git").exists());
    top.unwrap_or(&real).to_owned()
}

/// How many commits are examined at most: reading this many takes well below a second.
const MOST: usize = 5_000;

/// A committed version of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The text of the file.
    pub text: String,
    /// When the version was committed, in seconds since 1970.
    pub time: i64,
}

/// How the versions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionsEnd {
    /// The caller needed no older versions, or the file did not exist before.
    Seen,
    /// The clone does not have the older history, e.g. because it is shallow.
    Shallow,
}

/// Passes on the versions of a file along the first parents from `HEAD` for as long as `more` returns true. The commit
/// of a version is the oldest one that contains it. None if the file is in no repository or not committed.
pub fn versions(file: &Path, more: &mut dyn FnMut(Version) -> bool) -> Option<VersionsEnd> {
    let folder = file.parent()?;
    let repository = Repository::around(folder, AcceptedOwners::Anybody).ok()?;
    let top = repository.workdir()?.canonicalize().ok()?;
    let file = folder.canonicalize().ok()?.join(file.file_name()?);
    let path = file.strip_prefix(&top).ok()?;
    let mut commit = repository.head().ok()?.peel_to_commit().ok()?;
    let mut seen: Option<(Oid, i64)> = None;
    let text = |id: Oid| {
        let blob = repository.find_blob(id).ok()?;
        Some(String::from_utf8_lossy(blob.content()).into_owned())
    };
    let mut hand_on = |(id, time): (Oid, i64)| -> Option<bool> {
        Some(more(Version {
            text: text(id)?,
            time,
        }))
    };
    for _ in 0..MOST {
        let here = commit.tree().ok()?.get_path(path).ok();
        let Some(here) = here.map(|entry| entry.id()) else {
            hand_on(seen?)?;
            return Some(VersionsEnd::Seen);
        };
        if let Some(before) = seen.filter(|(id, _)| *id != here)
            && !hand_on(before)?
        {
            return Some(VersionsEnd::Seen);
        }
        seen = Some((here, commit.time().seconds()));
        match (commit.parent_count(), commit.parent(0)) {
            (_, Ok(parent)) => commit = parent,
            (0, Err(_)) if !repository.is_shallow() => {
                hand_on(seen?)?;
                return Some(VersionsEnd::Seen);
            }
            (_, Err(_)) => break,
        }
    }
    let goes_on = hand_on(seen?)?;
    Some(match goes_on {
        true => VersionsEnd::Shallow,
        false => VersionsEnd::Seen,
    })
}

#[cfg(test)]
mod tests;
