//! The folder in which a call is made. It contains only the input, and its name reveals neither the case nor the
//! variant. After the call, it becomes the folder of its task, or its files are moved to that folder. A call that
//! leaves no files has only a file with such a name instead, since creating and removing a folder costs more than such
//! a call.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::leaf::{self, Leaf, OUTPUT};
use super::sweep;
use kelvin_base::digest::Fields;

/// The folder of the running calls. It is in the output folder, so that a command that finds its files by a mount or by
/// a relative path finds them in the usual place. The name does not begin with a dot, since some programs skip hidden
/// folders.
pub(super) const CALLS: &str = "calls";

/// Replaces the name of the folder of a call in the output of the call. The name differs from input to input, so an
/// answer that repeats it would seem to react to every change.
pub const CALL: &str = "{call}";

/// The files that are created for a call before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premises {
    /// A folder with a file that contains the input; the call may leave files there.
    Folder,
    /// A file that contains the input.
    File,
    /// No file: the input is passed in another way.
    Name,
}

/// The place of one attempt. It is removed with the value.
#[derive(Debug)]
pub(crate) struct AttemptPlace {
    premises: Premises,
    /// The path that is removed.
    made: PathBuf,
    name: String,
    input: PathBuf,
    output: PathBuf,
    /// Whether it was already removed.
    is_gone: Cell<bool>,
}

impl AttemptPlace {
    /// Creates the place with its input. Its name is a digest of the call; if equal calls run at the same time, each
    /// takes the next free name.
    pub(super) fn make(
        out: &Path,
        input: &str,
        text: &str,
        call: &Fields,
        premises: Premises,
    ) -> anyhow::Result<Self> {
        let calls = out.join(CALLS);
        let failed = || format!("failed to make a place in `{}`", calls.display());
        let mut taken: u64 = 0;
        loop {
            let name = call.clone().field("taken", taken.to_be_bytes());
            let name = name.digest().short(16);
            let folder = calls.join(&name);
            let flat = match Path::new(input).extension() {
                Some(ending) => folder.with_extension(ending),
                None => folder.clone(),
            };
            let (made, created) = match premises {
                Premises::Folder => (folder.clone(), fs::create_dir(&folder)),
                Premises::File => {
                    let created = File::create_new(&flat);
                    (
                        flat,
                        created.and_then(|mut file| file.write_all(text.as_bytes())),
                    )
                }
                Premises::Name => (flat, Ok(())),
            };
            match created {
                Ok(()) => {
                    let is_folder = premises == Premises::Folder;
                    let place = Self {
                        premises,
                        input: if is_folder {
                            made.join(input)
                        } else {
                            made.clone()
                        },
                        output: folder.join(OUTPUT),
                        made,
                        name,
                        is_gone: Cell::new(premises == Premises::Name),
                    };
                    if is_folder {
                        place.write_input(text)?;
                    }
                    return Ok(place);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(&calls).with_context(failed)?;
                }
                Err(error) => return Err(error).with_context(failed),
            }
        }
    }

    /// Writes the input into the folder. If the run is killed, the file may be incomplete, but it is not used, and the
    /// next run removes it.
    fn write_input(&self, text: &str) -> anyhow::Result<()> {
        fs::write(&self.input, text)
            .with_context(|| format!("failed to write `{}`", self.input.display()))
    }

    /// The file that the call reads.
    pub(crate) fn input(&self) -> &Path {
        &self.input
    }

    /// The file that the call writes.
    pub(crate) fn output(&self) -> &Path {
        &self.output
    }

