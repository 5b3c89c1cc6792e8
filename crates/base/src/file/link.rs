//! Symbolic links on the way to a file.

use std::path::{Path, PathBuf};

/// The first part of a path that is a symbolic link, as far as the path leads through the working
/// directory. What lies above that is the machine's own and may be linked as it likes.
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
