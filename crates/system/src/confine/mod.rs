//! Keeps the code of a change away from this process, which holds a token that can write.
//!
//! No other process may read the memory and the environment of this process, even if it has the same user. In the
//! container of the action there is more protection: this process is root there, and the pipeline is not. The pipeline
//! runs as the owner of the workspace, without capabilities, and not in the group of Docker's socket. This process
//! works as that user too, so that its files belong to that user, and becomes root again only to start a process and to
//! end those of the pipeline.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod others;
mod private;

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub use private::withhold;
pub use system::{alone, as_root, become_apart, begin, end_all, held, hide};

/// The folders in which programs that run beside the token are looked for. Only root can write there.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The user of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub uid: u32,
    /// Its only group.
    pub gid: u32,
}

/// The user, which is set once, before any process is started; none where the pipeline has the rights of this process.
static USER: OnceLock<User> = OnceLock::new();

/// The user of the pipeline; none where it has the rights of this process.
pub fn user() -> Option<User> {
    USER.get().copied()
}

impl User {
    /// The arguments that tell a supervisor the user.
    pub fn words(self) -> [OsString; 2] {
        [self.uid, self.gid].map(|number| number.to_string().into())
    }

    /// Reads these arguments; none where they are not numbers, or are those of root.
    pub fn of_words(uid: &OsStr, gid: &OsStr) -> Option<Self> {
        let number = |word: &OsStr| word.to_str()?.parse().ok().filter(|number| *number != 0);
        Some(Self {
            uid: number(uid)?,
            gid: number(gid)?,
        })
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
}
