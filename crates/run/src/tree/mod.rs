//! The output folder: locked, marked as a folder of this program, and with the layout `<case>/baseline` and
//! `<case>/perturbations/<variant>`, each with `input.md` and `output.json`.

mod leaf;
mod lock;
mod place;
mod sweep;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context as _;

use super::Task;
use kelvin_base::digest::Fields;
use kelvin_base::file;

pub(super) use leaf::Leaf;
pub use leaf::{CONVERSATION, OUTPUT};
pub(super) use place::AttemptPlace;
pub use place::{CALL, Premises};

/// The output folder of a run, which is locked until the value is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    out: PathBuf,
    /// The folders of an earlier run, if there are any.
    old: Option<Mutex<Old>>,
    lock: fs::File,
    /// The name of the files that the pipeline reads.
    input: &'static str,
}

/// The folders of an earlier run are reused instead of being removed and created again, which would take most of the
/// time if most answers are already known. Folders that were not reused are removed at the end.
#[derive(Debug, Default)]
struct Old {
    /// The folders of this run.
    seen: HashSet<PathBuf>,
    /// Folders of repeats that existed before.
    repeats: Vec<PathBuf>,
}

impl Tree {
    /// Creates the folder, or locks an existing folder of this program without changing its content. Fails with a
    /// [`Misuse`](kelvin_base::exit::Misuse) if this program did not create the folder, or if another run has locked
    /// it.
    pub(super) fn lock(out: &Path) -> anyhow::Result<Self> {
        let lock = lock::take(out)?;
        Ok(Self {
            out: out.to_path_buf(),
            old: None,
            lock,
            input: leaf::INPUT,
        })
    }

    /// Sets another name for the files that the pipeline reads.
    #[must_use]
    pub(super) const fn with_input(mut self, name: &'static str) -> Self {
        self.input = name;
        self
    }

    /// Removes everything from the folder except the folders that tasks may reuse. Folders that no task
    /// has reused are removed when the tree is dropped. Fails if a file cannot be removed.
    pub(super) fn empty(&mut self) -> anyhow::Result<()> {
        let left = sweep::strip(&self.out)
            .with_context(|| format!("failed to empty `{}`", self.out.display()))?;
        self.old = left.then(Mutex::default);
        Ok(())
    }

    /// Empties the folder, except for the journal and the folders of the given tasks. Fails if a file cannot be
    /// removed.
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

    /// Empties the folder completely, including the journal. Fails if a file cannot be removed.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        sweep::all_but(&self.out, &BTreeSet::new())
            .and_then(|()| sweep::remove(&self.journal()))
            .with_context(|| format!("failed to empty `{}`", self.out.display()))
    }

    /// The path of the journal.
    pub(super) fn journal(&self) -> PathBuf {
        journal_of(&self.out)
    }

    /// The folder of a task.
    fn leaf(&self, task: &Task) -> Leaf {
        let path = folder_of(&self.out, &task.case, task.variant.as_deref(), task.repeat);
        Leaf::at(path, self.input)
    }

    /// The output in the folder of a task, if it has at most `most` bytes.
    pub(super) fn output(&self, task: &Task, most: u64) -> Option<Vec<u8>> {
        self.leaf(task).output(most)
    }

    /// The conversation in the folder of a task, if it has at most `most` bytes.
    pub(super) fn conversation(&self, task: &Task, most: u64) -> Option<Vec<u8>> {
        self.leaf(task).conversation(most)
    }

    /// The folder of a task; it is created when a file is written to it. Of the files that an earlier run has left in
    /// it, only the input and the output stay until they are replaced or removed. Fails if the file system refuses it.
    pub(super) fn prepare(&self, task: &Task) -> anyhow::Result<Leaf> {
        let mut leaf = self.leaf(task);
        if fs::symlink_metadata(leaf.path()).is_ok() {
            let repeats = sweep::reuse(leaf.path())
                .with_context(|| format!("failed to tidy `{}`", leaf.path().display()))?;
            if let Some(old) = &self.old {
                let mut old = old.lock().expect("nobody panics while holding it");
                old.repeats.extend(repeats);
            }
            leaf = leaf.left_by_an_earlier_run();
        }
        if let Some(old) = &self.old {
            let mut old = old.lock().expect("nobody panics while holding it");
            if task.repeat > 1 {
                old.seen.extend(leaf.path().parent().map(Path::to_path_buf));
            }
            old.seen.insert(leaf.path().to_path_buf());
        }
        Ok(leaf)
    }

    /// Creates the place for one attempt of a call. `sample` identifies the text and the repeat. If a process of an
    /// earlier attempt cannot be stopped, its files can never become the answer of a later attempt. Fails if the file
    /// system refuses it.
    pub(super) fn place(
        &self,
        text: &str,
        sample: &str,
        attempt: usize,
        premises: Premises,
    ) -> anyhow::Result<AttemptPlace> {
        let call = Fields::of("kelvin/place/v1")
            .field("sample", sample)
            .field("attempt", attempt.to_be_bytes());
        AttemptPlace::make(&self.out, self.input, text, &call, premises)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The folder is removed only if it is empty, since a case may have this name.
        let _ = fs::remove_dir(self.out.join(place::CALLS));
        if let Some(Ok(old)) = self.old.as_mut().map(Mutex::get_mut) {
            sweep::unseen(&self.out, &old.seen, &old.repeats);
        }
        // Closing the file is not enough if a process that is just being started has inherited it.
        let _ = self.lock.unlock();
    }
}

/// The names of the files that a pipeline can get. The probe decides which of them is used.
pub const INPUTS: [&str; 4] = ["input.md", "input.json", "prompt.txt", "scenario.json"];

/// The folder for the files of an invocation, within the folder of its probe.
pub fn folder_of(out: &Path, case: &str, variant: Option<&str>, repeat: usize) -> PathBuf {
    let case = out.join(&*folder(case));
    let input = match variant {
        None => case.join("baseline"),
        Some(variant) => case.join("perturbations").join(&*folder(variant)),
    };
    match repeat {
        0 | 1 => input,
        repeat => input.join(format!("repeat-{repeat:02}")),
    }
}

/// A name as a folder name. Names of cases and variants are already valid folder names; if one ever is not, it is
/// changed, so that it cannot lead to another path.
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
/// The path of the journal of an output folder.
pub(super) fn journal_of(out: &Path) -> PathBuf {
    out.join(lock::JOURNAL)
}
