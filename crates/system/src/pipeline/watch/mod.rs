//! Notices changes of the pipeline's code during a run: an answer is only valid for the code that gave it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::stamp::{self, InodeStamp, PathChange, Stamps};
use super::{Code, CodeFile, Excluded, Files, ListedFiles, Made, digest, list, made};
use kelvin_base::digest::Fields;

/// How often the files are checked before a run begins, until no file changes any more.
const ROUNDS: usize = 5;
/// How often a failed listing is tried again.
const AGAIN: usize = 3;
/// How many changes are named; the others are only counted.
const NAMED: usize = 5;
/// Checks may take at most one part in this many of the time of the calls.
const SHARE: u32 = 20;
/// A new file that still exists after this many of the longest calls, and after at least this time,
/// is not a temporary file of a call.
const CALLS: u32 = 3;
const STAY: Duration = Duration::from_secs(1);

/// The result of a check of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The code has not changed since the run began: all answers that came in before the check belong to it.
    Same,
    /// There are new files. They may be temporary files of a call, which the call will remove; so a
    /// later check has to decide.
    Unsure,
    /// A file has changed; this result is final.
    Changed,
}

/// The files of the pipeline at the beginning of the run.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    globs: Vec<String>,
    exclude: Excluded,
    top: PathBuf,
    files: Files,
    /// The files that git does not track.
    untracked: BTreeSet<Vec<u8>>,
    /// Files that earlier runs have left behind, by their place or name; they are not code.
    left: BTreeSet<Vec<u8>>,
    state: Mutex<WatchState>,
    /// Whether a file has changed; read between two calls, without waiting.
    broken: AtomicBool,
    /// Whether a call is made alone, so that new files after it were created by it.
    learns: AtomicBool,
}

#[derive(Debug)]
struct WatchState {
    stamps: Stamps,
    changes: Vec<PathChange>,
    /// New files, and the times at which they were first seen.
    new: BTreeMap<Vec<u8>, (Option<InodeStamp>, Instant)>,
    /// The files that the pipeline creates itself.
    made: Made,
    /// The files that runs have left behind so far.
    left: BTreeSet<Vec<u8>>,
    /// The duration of the longest call so far.
    longest: Duration,
    /// The duration of the last check, and its end.
    cost: Duration,
    ended: Instant,
}

