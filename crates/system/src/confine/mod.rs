//! What keeps the code of a change away from this process, which holds a token that can write.
//!
//! Nobody may look into the memory and the environment of this process, also not another process of the same user.
//! In the container of the action there is more: this process is root there, and the pipeline is not. It runs as the
//! user that the workspace belongs to, without capabilities, in no group of the socket of Docker. This process works
//! as that user too, so that its files belong to it, and is root again only where it starts a process and where it
//! ends those of the pipeline.

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

/// Where programs are looked for that run beside the token. Only root can write there.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The user of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub uid: u32,
    /// Its only group.
    pub gid: u32,
}

/// Set once, before anything is started; none where the pipeline has the rights of this process.
static USER: OnceLock<User> = OnceLock::new();

/// Who the pipeline runs as; none where it has the rights of this process.
pub fn user() -> Option<User> {
    USER.get().copied()
}

impl User {
    /// The words by which a supervisor is told.
    pub fn words(self) -> [OsString; 2] {
        [self.uid, self.gid].map(|number| number.to_string().into())
    }

    /// Reads these words; none where they are no numbers, or those of root.
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