    /// Moves the files that the call has left to the folder of its task, with the original input. An input that the
    /// call has not changed is moved too, since creating a new file is the most expensive part. Fails if the input or
    /// the output cannot be moved there.
    pub(crate) fn hand_over(&self, leaf: &Leaf, text: &str) -> anyhow::Result<()> {
        if self.premises == Premises::Folder && self.may_stay_whole(text) {
            self.is_gone.set(leaf.take_folder(&self.made));
            if self.is_gone.get() {
                return Ok(());
            }
        }
        leaf.make_folder()?;
        let mut has_input = false;
        if self.premises == Premises::File {
            has_input = leaf.take_input(&self.input, text);
            self.is_gone.set(has_input);
        }
        if self.premises != Premises::Folder {
            return match has_input {
                true => Ok(()),
                false => leaf.write_input(text),
            };
        }
        // A pipeline that removed its folder has left no files.
        for entry in fs::read_dir(&self.made).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let (from, to) = (entry.path(), leaf.path().join(&name));
            if from == self.input {
                has_input = leaf.take_input(&from, text);
                continue;
            }
            // The folders of other repeats have names of this form.
            if sweep::is_repeat(&name.to_string_lossy()) {
                continue;
            }
            let moved = fs::rename(&from, &to).or_else(|_| {
                sweep::remove(&to)?;
                fs::rename(&from, &to)
            });
            // Files beside an output may belong to another user, e.g. the user of a container, so errors about them are
            // ignored.
            if name == OsStr::new(OUTPUT) {
                moved.with_context(|| format!("failed to write `{}`", to.display()))?;
            }
        }
        match has_input {
            true => Ok(()),
            false => leaf.write_input(text),
        }
    }

    /// Whether the folder of the call can become the folder of its task without changes. The input must be unchanged,
    /// no file may be named like the folder of a repeat, and the folder must still belong to this user, so that the
    /// program can write into it and remove all of it.
    fn may_stay_whole(&self, text: &str) -> bool {
        let is_as_made = fs::symlink_metadata(&self.made).is_ok_and(|data| {
            let mine = rustix::process::geteuid().as_raw();
            // The folder belongs to this user, only this user may write to it, and it has no bits that change who may
            // remove files.
            data.is_dir() && data.uid() == mine && data.mode() & 0o5702 == 0o700
        });
        let is_clean = |folder: fs::ReadDir| {
            folder.into_iter().all(|entry| {
                entry.is_ok_and(|entry| !sweep::is_repeat(&entry.file_name().to_string_lossy()))
            })
        };
        is_as_made
            && leaf::holds(&self.input, text.as_bytes())
            && fs::read_dir(&self.made).is_ok_and(is_clean)
    }

    /// The bytes with the name of the folder replaced by [`CALL`]; none if they do not contain the name. The name is
    /// also found in capital letters, since a program may have changed its case.
    pub(crate) fn without_name(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let name = self.name.as_bytes();
        let is_first = |byte: u8| {
            name.first()
                .is_some_and(|first| byte.eq_ignore_ascii_case(first))
        };
        let mut replaced = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest
            .windows(name.len())
            .position(|part| is_first(part[0]) && part.eq_ignore_ascii_case(name))
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

    /// Replaces the name by [`CALL`] in a text.
    pub(crate) fn unname(&self, text: &mut String) {
        let replaced = self.without_name(text.as_bytes());
        // The name and its replacement are ASCII, so a text stays valid UTF-8.
        if let Some(Ok(replaced)) = replaced.map(String::from_utf8) {
            *text = replaced;
        }
    }
}

