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

/// Removes what is in the folder of a task, but not the folders of its repeats.
pub(super) fn clear(leaf: &Path) -> io::Result<()> {
    for entry in fs::read_dir(leaf)? {
        let entry = entry?;
        if !is_repeat(&entry.file_name().to_string_lossy()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes everything but what stays, the journal, and what is in the leaves among `kept`, which
/// are folders with all those above them. Links are removed wherever they are: nothing that is
/// written later can be led elsewhere.
pub(super) fn all_but(out: &Path, kept: &BTreeSet<PathBuf>) -> io::Result<()> {
    let mut folders = vec![out.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let is_leaf = is_leaf(out, &folder);
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if kind.is_dir() && kept.contains(&path) {
                folders.push(path);
            } else if is_leaf && !kind.is_symlink() && !(kind.is_dir() && is_repeat(&name)) {
                // What a pipeline has put beside its output stays with it.
            } else if folder != out || !(lock::stays(&name) || name == lock::JOURNAL) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

/// Whether a folder below `out` is one of a task: `case/baseline`, `case/perturbations/variant`, or
/// a repeat in one of these.
fn is_leaf(out: &Path, folder: &Path) -> bool {
    let Ok(below) = folder.strip_prefix(out) else {
        return false;
    };
    let mut names = below.iter().skip(1);
    match names.next() {
        Some(name) if name == "perturbations" => names.next().is_some(),
        other => other.is_some(),
    }
}

/// Whether a name is one of the folder of a repeat.
fn is_repeat(name: &str) -> bool {
    name.starts_with("repeat-")
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
