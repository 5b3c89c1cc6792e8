//! Where a call is made: a folder that holds its input and nothing else, and whose name tells neither the case nor
//! the variant. What the call leaves there goes to the folder of its task once the call is over.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::leaf::{Leaf, OUTPUT};
use super::sweep;
use kelvin_base::digest::Fields;

/// The folder of the calls under way, in the output folder: a command that reaches its files by a mount or by a
/// relative path finds them where it always did. It is no hidden folder, since some programs pass over those.
pub(super) const CALLS: &str = "calls";

/// Stands for the name of the folder of a call in all that the call says. The name differs from input to input, and
/// an answer that repeats it would seem to follow every change.
pub const CALL: &str = "{call}";

/// The folder of one attempt. It goes away with the value.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    name: String,
    input: PathBuf,
    output: PathBuf,
}

impl Place {
    /// Makes the folder with its input. Its name is a digest of what the call is; where equal calls are under way at
    /// the same time, each takes the next name that is free.
    pub(super) fn make(out: &Path, input: &str, text: &str, call: &Fields) -> anyhow::Result<Self> {
        let calls = out.join(CALLS);
        let failed = || format!("failed to make a folder in `{}`", calls.display());
        let mut taken: u64 = 0;
        let place = loop {
            let name = call.clone().field("taken", taken.to_be_bytes());
            let name = name.digest().short(16);
            let folder = calls.join(&name);
            match fs::create_dir(&folder) {
                Ok(()) => {
                    break Self {
                        input: folder.join(input),
                        output: folder.join(OUTPUT),
                        folder,
                        name,
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(&calls).with_context(failed)?;
                }
                Err(error) => return Err(error).with_context(failed),
            }
        };
        // A run that is killed leaves no half of an input.
        let part = place.input.with_extension("part");
        fs::write(&part, text)
            .and_then(|()| fs::rename(&part, &place.input))
            .with_context(|| format!("failed to write `{}`", place.input.display()))?;
        Ok(place)
    }

    /// What the call reads.
    pub(crate) fn input(&self) -> &Path {
        &self.input
    }

    /// What it writes.
    pub(crate) fn output(&self) -> &Path {
        &self.output
    }

    /// Hands what the call has left on to the folder of its task, with the input as it was given.
    ///
    /// # Errors
    ///
    /// Where the input or the output cannot be put there.
    pub(crate) fn hand_over(&self, leaf: &Leaf, text: &str) -> anyhow::Result<()> {
        // A pipeline that has removed its folder has left nothing.
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let (from, to) = (entry.path(), leaf.path().join(&name));
            // The text of the input is known, and other repeats have folders there.
            if from == self.input || sweep::is_repeat(&name.to_string_lossy()) {
                continue;
            }
            let moved = fs::rename(&from, &to).or_else(|_| {
                sweep::remove(&to)?;
                fs::rename(&from, &to)
            });
            // What lies beside an output may belong to another user, as that of a container. Nobody waits for it.
            if name == OsStr::new(OUTPUT) {
                moved.with_context(|| format!("failed to write `{}`", to.display()))?;
            }
        }
        leaf.write_input(text)
    }

    /// Bytes in which [`CALL`] stands for the name of the folder; none where the name is not in them. A program may
    /// have turned its letters into large ones.
    pub(crate) fn without_name(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let name = self.name.as_bytes();
        let mut replaced = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest
            .windows(name.len())
            .position(|part| part.eq_ignore_ascii_case(name))
        {
            replaced.extend_from_slice(&rest[..at]);
            replaced.extend_from_slice(CALL.as_bytes());
            rest = &rest[at + name.len()..];
        }
        if rest.len() == bytes.len() {
            return None;
        }
        replaced.extend_from_slice(rest);
        Some(replaced)
    }

    /// Puts [`CALL`] for the name in a text.
    pub(crate) fn unname(&self, text: &mut String) {
        let replaced = self.without_name(text.as_bytes());
        // The name and what stands for it are ASCII, so a text stays one.
        if let Some(Ok(replaced)) = replaced.map(String::from_utf8) {
            *text = replaced;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is tried again by the next run.
        let _ = sweep::remove(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(out: &Path, text: &str) -> Place {
        let call = Fields::of("test").field("text", text);
        Place::make(out, "input.md", text, &call).expect("made")
    }

    #[test]
    fn equal_calls_at_the_same_time_have_places_of_their_own_and_later_ones_the_same() {
        let out = tempfile::tempdir().expect("a folder");
        let (first, second) = (place(out.path(), "x"), place(out.path(), "x"));
        assert_ne!(first.input(), second.input());
        let input = first.input().to_path_buf();
        drop(first);
        assert!(!input.exists());
        assert!(second.input().exists());
        assert_eq!(place(out.path(), "x").input(), input);
        assert_ne!(place(out.path(), "y").input(), input);
    }

    #[test]
    fn a_name_is_replaced_wherever_it_stands_and_however_it_is_written() {
        let out = tempfile::tempdir().expect("a folder");
        let place = place(out.path(), "x");
        let name = place.name.clone();
        let said = |text: String| {
            let mut text = text;
            place.unname(&mut text);
            text
        };
        assert_eq!(said(format!("/a/{name}/b, {name}")), "/a/{call}/b, {call}");
        assert_eq!(
            said(format!("ü{}ü", name.to_uppercase())),
            "ü{call}ü",
            "in large letters"
        );
        assert_eq!(said(format!(r"\/{name}\/")), r"\/{call}\/", "as PHP writes");
        assert_eq!(said(name[1..].to_owned()), name[1..]);
        assert_eq!(place.without_name(b"nothing"), None);
        assert_eq!(place.without_name(b""), None);
        let bytes = [b"\xff", name.as_bytes(), b"\xfe"].concat();
        assert_eq!(
            place.without_name(&bytes).as_deref(),
            Some(&b"\xff{call}\xfe"[..])
        );
    }
}