impl Drop for AttemptPlace {
    fn drop(&mut self) {
        if !self.is_gone.get() {
            // If the removal fails, the next run tries again.
            let _ = sweep::remove(&self.made);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(out: &Path, text: &str) -> AttemptPlace {
        place_of(out, text, Premises::Folder)
    }

    fn place_of(out: &Path, text: &str, premises: Premises) -> AttemptPlace {
        let call = Fields::of("test").field("text", text);
        AttemptPlace::make(out, "input.md", text, &call, premises).expect("made")
    }

    #[test]
    fn a_call_that_leaves_no_files_has_a_file_or_nothing_and_its_input_goes_to_its_task() {
        for premises in [Premises::File, Premises::Name] {
            for is_changed in [false, true] {
                let out = tempfile::tempdir().expect("a folder");
                let leaf = Leaf::at(out.path().join("case"), "input.md");
                fs::create_dir(leaf.path()).expect("made");
                let (first, second) = (
                    place_of(out.path(), "x", premises),
                    place_of(out.path(), "x", premises),
                );
                let is_there = premises == Premises::File;
                assert_eq!(first.input().is_file(), is_there);
                assert_eq!(first.input().extension(), Some("md".as_ref()));
                assert_eq!(first.input() != second.input(), is_there);
                if is_changed && is_there {
                    fs::write(first.input(), "y").expect("written");
                }
                first.hand_over(&leaf, "x").expect("handed over");
                let input = leaf.path().join("input.md");
                assert_eq!(fs::read_to_string(input).expect("text"), "x");
                let left = second.input().to_path_buf();
                drop((first, second));
                assert!(!left.exists());
                let calls = fs::read_dir(out.path().join(CALLS));
                assert_eq!(calls.into_iter().flatten().count(), 0);
            }
        }
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
    fn the_folder_of_a_task_has_the_input_as_it_was_given_whatever_the_call_has_made_of_it() {
        type Deed = fn(&Path);
        let deeds: [(&str, Deed); 6] = [
            ("nothing", |_| ()),
            ("other text", |input| {
                fs::write(input, "y").expect("written")
            }),
            ("more text", |input| {
                fs::write(input, "xy").expect("written")
            }),
            ("no file", |input| fs::remove_file(input).expect("removed")),
            ("a folder", |input| {
                fs::remove_file(input).expect("removed");
                fs::create_dir(input).expect("made");
            }),
            ("a link", |input| {
                let moved = input.with_extension("old");
                fs::rename(input, &moved).expect("moved");
                std::os::unix::fs::symlink(&moved, input).expect("linked");
            }),
        ];
        for (what, deed) in deeds {
            let out = tempfile::tempdir().expect("a folder");
            let leaf = Leaf::at(out.path().join("case"), "input.md");
            fs::create_dir(leaf.path()).expect("made");
            let place = place(out.path(), "x");
            deed(place.input());
            fs::write(place.output(), "{}").expect("written");
            place.hand_over(&leaf, "x").expect("handed over");
            let input = leaf.path().join("input.md");
            let kind = fs::symlink_metadata(&input).expect("it is there");
            assert!(kind.is_file(), "{what}");
            assert_eq!(fs::read_to_string(&input).expect("text"), "x", "{what}");
            assert_eq!(leaf.output(9).as_deref(), Some(&b"{}"[..]), "{what}");
        }
    }

    #[test]
    fn the_folder_of_a_call_becomes_that_of_its_task_unless_it_is_no_longer_as_it_was_made() {
        use std::os::unix::fs::PermissionsExt as _;
        type Deed = fn(&AttemptPlace, &Leaf);
        let deeds: [(&str, bool, Deed); 7] = [
            ("nothing", true, |_, _| ()),
            ("a file beside", true, |place, _| {
                fs::write(place.made.join("log"), "y").expect("written");
            }),
            ("another input", false, |place, _| {
                fs::write(place.input(), "y").expect("written");
            }),
            ("the name of a repeat", false, |place, _| {
                fs::create_dir(place.made.join("repeat-02")).expect("made");
            }),
            ("a repeat is there", false, |_, leaf| {
                fs::create_dir_all(leaf.path().join("repeat-02")).expect("made");
            }),
            ("anybody may write", false, |place, _| {
                let all = fs::Permissions::from_mode(0o777);
                fs::set_permissions(&place.made, all).expect("changed");
            }),
            ("a link", false, |place, _| {
                let moved = place.made.with_extension("old");
                fs::rename(&place.made, &moved).expect("moved");
                std::os::unix::fs::symlink(&moved, &place.made).expect("linked");
            }),
        ];
        for (what, stays, deed) in deeds {
            let out = tempfile::tempdir().expect("a folder");
            let leaf = Leaf::at(out.path().join("case/perturbations/one"), "input.md");
            let place = place(out.path(), "x");
            fs::write(place.output(), "{}").expect("written");
            let inode = fs::symlink_metadata(&place.made).expect("there").ino();
            deed(&place, &leaf);
            place.hand_over(&leaf, "x").expect("handed over");
            let data = fs::symlink_metadata(leaf.path()).expect("there");
            assert!(data.is_dir(), "{what}");
            assert_eq!(data.ino() == inode, stays, "{what}");
            assert_eq!(data.mode() & 0o702, 0o700, "{what}");
            let input = fs::read_to_string(leaf.path().join("input.md"));
            assert_eq!(input.expect("text"), "x", "{what}");
            assert_eq!(leaf.output(9).as_deref(), Some(&b"{}"[..]), "{what}");
            drop(place);
            let calls = fs::read_dir(out.path().join(CALLS)).into_iter().flatten();
            assert_eq!(calls.count(), usize::from(what == "a link"), "{what}");
        }
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
