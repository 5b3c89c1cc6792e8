//! The metadata of the pipeline's files in the file system, without their content: enough to notice that a file was
//! written to, replaced or removed.
//!
//! The time of the last change of the inode (ctime) is used, not the time of the last modification (mtime): a program
//! can set the mtime to anything, and a file that was edited and restored can have its old size, content and mtime
//! again. Only the kernel can set the ctime.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Files;

/// Two changes within this time may get the same timestamp, because kernels count in steps of up to 10 ms.
const STEP: Duration = Duration::from_millis(20);

/// The state of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InodeStamp {
    inode: (u64, u64),
    mode: u32,
    size: u64,
    /// Seconds and nanoseconds of the last change of any property, including the name.
    changed: (i64, i64),
    /// The time of the last change of the content, or of the entries of a folder.
    modified: (i64, i64),
}

impl InodeStamp {
    /// The inode at a path, given relative to `top`; none if the path does not exist.
    pub(super) fn at(top: &Path, name: &[u8]) -> Option<Self> {
        place(&top.join(OsStr::from_bytes(name))).0
    }

    fn of(data: &Metadata) -> Self {
        Self {
            inode: (data.dev(), data.ino()),
            mode: data.mode(),
            size: data.size(),
            changed: (data.ctime(), data.ctime_nsec()),
            modified: (data.mtime(), data.mtime_nsec()),
        }
    }
}

/// The inode at a path and, if this is a link, the inode of its target; none if the path does not exist.
type Place = (Option<InodeStamp>, Option<InodeStamp>);

/// The state of every file and of its parent folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps {
    files: BTreeMap<PathBuf, Place>,
    folders: BTreeMap<PathBuf, Place>,
}

/// The differences between two states.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StampChanges {
    /// The changes of paths.
    pub(super) changes: Vec<PathChange>,
    /// Whether a folder has gained or lost entries: then the files have to be listed again to know whether the entries
    /// are code.
    pub(super) entries: bool,
}

impl Stamps {
    /// Reads the state of files, given relative to `top`.
    pub(super) fn of(top: &Path, files: &Files) -> Self {
        let paths = || files.keys().map(|name| Path::new(OsStr::from_bytes(name)));
        let folders: BTreeSet<&Path> = paths().flat_map(|path| path.ancestors().skip(1)).collect();
        let look = |path: &Path| (path.to_path_buf(), place(&top.join(path)));
        Self {
            files: paths().map(look).collect(),
            folders: folders.into_iter().map(look).collect(),
        }
    }

    /// Reads the state of the same paths again.
    pub(super) fn again(&self, top: &Path) -> Self {
        let again = |places: &BTreeMap<PathBuf, Place>| {
            let paths = places.keys();
            let looked = paths.map(|path| (path.clone(), place(&top.join(path))));
            looked.collect()
        };
        Self {
            files: again(&self.files),
            folders: again(&self.folders),
        }
    }

    /// Compares this state with a later one of the same paths.
    pub(super) fn moved(&self, later: &Self) -> StampChanges {
        let mut moved = StampChanges::default();
        for ((path, before), after) in self.files.iter().zip(later.files.values()) {
            let what = match (before, after) {
                _ if before == after => continue,
                ((Some(_), _), (None, _)) => "was removed",
                ((None, _), (Some(_), _)) => "is new",
                ((Some(one), _), (Some(other), _)) if one.inode != other.inode => "was replaced",
                _ => "was written to",
            };
            moved.changes.push(PathChange::File(path.clone(), what));
        }
        for ((path, before), after) in self.folders.iter().zip(later.folders.values()) {
            let what = match (before, after) {
                _ if before == after => continue,
                ((None, _), _) | (_, (None, _)) => "was removed or is new",
                // The link itself was changed.
                ((Some(one), Some(_)), (Some(other), _)) if one != other => "leads elsewhere",
                ((Some(one), None), (Some(other), None)) | ((_, Some(one)), (_, Some(other))) => {
                    moved.entries |= one.modified != other.modified;
                    // A folder that is moved away and back has the same inode and the same entries. Then its ctime has
                    // changed, but its mtime has not.
                    if one.inode == other.inode && one.modified != other.modified {
                        continue;
                    }
                    "was moved, replaced or given other rights"
                }
                _ => "was replaced",
            };
            moved.changes.push(PathChange::Folder(path.clone(), what));
        }
        moved
    }

    /// Whether a file changed so recently that another change may get the same timestamp.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut stamps = self
            .files
            .values()
            .flat_map(|(one, other)| one.iter().chain(other));
        stamps.any(|stamp| {
            let (seconds, nanoseconds) = stamp.changed;
            let seconds = u64::try_from(seconds).unwrap_or_default();
            let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
            Duration::new(seconds, nanoseconds) + STEP > now
        })
    }
}

/// Waits until a change would get another timestamp.
pub(super) fn wait() {
    std::thread::sleep(STEP);
}

fn place(path: &Path) -> Place {
    let Ok(data) = fs::symlink_metadata(path) else {
        return (None, None);
    };
    let target = match data.is_symlink() {
        true => fs::metadata(path).ok(),
        false => None,
    };
    (
        Some(InodeStamp::of(&data)),
        target.as_ref().map(InodeStamp::of),
    )
}

/// A change; all paths are relative to the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathChange {
    /// A file, and how it changed.
    File(PathBuf, &'static str),
    /// A folder, and how it changed.
    Folder(PathBuf, &'static str),
    /// The files cannot be listed any more, for this reason.
    Unlisted(String),
}

impl PathChange {
    /// The path of the file, if the change concerns a file.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Folder(..) | Self::Unlisted(_) => None,
        }
    }
}

impl fmt::Display for PathChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| match path.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => path.display().to_string(),
        };
        match self {
            Self::File(path, what) => write!(f, "`{}` {what}", shown(path)),
            Self::Folder(path, what) => write!(f, "the folder `{}` {what}", shown(path)),
            Self::Unlisted(why) => write!(f, "the files cannot be listed any more{why}"),
        }
    }
}
