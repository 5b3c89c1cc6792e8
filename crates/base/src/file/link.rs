//! Symbolic links on the way to a file.

use std::path::{Path, PathBuf};

/// The first part of a path that is a symbolic link, within the working directory. Folders above it
/// belong to the machine and may be links.
pub fn on_the_way(path: &Path) -> Option<PathBuf> {
    let below = match std::env::current_dir() {
        Ok(here) => path.strip_prefix(here).unwrap_or(path),
        Err(_) => path,
    };
    if below.is_absolute() {
        return None;
    }
    let is_link = |part: &&Path| part.is_symlink();
    let mut parts: Vec<&Path> = below.ancestors().collect();
    parts.reverse();
    parts.iter().find(|part| is_link(part)).map(PathBuf::from)
}
