//! The folder of one task: the input of a call and its output.

use std::cell::Cell;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::OFlags;

use super::sweep;

/// The name of the file that the pipeline reads.
pub(super) const INPUT: &str = "input.md";
/// The name of the file that the pipeline writes.
pub const OUTPUT: &str = "output.json";
/// The name of the file with the turns of a conversation and the output of each.
pub const CONVERSATION: &str = "conversation.json";

/// The files of one task.
#[derive(Debug)]
pub(crate) struct Leaf {
    path: PathBuf,
    input: PathBuf,
    output: PathBuf,
    /// Whether the input and output of an earlier run may be in the folder.
    pub(super) reused: bool,
    /// Whether the folder exists. The folder of a call can become the folder of its task, so this folder is created
    /// only when it is needed.
    is_made: Cell<bool>,
}

impl Leaf {
    pub(super) fn at(path: PathBuf, input: &str) -> Self {
        Self {
            input: path.join(input),
            output: path.join(OUTPUT),
            path,
            reused: false,
            is_made: Cell::new(false),
        }
    }

    /// The same folder, in the state in which an earlier run has left it.
    #[must_use]
    pub(super) fn left_by_an_earlier_run(mut self) -> Self {
        self.reused = true;
        self.is_made.set(true);
        self
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the input.
    pub(crate) fn write_input(&self, text: &str) -> anyhow::Result<()> {
        self.write(&self.input, text.as_bytes())
    }

    /// Creates the folder, unless it exists. Fails if the file system refuses it.
    pub(super) fn make_folder(&self) -> anyhow::Result<()> {
        if self.is_made.get() {
            return Ok(());
        }
        let made = match fs::create_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).create(&self.path)
            }
            // Another repeat of the same input has already created the folder, because it needed a folder within it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        made.with_context(|| format!("failed to make the folder `{}`", self.path.display()))?;
        self.is_made.set(true);
        Ok(())
    }

    /// Moves another folder to this path. Returns false if this folder already exists and is not empty, or if the other
    /// folder cannot be moved; then nothing has changed.
    pub(super) fn take_folder(&self, from: &Path) -> bool {
        if self.is_made.get() {
            return false;
        }
        let moved = fs::rename(from, &self.path).or_else(|error| {
            match (error.kind(), self.path.parent()) {
                (io::ErrorKind::NotFound, Some(above)) => {
                    DirBuilder::new().recursive(true).create(above)?;
                    fs::rename(from, &self.path)
                }
                _ => Err(error),
            }
        });
        self.is_made.set(moved.is_ok());
        moved.is_ok()
    }

    /// Moves a file to the path of the input, if it has exactly the text of the input. Returns false if it has another
    /// text, is not a regular file or cannot be moved; then nothing has changed.
    pub(super) fn take_input(&self, from: &Path, text: &str) -> bool {
        holds(from, text.as_bytes()) && fs::rename(from, &self.input).is_ok()
    }

    /// Writes the output of an answer for which no call was made.
    pub(crate) fn write_output(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.write(&self.output, bytes)
    }

    /// Writes a conversation into the folder with the output of its last turn.
    pub(crate) fn write_conversation(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.write(&self.path.join(CONVERSATION), bytes)
    }

    /// The output, if it has at most `most` bytes; none if there is no such output.
    pub(crate) fn output(&self, most: u64) -> Option<Vec<u8>> {
        read_if(&self.output, |length| length <= most)
    }

    /// The conversation with the output of its last turn, if it has at most `most` bytes; none if there is none.
    pub(crate) fn conversation(&self, most: u64) -> Option<Vec<u8>> {
        read_if(&self.path.join(CONVERSATION), |length| length <= most)
    }

    /// Removes the input and the output of an earlier run. During a call, no folder may reveal under which name its
    /// text was stored before.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        if !self.reused {
            return Ok(());
        }
        [&self.input, &self.output]
            .into_iter()
            .try_for_each(|path| {
                sweep::remove(path)
                    .with_context(|| format!("failed to remove the old `{}`", path.display()))
            })
    }

    /// Writes a file completely or not at all. A file that already has these bytes is not touched; any other is
    /// replaced, because writing into it would follow a link and wait for the disk.
    fn write(&self, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        if self.reused && holds(path, bytes) {
            return Ok(());
        }
        self.make_folder()?;
        let part = path.with_extension("part");
        let create = || {
            File::create_new(&part)?.write_all(bytes)?;
            fs::rename(&part, path)
        };
        let written = create().or_else(|error| {
            // A killed run has left an incomplete file, or something other than a file has this path.
            let is_in_the_way = matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::IsADirectory
            );
            sweep::remove(&part)?;
            match is_in_the_way {
                true => sweep::remove(path).and_then(|()| create()),
                false => Err(error),
            }
        });
        written.with_context(|| format!("failed to write `{}`", path.display()))
    }
}

/// Whether a path is a regular file, not a link, with these bytes.
pub(super) fn holds(path: &Path, bytes: &[u8]) -> bool {
    let length = bytes.len() as u64;
    read_if(path, |found| found == length).is_some_and(|found| found == bytes)
}

/// The bytes of a regular file, not of a link, whose length `is_wanted` accepts; none otherwise, or if it cannot be
/// read.
fn read_if(path: &Path, is_wanted: impl Fn(u64) -> bool) -> Option<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
        .ok()?;
    let data = file.metadata().ok()?;
    if !data.is_file() || !is_wanted(data.len()) {
        return None;
    }
    let mut found = Vec::with_capacity(usize::try_from(data.len()).ok()? + 1);
    file.read_to_end(&mut found).ok()?;
    Some(found)
}
