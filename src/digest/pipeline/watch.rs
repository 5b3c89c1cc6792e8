//! Notices that the code of the pipeline changes while it runs: an answer counts only for the code
//! that gave it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::super::Fields;
use super::stamp::{self, Stamp, Stamps};
use super::{Code, Entry, Excluded, Files, Listed, Made, digest, list};

/// How often the files are looked at before a run begins, until nothing moves any more.
const ROUNDS: usize = 5;
/// So often a listing that has failed is tried again.
const AGAIN: usize = 3;
/// So many changes are named; the rest is counted.
const NAMED: usize = 5;
/// Looking may take this part of the time that the calls take.
const SHARE: u32 = 20;
/// A file that appears and is still there after this many of the longest calls, and after at least
/// this time, was made by none of them for its own use.
const CALLS: u32 = 3;
const STAY: Duration = Duration::from_secs(1);

/// What a look at the files has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing has changed since the run began: all answers that have come in before the look are
    /// those of its code.
    Same,
    /// There are new files. A call may have made them for its own use, and may take them away; so
    /// a later look has to tell.
    Unsure,
    /// Something has changed; nothing undoes that.
    Changed,
}

/// The files of the pipeline as they were when the run began.
#[derive(Debug)]
pub(crate) struct Watch {
    root: PathBuf,
    globs: Vec<String>,
    exclude: Excluded,
    top: PathBuf,
    files: Files,
    state: Mutex<State>,
    /// Whether something has changed; read between two calls, and never waited for.
    broken: AtomicBool,
    /// Whether a call is made alone, so that what is new after it was made by it.
    learns: AtomicBool,
}

#[derive(Debug)]
struct State {
    stamps: Stamps,
    /// What has changed, in words.
    changes: Vec<String>,
    /// Files that were not there, and since when they are.
    new: BTreeMap<Vec<u8>, (Option<Stamp>, Instant)>,
    /// What the pipeline makes itself.
    made: Made,
    /// How long the longest call took so far.
    longest: Duration,
    /// How long the last look took, and when it ended.
    cost: Duration,
    ended: Instant,
}

/// The code of a pipeline, and what notices that it changes; nothing does where nothing tells
/// which files it is made of. What an interrupted run has `made` is left out.
///
/// The files are those under `root` that `globs` name or, without globs, all that git knows or would
/// take in, without what lies under `exclude`.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where a glob names no file, any other error where a file that
/// is named cannot be read.
pub(crate) fn begin(
    root: &Path,
    globs: &[String],
    exclude: &[PathBuf],
    made: Made,
) -> anyhow::Result<(Code, Option<Watch>)> {
    let exclude = Excluded::new(exclude);
    let mut before: Option<Stamps> = None;
    let mut round = 1;
    loop {
        let now = SystemTime::now();
        let (mut code, listed) = list(root, globs, &exclude)?;
        let Some(Listed {
            top,
            mut files,
            untracked,
        }) = listed
        else {
            return Ok((code, None));
        };
        files.retain(|name, entry| !(untracked.contains(name) && made.has(name, entry)));
        code.digest = Some(digest(&files));
        let stamps = Stamps::of(&top, &files);
        // What was written a moment ago may have been written to since it was read. Where two looks
        // in a row find the same, what was read in between is what is there.
        let is_settled = !stamps.is_fresh(now) || before.as_ref() == Some(&stamps);
        if is_settled || round == ROUNDS {
            let state = State {
                stamps,
                changes: Vec::new(),
                new: BTreeMap::new(),
                made,
                longest: Duration::ZERO,
                cost: Duration::ZERO,
                ended: Instant::now(),
            };
            let watch = Watch {
                root: root.to_path_buf(),
                globs: globs.to_vec(),
                exclude,
                top,
                files,
                state: Mutex::new(state),
                broken: AtomicBool::new(false),
                learns: AtomicBool::new(false),
            };
            return Ok((code, Some(watch)));
        }
        before = Some(stamps);
        round += 1;
        stamp::wait();
    }
}

