//! Removes what earlier runs have left, without ever following a link.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::Context as _;

use super::lock;

/// Folders that hold what is to be removed.
const TRASH: &str = ".kelvin-trash-";

/// Empties the folder of everything that does not stay. What was there is out of the way at once
/// and removed beside the run: thousands of small folders take their time.
pub(super) fn empty(out: &Path) -> anyhow::Result<Option<JoinHandle<()>>> {
    let failed = || format!("failed to empty `{}`", out.display());
    let mut trash = Vec::new();
    let mut old = Vec::new();
    for entry in fs::read_dir(out).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TRASH) {
            trash.push(entry.path());
        } else if !lock::stays(&name) {
            old.push(entry);
        }
    }
    if !old.is_empty() {
        let place = tempfile::Builder::new()
            .prefix(TRASH)
            .tempdir_in(out)
            .with_context(failed)?
            .keep();
        for entry in old {
            fs::rename(entry.path(), place.join(entry.file_name())).with_context(failed)?;
        }
        trash.push(place);
    }
    if trash.is_empty() {
        return Ok(None);
    }
    let remove = move || {
        for place in trash {
            // Out of the way is what matters; the next run tries again.
            let _ = remove(&place);
        }
    };
    Ok(Some(
        thread::Builder::new()
            .name("sweep".to_owned())
            .spawn(remove)
            .with_context(failed)?,
    ))
}

/// Removes every link below a folder: nothing that is written later can be led elsewhere.
pub(super) fn unlink(out: &Path) -> anyhow::Result<()> {
    let failed = || format!("failed to look through `{}`", out.display());
    let mut folders = vec![out.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let kind = entry.file_type().with_context(failed)?;
            let name = entry.file_name();
            let is_trash = folder == out && name.to_string_lossy().starts_with(TRASH);
            if kind.is_symlink() {
                fs::remove_file(entry.path()).with_context(failed)?;
            } else if is_trash {
                let _ = remove(&entry.path());
            } else if kind.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Removes what is in the folder of a task, but not the folders of its repeats.
pub(super) fn clear(leaf: &Path) -> io::Result<()> {
    for entry in fs::read_dir(leaf)? {
        let entry = entry?;
        let is_repeat = entry.file_name().to_string_lossy().starts_with("repeat-");
        if !is_repeat {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes the folders of cases, variants and repeats that are not in `seen`.
pub(super) fn all_but(out: &Path, seen: &BTreeSet<PathBuf>) {
    for case in folders(out) {
        if !seen.contains(&case) {
            let _ = remove(&case);
            continue;
        }
        let leaves = folders(&case.join("perturbations"))
            .chain(Some(case.join("baseline")))
            .flat_map(|leaf| folders(&leaf).filter(is_repeat).chain(Some(leaf.clone())));
        for leaf in leaves {
            if !seen.contains(&leaf) && leaf.exists() {
                let _ = remove(&leaf);
            }
        }
    }
}

fn is_repeat(folder: &PathBuf) -> bool {
    folder
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("repeat-"))
}

/// The folders in a folder; none where it cannot be listed.
fn folders(within: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(within)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

/// Removes a file, a link itself, or a folder with all that is in it.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
