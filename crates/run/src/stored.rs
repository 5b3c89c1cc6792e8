//! The whole folder of the cache: the removal of answers that are too old or take too much space.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use anyhow::Context as _;

use kelvin_base::exit::Misuse;

/// Answers that no run has used for this long are removed.
const LONGEST: Duration = Duration::from_secs(90 * 24 * 3600);
/// The maximum size of the stored answers in bytes; the least recently used ones are removed.
const LARGEST: u64 = 1024 * 1024 * 1024;
/// A run prunes the folder at most once in this period, since listing a whole folder takes some time.
const EVERY: Duration = Duration::from_secs(24 * 3600);

/// The file that marks a folder as a cache, and the beginning of the file that this program writes.
pub(super) const TAG: &str = "CACHEDIR.TAG";
pub(super) const TAG_TEXT: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Answers kept by kelvin.\n";
/// The file that is written whenever the folder is pruned.
const PRUNED: &str = "pruned";
/// The folder of the answers, and the folder of unfinished answers.
pub(super) const ANSWERS: &str = "answers";
pub(super) const UNFINISHED: &str = "unfinished";

/// The answers in a folder, sorted by their last use, the oldest first.
#[derive(Debug)]
struct AnswerFolder {
    folder: PathBuf,
    answers: Vec<StoredAnswer>,
}

#[derive(Debug)]
struct StoredAnswer {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

impl AnswerFolder {
    /// Lists a folder; none if there is no such folder. Fails with a [`Misuse`] if the folder is not a cache of this
    /// program; any other error if it cannot be listed.
    fn list(folder: &Path) -> anyhow::Result<Option<Self>> {
        match fs::read_to_string(folder.join(TAG)) {
            Ok(text) if text == TAG_TEXT => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => {
                return Ok(None);
            }
            _ => {
                let shown = folder.display();
                return Err(Misuse::new(format!(
                    "`{shown}` is no cache of kelvin: it has no `{TAG}` that kelvin has written"
                ))
                .help("look at `cache` in the configuration; nothing was removed")
                .into());
            }
        }
        let mut answers = Vec::new();
        for place in listed(&folder.join(ANSWERS))? {
            for path in listed(&place)? {
                // Another run may have removed the file in the meantime.
                let Ok(data) = fs::symlink_metadata(&path) else {
                    continue;
                };
                if data.is_file() {
                    answers.push(StoredAnswer {
                        used: data.modified()?,
                        bytes: data.len(),
                        path,
                    });
                }
            }
        }
        answers.sort_by(|one, other| (one.used, &one.path).cmp(&(other.used, &other.path)));
        Ok(Some(Self {
            folder: folder.to_path_buf(),
            answers,
        }))
    }

