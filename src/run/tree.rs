//! The output folder: locked, marked as ours, and laid out as
//! `<case>/baseline` and `<case>/perturbations/<variant>`, each with `input.md` and `output.json`.

mod leaf;
mod lock;
mod sweep;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;

use anyhow::Context as _;

use super::{Start, Task};
use crate::file;

pub(super) use leaf::Leaf;

/// The output folder of a run, held until it is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    out: PathBuf,
    start: Start,
    /// The folders of this run. Only kept when an earlier run has left others.
    seen: Mutex<BTreeSet<PathBuf>>,
    sweeper: Option<JoinHandle<()>>,
    _lock: fs::File,
}

impl Tree {
    /// Makes the folder, or takes over one of ours: emptied, or as an interrupted run has left it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](crate::exit::Misuse) where the folder is not ours or another run holds it.
    pub(super) fn open(out: &Path, start: Start) -> anyhow::Result<Self> {
        let lock = lock::take(out)?;
        let sweeper = match start {
            Start::Fresh => sweep::empty(out)?,
            Start::Resume => {
                sweep::unlink(out)?;
                None
            }
        };
        Ok(Self {
            out: out.to_path_buf(),
            start,
            seen: Mutex::default(),
            sweeper,
            _lock: lock,
        })
    }

    /// Where the journal is.
    pub(super) fn journal(&self) -> PathBuf {
        self.out.join(lock::JOURNAL)
    }

    /// The folder of a task.
    pub(super) fn leaf(&self, task: &Task) -> Leaf {
        let case = self.out.join(&*folder(&task.case));
        let input = match &task.variant {
            None => case.join("baseline"),
            Some(variant) => case.join("perturbations").join(&*folder(variant)),
        };
        let path = match task.repeat {
            0 | 1 => input,
            repeat => input.join(format!("repeat-{repeat:02}")),
        };
        if self.start == Start::Resume {
            let mut seen = self.seen.lock().expect("nobody panics while holding it");
            let ours = path.ancestors().take_while(|folder| *folder != self.out);
            seen.extend(ours.map(Path::to_path_buf));
        }
        Leaf::at(path)
    }

    /// Makes the folder of a task, empty.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(super) fn make(&self, leaf: &Leaf) -> anyhow::Result<()> {
        let made = match fs::create_dir(leaf.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).create(leaf.path())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => sweep::clear(leaf.path()),
            made => made,
        };
        made.with_context(|| format!("failed to make the folder `{}`", leaf.path().display()))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some(sweeper) = self.sweeper.take() {
            // What it could not remove is tried again by the next run.
            let _ = sweeper.join();
        }
        if self.start == Start::Resume
            && let Ok(seen) = self.seen.get_mut()
            && !seen.is_empty()
        {
            sweep::all_but(&self.out, seen);
        }
    }
}

/// A name as a folder. Names of cases and variants are folder names already; should one ever not
/// be, it becomes one, rather than a path that leads elsewhere.
fn folder(name: &str) -> Cow<'_, str> {
    let is_folder = !name.is_empty()
        && name != "."
        && name != ".."
        && name.len() <= 255
        && !name.contains(['/', '\0']);
    if is_folder {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(file::slug(name))
    }
}

#[cfg(test)]
mod tests;
