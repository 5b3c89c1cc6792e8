//! The committed versions of a file, newest first.

use std::path::Path;

use git2::Oid;

use super::{AcceptedOwners, Repository};

/// The most commits that are looked at: reading so many takes well below a second.
const MOST: usize = 5_000;

/// One committed version of a file.
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
    /// The caller wanted no more of them, or the file did not exist before.
    Seen,
    /// There is more history than is at hand, as in a shallow clone.
    Shallow,
}

/// Hands on the versions of a file along the first parents from `HEAD` for as long as `more` says so. A version stands at
/// the oldest commit that has it. None where the file is in no repository or not committed.
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
