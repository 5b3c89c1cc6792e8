//! Removes what earlier runs have left, without ever following a link.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::leaf::{INPUT, OUTPUT};
use super::lock;

/// Removes everything but what stays and the folders of tasks, which may be reused. Whether there
/// are any.
pub(super) fn strip(out: &Path) -> io::Result<bool> {
    let mut left = false;
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        if lock::stays(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
            continue;
        }
        if lock::is_another(&entry.path()) {
            continue;
        }
        left = true;
        for entry in fs::read_dir(entry.path())? {
            let entry = entry?;
            let name = entry.file_name();
            let is_ours = name == "baseline" || name == "perturbations";
            if !(is_ours && entry.file_type()?.is_dir()) {
                remove(&entry.path())?;
            }
        }
    }
    Ok(left)
}

/// Removes what is in the folder of a task beside its input and its output, and hands on the
/// folders of repeats. What stands in the way of the folder is replaced by one.
pub(super) fn reuse(leaf: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::symlink_metadata(leaf)?.is_dir() {
        fs::remove_file(leaf)?;
        fs::create_dir(leaf)?;
    }
    let mut repeats = Vec::new();
    for entry in fs::read_dir(leaf)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() && is_repeat(&name.to_string_lossy()) {
            repeats.push(entry.path());
        } else if !(kind.is_file() && (name == INPUT || name == OUTPUT)) {
            remove(&entry.path())?;
        }
    }
    Ok(repeats)
}

/// Removes the folders of tasks that this run has not seen, and what is empty then. Files are not
/// touched: the reports of this run are among them.
pub(super) fn unseen(out: &Path, seen: &HashSet<PathBuf>, repeats: &[PathBuf]) {
    // What cannot be removed is tried again by the next run.
    let sweep = |folder: &Path| {
        if !seen.contains(folder) {
            let _ = remove(folder);
        }
    };
    repeats.iter().for_each(|folder| sweep(folder));
    for case in folders(out).filter(|case| !lock::is_another(case)) {
        sweep(&case.join("baseline"));
        let variants = case.join("perturbations");
        folders(&variants).for_each(|folder| sweep(&folder));
        for folder in [&variants, &case] {
            // Only where it is empty.
            let _ = fs::remove_dir(folder);
        }
    }
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
            if folder == out && kind.is_dir() && lock::is_another(&path) {
                // Its own runs tidy it.
            } else if kind.is_dir() && kept.contains(&path) {
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
pub(super) fn is_repeat(name: &str) -> bool {
    name.starts_with("repeat-")
}

/// Removes a file, a link itself, or a folder with all that is in it; nothing where nothing is.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::remove_file(path) {
        // Some systems say that it is a folder, some that it is not permitted.
        Err(error) if error.kind() != io::ErrorKind::NotFound && is_folder(path) => {
            fs::remove_dir_all(path)
        }
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}