impl Watch {
    /// Looks at each file without reading it, and lists them anew only where a folder has got or
    /// lost entries.
    pub(crate) fn look(&self) -> Seen {
        self.look_at(false)
    }

    /// Looks at the end of a run: the files are listed and read in any case, and what is new by then
    /// is a change.
    pub(crate) fn look_at_the_end(&self) -> Seen {
        self.look_at(true)
    }

    /// Whether a look is cheap beside a call that took so long, or is due all the same. Until then
    /// what came in waits.
    pub(crate) fn is_due(&self, call: Duration) -> bool {
        // Where the lock is taken, somebody is looking.
        let Ok(mut state) = self.state.try_lock() else {
            return false;
        };
        state.longest = state.longest.max(call);
        let price = state.cost * SHARE;
        price <= call || price <= state.ended.elapsed()
    }

    /// The files as they were when the run began, by name, each with a short digest of its kind and content.
    pub(crate) fn listed(&self) -> BTreeMap<String, String> {
        let entry = |(name, entry): (&Vec<u8>, &Entry)| {
            let fields = Fields::of("kelvin/file/v1");
            let digest = fields.field(entry.kind, &entry.content).digest();
            (String::from_utf8_lossy(name).into_owned(), digest.short(16))
        };
        self.files.iter().map(entry).collect()
    }

    /// Says whether the call that is under way is made alone, and is the first. Whether the one before was.
    pub(crate) fn learns(&self, is_alone: bool) -> bool {
        self.learns.swap(is_alone, Ordering::Relaxed)
    }

    /// What the pipeline makes itself, as far as the first call has shown it.
    pub(crate) fn made(&self) -> Made {
        self.state().made.clone()
    }

    /// Whether a change was noticed; nothing is looked at.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// What has changed, in words; empty where nothing has.
    pub(crate) fn changes(&self) -> String {
        let state = self.state();
        let named: Vec<&str> = state
            .changes
            .iter()
            .take(NAMED)
            .map(String::as_str)
            .collect();
        let more = match state.changes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A look that panicked has changed nothing that it leaves half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, is_end: bool) -> Seen {
        let mut state = self.state();
        if !state.changes.is_empty() {
            return Seen::Changed;
        }
        let start = Instant::now();
        // Before the listing: what moves during it is found by the next look.
        let stamps = state.stamps.again(&self.top);
        let moved = state.stamps.moved(&stamps);
        state.changes = moved.told;
        state.stamps = stamps;
        let is_open = moved.entries || !state.new.is_empty();
        if state.changes.is_empty() && (is_end || is_open) {
            self.list_again(&mut state, is_end);
        }
        state.cost = start.elapsed();
        state.ended = Instant::now();
        if !state.changes.is_empty() {
            self.broken.store(true, Ordering::Relaxed);
            return Seen::Changed;
        }
        match state.new.is_empty() {
            true => Seen::Same,
            false => Seen::Unsure,
        }
    }

