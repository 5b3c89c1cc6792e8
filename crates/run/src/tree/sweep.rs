//! Removes the files of earlier runs, and never follows a link.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::leaf::{INPUT, OUTPUT};
use super::lock;

/// Removes everything except files that are kept and the folders of tasks, which may be reused. Returns whether there
/// are such folders.
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

/// Removes everything from the folder of a task except its input and its output, and returns the folders of repeats. If
/// the path is a file, a folder replaces it.
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

/// Removes the folders of tasks that this run has not used, and folders that have become empty. Files are not touched,
/// since the reports of this run are among them.
pub(super) fn unseen(out: &Path, seen: &HashSet<PathBuf>, repeats: &[PathBuf]) {
    // If a removal fails, the next run tries again.
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
            // This removes only empty folders.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folders in a folder; none if it cannot be listed.
fn folders(within: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(within)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
}

/// Removes everything except files that are kept, the journal, and the content of the task folders in `kept`, which
/// also lists all their parent folders. Links are always removed, so that they cannot redirect a later write.
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
                // The runs of that output folder clean it up.
            } else if kind.is_dir() && kept.contains(&path) {
                folders.push(path);
            } else if is_leaf && !kind.is_symlink() && !(kind.is_dir() && is_repeat(&name)) {
                // Files that a pipeline has put into the folder of its output stay with the output.
            } else if folder != out || !(lock::stays(&name) || name == lock::JOURNAL) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

/// Whether a folder below `out` belongs to a task: `case/baseline`, `case/perturbations/variant`, or the folder of a
/// repeat in one of these.
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

/// Whether a name is the name of a repeat's folder.
pub(super) fn is_repeat(name: &str) -> bool {
    name.starts_with("repeat-")
}

/// Removes a file, a link itself, or a folder with everything in it. A missing path is not an error.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::remove_file(path) {
        // Some systems report that the path is a folder, some that the operation is not permitted.
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
