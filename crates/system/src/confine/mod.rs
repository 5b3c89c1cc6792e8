//! Isolates the code of a change from this process, which has a token with write access.
//!
//! No other process may read the memory and the environment of this process, even if it has the same user. In the
//! container of the action there is more protection: this process is root there, and the pipeline is not. The pipeline
//! runs as the owner of the workspace, without capabilities, and not in the group of Docker's socket. This process
//! works as that user too, so that its files belong to that user. It becomes root again only to start a process and to
//! end those of the pipeline.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod others;

use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::sync::OnceLock;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub use system::{alone, as_root, become_apart, begin, end_all, held, hide};

/// The search path for programs that run together with the token. Only root can write to these folders.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The user of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user id.
    pub uid: u32,
    /// Its only group id.
    pub gid: u32,
}

/// The user, which is set once, before any process is started; none if the pipeline has the rights of this process.
static USER: OnceLock<User> = OnceLock::new();

/// The user of the pipeline; none if it has the rights of this process.
pub fn user() -> Option<User> {
    USER.get().copied()
}

impl User {
    /// The arguments that pass the user to a supervisor.
    pub fn words(self) -> [OsString; 2] {
        [self.uid, self.gid].map(|number| number.to_string().into())
    }

    /// Reads the arguments with the user; none if they are not numbers, or if they name root.
    pub fn of_words(uid: &OsStr, gid: &OsStr) -> Option<Self> {
        let number = |word: &OsStr| word.to_str()?.parse().ok().filter(|number| *number != 0);
        Some(Self {
            uid: number(uid)?,
            gid: number(gid)?,
        })
    }
}

/// The variables that a pipeline and its `setup` do not get, although the runner of a workflow gives them to this
/// program: a token with write access, and the files through which a step gives commands to the workflow. A pipeline
/// that wrote to one of these files by accident would change the outputs, the summary or the later steps.
const NAMES: [&str; 11] = [
    "INPUT_TOKEN",
    "KELVIN_TEAMS_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "ACTIONS_RESULTS_URL",
    "ACTIONS_CACHE_URL",
    "GITHUB_OUTPUT",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
];

/// Removes the given variables from the environment of a process that is about to be started, since other processes may
/// read its environment.
pub fn withhold(command: &mut Command) {
    for name in NAMES {
        command.env_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_user_are_read_again_and_never_name_root() {
        let user = User {
            uid: 1001,
            gid: 1002,
        };
        let [uid, gid] = user.words();
        assert_eq!(User::of_words(&uid, &gid), Some(user));
        for (uid, gid) in [("0", "1"), ("1", "0"), ("-1", "1"), ("", "1"), ("x", "1")] {
            assert_eq!(
                User::of_words(uid.as_ref(), gid.as_ref()),
                None,
                "{uid} {gid}"
            );
        }
    }

    #[test]
    fn the_documented_variables_are_those_of_the_code() {
        let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/action.md"));
        for name in NAMES {
            assert!(document.contains(&format!("`{name}`")), "{name}");
        }
    }
}
