//! Runs git as a process, with limited rights.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};

use crate::confine;

/// Variables that a git hook sets, or that would make git work on another repository.
const OF_ANOTHER: [&str; 10] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Starts git. If the pipeline has its own user, git runs as that user, except for a git with a token, which that user
/// must not be able to inspect. `top`: the top of the current work tree.
///
/// # Errors
///
/// Fails if git cannot be started.
pub fn start(mut command: Command, top: &Path, has_token: bool) -> io::Result<Child> {
    // With these settings, a dead connection ends after half a minute instead of never.
    for (name, value) in [
        ("GIT_HTTP_LOW_SPEED_LIMIT", "1"),
        ("GIT_HTTP_LOW_SPEED_TIME", "30"),
    ] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    for name in OF_ANOTHER {
        command.env_remove(name);
    }
    // Other processes can read the environment of git while it runs.
    confine::withhold(&mut command);
    let Some(user) = confine::user() else {
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", outside(&path, top));
        }
        return command.spawn();
    };
    command.env("PATH", confine::PATH);
    if has_token {
        // The user of the pipeline may have written to this configuration file.
        return command.env("GIT_CONFIG_GLOBAL", "/dev/null").spawn();
    }
    command.uid(user.uid).gid(user.gid);
    confine::as_root(|| command.spawn())
}

/// The folders of the search path in which a change cannot put its own `git`: absolute folders outside its work tree.
/// The output of git decides which commit the change is compared with.
fn outside(path: &OsStr, top: &Path) -> OsString {
    let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let top = real(top);
    let folders = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute() && !real(folder).starts_with(&top));
    std::env::join_paths(folders).unwrap_or_default()
}
