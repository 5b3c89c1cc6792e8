//! Git as a process, and whose rights it has.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use crate::{confine, target};

/// Starts git. Where the pipeline has a user of its own, that user gets what git does for this program, and git with
/// a token is nobody whom that user may look at.
///
/// # Errors
///
/// Where it cannot be started.
pub(super) fn start(mut command: Command, has_token: bool) -> io::Result<Child> {
    // Its environment can be read while it runs.
    target::withhold(&mut command);
    let Some(user) = confine::user() else {
        return command.spawn();
    };
    command.env("PATH", confine::PATH);
    if has_token {
        // The user of the pipeline may have written there.
        return command.env("GIT_CONFIG_GLOBAL", "/dev/null").spawn();
    }
    command.uid(user.uid).gid(user.gid);
    confine::as_root(|| command.spawn())
}
