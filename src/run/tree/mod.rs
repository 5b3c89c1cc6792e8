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
use std::thread::JoinHandle;

use anyhow::Context as _;

use super::Task;
use crate::file;

pub(super) use leaf::Leaf;

/// The output folder of a run, held until it is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    out: PathBuf,
    sweeper: Option<JoinHandle<()>>,
    _lock: fs::File,
}

impl Tree {
    /// Makes the folder, or takes hold of one of ours, and leaves its content as it is.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](crate::exit::Misuse) where the folder is not ours or another run holds it.
    pub(super) fn lock(out: &Path) -> anyhow::Result<Self> {
        let lock = lock::take(out)?;
        Ok(Self {
            out: out.to_path_buf(),
            sweeper: None,
            _lock: lock,
        })
    }

    /// Empties the folder.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(super) fn empty(&mut self) -> anyhow::Result<()> {
        self.sweeper = sweep::empty(&self.out)?;
        Ok(())
    }

    /// Empties the folder of everything but the journal and the folders of these tasks.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(super) fn keep<'t>(&self, tasks: impl Iterator<Item = &'t Task>) -> anyhow::Result<()> {
        let mut kept = BTreeSet::new();
        for task in tasks {
            let leaf = self.leaf(task);
            let ours = leaf.path().ancestors().take_while(|path| *path != self.out);
            kept.extend(ours.map(Path::to_path_buf));
        }
        sweep::all_but(&self.out, &kept)
            .with_context(|| format!("failed to tidy `{}`", self.out.display()))
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
