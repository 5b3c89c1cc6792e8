//! Stubs for other systems, which have no action container, and no file that shows the environment of a process.

use std::io;
use std::path::Path;

use super::User;

/// On this system, the program has nothing to hide.
pub fn hide() {}

/// This system needs no preparation.
pub fn begin() {}

/// On this system no pipeline runs as another user.
pub fn become_apart(_: &Path) -> Result<(), String> {
    Err("only Linux has containers of actions".to_owned())
}

/// Runs `work` with the rights of this process.
pub fn as_root<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Supervisors on this system never get this order.
pub fn held(_: User) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Runs `work` without stopping other processes.
pub fn alone<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    Ok(work())
}

/// On this system no process runs as another user.
pub fn end_all() -> usize {
    0
}
