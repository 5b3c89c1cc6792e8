//! Other systems have no container of the action, and no file that shows the environment of a process.

use std::io;
use std::path::Path;

use super::User;

/// Nothing has to be hidden.
pub fn hide() {}

/// Nothing has to be done.
pub fn begin() {}

/// No pipeline runs as another user.
pub fn become_apart(_: &Path) -> Result<(), String> {
    Err("only Linux has containers of actions".to_owned())
}

/// Does something.
pub fn as_root<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// No supervisor is told to.
pub fn held(_: User) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does something.
pub fn alone<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    Ok(work())
}

/// Nothing runs as another user.
pub fn end_all() -> usize {
    0
}