    /// Removes the answers that were not used for longer than `longest`, and then the least recently used ones, until
    /// at most `largest` bytes are left. Returns how many it removed. Fails if a file cannot be removed.
    fn prune(&self, now: SystemTime, longest: Duration, largest: u64) -> anyhow::Result<usize> {
        let mut left: u64 = self.answers.iter().map(|answer| answer.bytes).sum();
        let mut removed = 0;
        for answer in &self.answers {
            let age = now.duration_since(answer.used).unwrap_or_default();
            if age <= longest && left <= largest {
                break;
            }
            remove(&answer.path)?;
            left -= answer.bytes;
            removed += 1;
        }
        let path = self.folder.join(PRUNED);
        fs::write(&path, "").with_context(|| format!("failed to write `{}`", path.display()))?;
        Ok(removed)
    }
}

/// Prunes the folder of a run if enough time has passed. Returns how many answers were removed. Fails if the folder
/// cannot be read or pruned.
pub(super) fn prune_when_due(folder: &Path) -> anyhow::Result<usize> {
    let path = folder.join(PRUNED);
    let now = SystemTime::now();
    match fs::metadata(&path).and_then(|data| data.modified()) {
        Ok(pruned) if now.duration_since(pruned).unwrap_or_default() <= EVERY => {}
        Ok(_) => {
            if let Some(stored) = AnswerFolder::list(folder)? {
                return stored.prune(now, LONGEST, LARGEST);
            }
        }
        // A new folder contains no files to prune yet.
        Err(_) => {
            fs::write(&path, "")
                .with_context(|| format!("failed to write `{}`", path.display()))?;
        }
    }
    Ok(0)
}

/// Records that an answer was used, at most once a day.
pub(super) fn used(file: &fs::File) {
    let now = SystemTime::now();
    let modified = file.metadata().and_then(|data| data.modified());
    let is_old = modified.is_ok_and(|at| now.duration_since(at).unwrap_or_default() > EVERY);
    if is_old {
        // If the disk is read-only, the answer is still valid.
        let _ = file.set_modified(now);
    }
}

fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to list `{}`", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error).with_context(failed),
    };
    let paths: io::Result<Vec<PathBuf>> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    let mut paths = paths.with_context(failed)?;
    paths.sort();
    Ok(paths)
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// A cache with answers of ten bytes, each with its age in days.
    fn cache(ages: &[u32]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(TAG), TAG_TEXT).expect("written");
        for (number, age) in ages.iter().enumerate() {
            let place = folder.path().join(ANSWERS).join(format!("{number:02x}"));
            fs::create_dir_all(&place).expect("made");
            fs::write(place.join("rest"), [b'x'; 10]).expect("written");
            let file = fs::File::options().write(true).open(place.join("rest"));
            let time = SystemTime::now() - *age * DAY;
            file.expect("opened").set_modified(time).expect("set");
        }
        folder
    }

    fn prune(ages: &[u32], days: u32, bytes: u64) -> (usize, usize) {
        let folder = cache(ages);
        let list = || {
            AnswerFolder::list(folder.path())
                .expect("listed")
                .expect("there")
        };
        let removed = list().prune(SystemTime::now(), days * DAY + DAY / 2, bytes);
        (removed.expect("removed"), list().answers.len())
    }

    #[test]
    fn what_is_old_goes_and_then_the_oldest_until_the_rest_fits() {
        assert_eq!(prune(&[1, 100, 5, 91], 90, 1000), (2, 2));
        assert_eq!(prune(&[1, 2, 3, 4], 90, 20), (2, 2));
        assert_eq!(prune(&[1, 2, 3, 4], 90, 40), (0, 4));
        assert_eq!(prune(&[100, 2, 3, 4], 90, 15), (3, 1));
        assert_eq!(prune(&[], 90, 0), (0, 0));
    }

    #[test]
    fn a_run_prunes_once_a_day_and_not_the_first_time() {
        let folder = cache(&[100, 1]);
        assert_eq!(prune_when_due(folder.path()).expect("asked"), 0);
        let mark = fs::File::options()
            .write(true)
            .open(folder.path().join(PRUNED));
        let mark = mark.expect("it is marked");
        assert_eq!(prune_when_due(folder.path()).expect("asked"), 0);
        mark.set_modified(SystemTime::now() - 2 * DAY).expect("set");
        assert_eq!(prune_when_due(folder.path()).expect("asked"), 1);
        assert_eq!(prune_when_due(folder.path()).expect("asked"), 0);
    }

    #[test]
    fn a_folder_of_somebody_else_is_never_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("answers/00")).expect("made");
        for tag in [None, Some("Signature: 8a477f597d28d172789f06886806bc55\n")] {
            if let Some(tag) = tag {
                fs::write(folder.path().join(TAG), tag).expect("written");
            }
            let refused = AnswerFolder::list(folder.path()).expect_err("it is no cache of ours");
            assert!(refused.to_string().contains(TAG), "{refused}");
        }
        assert!(
            AnswerFolder::list(&folder.path().join("none"))
                .expect("asked")
                .is_none()
        );
    }

    #[test]
    fn an_answer_that_is_used_again_is_young_again() {
        let folder = cache(&[80, 70]);
        let path = folder.path().join("answers/00/rest");
        used(&fs::File::open(path).expect("opened"));
        let stored = AnswerFolder::list(folder.path())
            .expect("listed")
            .expect("there");
        let removed = stored
            .prune(SystemTime::now(), 60 * DAY, 1000)
            .expect("removed");
        assert_eq!(removed, 1);
        assert!(folder.path().join("answers/00/rest").exists());
    }
}