    /// Lists the files and compares them with those of the beginning.
    fn list_again(&self, state: &mut State, is_end: bool) {
        let mut listed = list(&self.root, &self.globs, &self.exclude);
        for _ in 0..AGAIN {
            // A file that a call takes away while it is listed is no reason to give up.
            if matches!(listed, Ok((_, Some(_)))) {
                break;
            }
            stamp::wait();
            listed = list(&self.root, &self.globs, &self.exclude);
        }
        let now = match listed {
            Ok((_, Some(listed))) if listed.top == self.top => listed,
            other => {
                let why = other
                    .err()
                    .map_or_else(String::new, |error| format!(": {error:#}"));
                let told = format!("the files cannot be listed any more{why}");
                state.changes.push(told);
                return;
            }
        };
        let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        for (name, before) in &self.files {
            let what = match now.files.get(name) {
                Some(after) if after == before => continue,
                Some(_) => "has another content",
                None => "was removed",
            };
            state.changes.push(format!("`{}` {what}", shown(name)));
        }
        let stay = STAY.max(state.longest * CALLS);
        let mut new = BTreeMap::new();
        let is_new = |(name, _): &(&Vec<u8>, &Entry)| !self.files.contains_key(*name);
        for (name, entry) in now.files.iter().filter(is_new) {
            if now.untracked.contains(name) {
                if self.learns.load(Ordering::Relaxed) {
                    state.made.learn(name, entry, &self.files);
                }
                if state.made.has(name, entry) {
                    continue;
                }
            }
            let stamp = Stamp::at(&self.top, name);
            let known = state.new.get(name).filter(|(known, _)| *known == stamp);
            let since = known.map_or_else(Instant::now, |(_, since)| *since);
            if is_end || since.elapsed() > stay {
                state.changes.push(format!("`{}` is new", shown(name)));
            }
            new.insert(name.clone(), (stamp, since));
        }
        state.new = new;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with one file, and a watch over it.
    fn watched() -> (tempfile::TempDir, PathBuf, Watch) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("code.py");
        fs::write(&file, "1\n").expect("written");
        let (_, watch) =
            begin(folder.path(), &["*.py".to_owned()], &[], Made::default()).expect("listed");
        (folder, file, watch.expect("globs name files"))
    }

    #[test]
    fn a_file_that_is_edited_before_the_first_call_is_found_out() {
        let (_folder, file, watch) = watched();
        assert_eq!(watch.look(), Seen::Same);
        fs::write(&file, "2\n").expect("written");
        assert_eq!(watch.look(), Seen::Changed);
        assert_eq!(watch.changes(), "`code.py` was written to");
        fs::write(&file, "1\n").expect("written");
        assert_eq!(watch.look_at_the_end(), Seen::Changed);
    }

    #[test]
    fn an_edit_right_after_the_code_was_written_is_told_from_it() {
        for round in 0..20 {
            let (_folder, file, watch) = watched();
            // The same size, within the step of the clock of many file systems.
            fs::write(&file, "2\n").expect("written");
            assert_eq!(watch.look(), Seen::Changed, "round {round}");
        }
    }

    #[test]
    fn a_new_file_is_a_change_at_the_end_and_until_then_may_be_taken_away() {
        let (folder, _, watch) = watched();
        let new = folder.path().join("new.py");
        fs::write(&new, "").expect("written");
        assert_eq!(watch.look(), Seen::Unsure);
        fs::remove_file(&new).expect("removed");
        assert_eq!(watch.look(), Seen::Same);
        assert_eq!(watch.look_at_the_end(), Seen::Same);
        fs::write(&new, "").expect("written");
        assert_eq!(watch.look(), Seen::Unsure);
        assert_eq!(watch.look_at_the_end(), Seen::Changed);
        assert_eq!(watch.changes(), "`new.py` is new");
    }

    #[test]
    fn a_new_file_that_stays_longer_than_any_call_is_a_change() {
        let (folder, _, watch) = watched();
        fs::write(folder.path().join("new.py"), "").expect("written");
        assert_eq!(watch.look(), Seen::Unsure);
        std::thread::sleep(STAY + Duration::from_millis(50));
        assert_eq!(watch.look(), Seen::Changed);
    }

    #[test]
    fn a_look_that_is_dear_waits_for_a_call_that_is_dearer() {
        let (_folder, _, watch) = watched();
        {
            let mut state = watch.state();
            state.cost = Duration::from_secs(1);
            state.ended = Instant::now();
        }
        assert!(!watch.is_due(Duration::from_secs(2)));
        assert!(watch.is_due(Duration::from_secs(30)));
    }

    #[test]
    fn many_changes_are_counted() {
        let (_folder, _, watch) = watched();
        watch.state().changes = (0..8).map(|number| number.to_string()).collect();
        assert_eq!(watch.changes(), "0, 1, 2, 3, 4, and 3 more");
    }
}
