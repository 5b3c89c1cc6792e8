//! The folder of one task: its input, and an output of its own for each attempt.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::OFlags;

/// The files of one task.
#[derive(Debug)]
pub(in crate::run) struct Leaf {
    path: PathBuf,
    input: PathBuf,
    output: PathBuf,
}

impl Leaf {
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            input: path.join("input.md"),
            output: path.join("output.json"),
            path,
        }
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the pipeline reads.
    pub(in crate::run) fn input(&self) -> &Path {
        &self.input
    }

    /// What an attempt writes, counted from 1. Each has a path of its own: what a process that
    /// escaped from an earlier attempt writes can never be taken for the answer of a later one.
    pub(in crate::run) fn output(&self, attempt: usize) -> PathBuf {
        match attempt {
            0 | 1 => self.output.clone(),
            _ => self.path.join(format!("output.attempt-{attempt}.json")),
        }
    }

    /// Writes the input.
    pub(in crate::run) fn write_input(&self, text: &str) -> anyhow::Result<()> {
        write(&self.input, text.as_bytes())
    }

    /// Writes an answer that was not called for.
    pub(in crate::run) fn write_output(&self, bytes: &[u8]) -> anyhow::Result<()> {
        write(&self.output, bytes)
    }

    /// Removes what stands where an attempt will write.
    pub(in crate::run) fn remove_output(&self, attempt: usize) -> anyhow::Result<()> {
        let path = self.output(attempt);
        let removed = match fs::remove_file(&path) {
            // A folder there would make every attempt fail; a pipeline may have made it.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::IsADirectory | io::ErrorKind::PermissionDenied
                ) =>
            {
                fs::remove_dir_all(&path)
            }
            removed => removed,
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error)
                .with_context(|| format!("failed to remove the old output `{}`", path.display())),
            _ => Ok(()),
        }
    }

    /// Makes what the last attempt has written the output; nothing where it wrote nothing.
    pub(in crate::run) fn settle(&self, last: usize) -> anyhow::Result<()> {
        if last <= 1 {
            return Ok(());
        }
        self.remove_output(1)?;
        match fs::rename(self.output(last), &self.output) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to write `{}`", self.output.display()))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a whole file, new or not, that is no link.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("failed to write `{}`", path.display()))
}