/// The code of a pipeline, and a watch on it; no watch if it is not known which files the code consists of. Files that
/// an interrupted run has `made` are left out.
///
/// The files are those under `root` that match `globs` or, without globs, all files that git knows or would add,
/// without those under `exclude`.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if a glob matches no file; any other error if a file that is named cannot be
/// read.
pub fn begin(
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
        let Some(ListedFiles {
            top,
            mut files,
            untracked,
            left,
        }) = listed
        else {
            return Ok((code, None));
        };
        files.retain(|name, entry| !(untracked.contains(name) && made.has(name, entry)));
        code.digest = Some(digest(&files));
        let stamps = Stamps::of(&top, &files);
        // A file that was written a moment ago may have changed after it was read. If two checks in a row find the same
        // state, the content read between them is current.
        let is_settled = !stamps.is_fresh(now) || before.as_ref() == Some(&stamps);
        if is_settled || round == ROUNDS {
            let state = WatchState {
                stamps,
                changes: Vec::new(),
                new: BTreeMap::new(),
                made,
                left: BTreeSet::new(),
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
                untracked,
                left,
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
    /// Checks each file without reading it, and lists the files again only if a folder has gained or lost entries.
    pub fn look(&self) -> Seen {
        self.look_at(false)
    }

    /// Checks at the end of a run: the files are always listed and read, and every new file counts as a change.
    pub fn look_at_the_end(&self) -> Seen {
        self.look_at(true)
    }

    /// Whether a check is cheap compared with a call of this duration, or is due anyway. New answers wait for the next
    /// check.
    pub fn is_due(&self, call: Duration) -> bool {
        // If the lock is taken, another thread is already checking.
        let Ok(mut state) = self.state.try_lock() else {
            return false;
        };
        state.longest = state.longest.max(call);
        let price = state.cost * SHARE;
        price <= call || price <= state.ended.elapsed()
    }

    /// The files at the beginning of the run, by name, each with a short digest of its kind and content.
    pub fn listed(&self) -> BTreeMap<String, String> {
        let entry = |(name, entry): (&Vec<u8>, &CodeFile)| {
            let fields = Fields::of("kelvin/file/v1");
            let digest = fields.field(entry.kind, &entry.content).digest();
            (String::from_utf8_lossy(name).into_owned(), digest.short(16))
        };
        self.files.iter().map(entry).collect()
    }

    /// Sets whether the current call is the first and is made alone. Returns whether the previous call was.
    pub fn learns(&self, is_alone: bool) -> bool {
        self.learns.swap(is_alone, Ordering::Relaxed)
    }

    /// The files that the pipeline creates itself, if the first call has shown them.
    pub fn made(&self) -> Made {
        self.state().made.clone()
    }

    /// Whether a change was noticed, without a new check.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// The changes in words; empty if there are none.
    pub fn changes(&self) -> String {
        let state = self.state();
        let named = state.changes.iter().take(NAMED);
        let named: Vec<String> = named.map(PathChange::to_string).collect();
        let more = match state.changes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    }

    /// The lines for a `.gitignore` at the top of the repository that prevent files of the pipeline from counting as
    /// code. After a change, there are also lines for changed data files that git does not track.
    pub fn ignorable(&self) -> BTreeSet<String> {
        self.lines(|name| made::named_as_data(name).is_some())
    }

    /// The lines for all new files of any kind, at the end of a call that was made alone.
    pub fn left(&self) -> BTreeSet<String> {
        self.look_at_the_end();
        let mut lines = self
            .lines(|name| made::named_as_data(name).is_some() || !self.files.contains_key(name));
        // A file whose name does not look like code becomes code when it is committed.
        let state = self.state();
        let names = state.left.iter().filter(|name| !self.left.contains(*name));
        let names = names.map(Vec::as_slice);
        lines.extend(made::ignore_lines(
            names,
            std::iter::empty(),
            &BTreeSet::new(),
        ));
        lines
    }

    /// The changes to files that git tracks, in words; none if there are none.
    pub fn damaged(&self) -> Option<String> {
        let state = self.state();
        let is_tracked =
            |name: &[u8]| self.files.contains_key(name) && !self.untracked.contains(name);
        let changes = state.changes.iter();
        let tracked =
            changes.filter(|change| change.file().is_some_and(|file| is_tracked(bytes(file))));
        let told: Vec<String> = tracked.take(NAMED).map(PathChange::to_string).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// The lines for the known files of the pipeline, and for changed files that git does not track and that `meant`
    /// selects.
    fn lines(&self, meant: impl Fn(&[u8]) -> bool) -> BTreeSet<String> {
        let state = self.state();
        let is_tracked =
            |name: &[u8]| self.files.contains_key(name) && !self.untracked.contains(name);
        let tracked = self.files.keys().filter(|name| is_tracked(name));
        // If a file of the code is in the same folder, no line covers all files of a kind.
        let code: BTreeSet<_> = tracked
            .filter_map(|name| made::kind(std::str::from_utf8(name).ok()?))
            .collect();
        let changed = state.changes.iter().filter_map(PathChange::file).map(bytes);
        let changed = changed.filter(|name| !is_tracked(name) && meant(name));
        let names = state.made.names().map(str::as_bytes).chain(changed);
        made::ignore_lines(names, state.made.later(), &code)
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        // A check that panicked leaves no incomplete change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at(&self, is_end: bool) -> Seen {
        let mut state = self.state();
        if !state.changes.is_empty() {
            return Seen::Changed;
        }
        let start = Instant::now();
        // The metadata is read before the listing, so that the next check finds changes that happen during the listing.
        let stamps = state.stamps.again(&self.top);
        let moved = state.stamps.moved(&stamps);
        state.changes = moved.changes;
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

    /// Lists the files again and compares them with those at the beginning.
    fn list_again(&self, state: &mut WatchState, is_end: bool) {
        let mut listed = list(&self.root, &self.globs, &self.exclude);
        for _ in 0..AGAIN {
            // If a call removes a file during the listing, the listing is repeated.
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
                state.changes.push(PathChange::Unlisted(why));
                return;
            }
        };
        let file = |name: &[u8], what| PathChange::File(OsStr::from_bytes(name).into(), what);
        for (name, before) in &self.files {
            let what = match now.files.get(name) {
                Some(after) if after == before => continue,
                Some(_) => "has another content",
                None => "was removed",
            };
            state.changes.push(file(name, what));
        }
        let stay = STAY.max(state.longest * CALLS);
        let mut new = BTreeMap::new();
        let is_new = |(name, _): &(&Vec<u8>, &CodeFile)| !self.files.contains_key(*name);
        for (name, entry) in now.files.iter().filter(is_new) {
            if now.untracked.contains(name) {
                if self.learns.load(Ordering::Relaxed) {
                    state.made.learn(name, entry, &self.files);
                }
                if state.made.has(name, entry) {
                    state.made.saw(name);
                    continue;
                }
            }
            let stamp = InodeStamp::at(&self.top, name);
            let known = state.new.get(name).filter(|(known, _)| *known == stamp);
            let since = known.map_or_else(Instant::now, |(_, since)| *since);
            if is_end || since.elapsed() > stay {
                state.changes.push(file(name, "is new"));
            }
            new.insert(name.clone(), (stamp, since));
        }
        state.new = new;
        state.left = now.left;
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests;
