//! The journal: one line of JSON for each finished invocation, appended immediately. If a run is killed, the next run
//! can continue from its journal.

mod basis;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AnswerSource, Outcome, Task, tree};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, Streams};
use kelvin_base::notice::Notice;
use kelvin_base::usage::Usage;
use kelvin_system::pipeline::Made;

pub(super) use basis::{JournalBasis, variables_of_process};

/// The journal of a run, with the records of an earlier run.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    known: HashMap<Task, JournalRecord>,
    order: Option<Vec<Notice>>,
}

/// The header of a journal is its first line; it is repeated later if the limits have changed. It applies to the
/// records that follow.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// The version of the format.
    pub(super) kelvin_journal: u32,
    /// The digest of the command, the declared environment, the decision field and the code of the pipeline.
    pub(super) pipeline: Digest,
    /// All settings besides the pipeline on which failures depend: the limits, the retries and the scorer.
    pub(super) limits: Digest,
    /// The parts of the digest of the pipeline. They are stored only for messages that say which part has changed.
    #[serde(default)]
    pub(super) basis: JournalBasis,
    /// A few digits of the digest of each undeclared variable. They are stored only for messages that say which
    /// variable differs.
    #[serde(default)]
    pub(super) variables: BTreeMap<String, String>,
}

/// The files that the pipeline creates itself, recorded once the first call has shown them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeLine {
    made: Made,
}

/// The findings about the order of the calls.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderLine {
    order: Vec<Notice>,
}

/// A finished invocation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JournalRecord {
    /// The key of its input.
    key: Digest,
    case: String,
    variant: Option<String>,
    repeat: usize,
    result: KnownOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    streams: Option<Box<Streams>>,
    attempts: usize,
    seconds: f64,
    /// Whether the call was the first answer of a process that stays in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_first: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The name of the model that answered, as reported by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    served: Option<Box<str>>,
    /// The value that an observer extracted from the invocation. The header has the digest of the observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed: Option<Box<Value>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KnownOutcome {
    Value(Value),
    Failure(Failure),
}

/// The version of the format. Version 1 had neither exit code nor streams, version 2 no variables.
pub(super) const VERSION: u32 = 3;

/// The version in the header of a journal from another version of this program.
#[derive(Deserialize)]
struct Version {
    kelvin_journal: u32,
}

/// The records that an earlier run has left.
#[derive(Debug, Default)]
pub(super) struct LeftByEarlier {
    known: HashMap<Task, JournalRecord>,
    /// The findings about the order of the calls.
    order: Option<Vec<Notice>>,
    /// The offset at which the last complete line ends; 0 if the journal is not continued.
    end: u64,
    /// Whether the limits, or other settings on which failures depend, have changed since.
    limits_changed: bool,
    /// The variables that differ from those of some part of the journal.
    variables: BTreeSet<String>,
    /// Why the run cannot continue from this journal.
    refused: Option<String>,
}

impl LeftByEarlier {
    /// Reads a journal. A journal for another pipeline is not used. Fails with a [`Misuse`] if the journal has finished
    /// calls but none can be used, so that they are not deleted without the user's consent; any other error if the
    /// journal cannot be read.
    pub(super) fn load(path: &Path, header: &Header) -> anyhow::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => {
                let left = read(&bytes, header);
                match &left.refused {
                    None => Ok(left),
                    Some(why) => Err(Misuse::new(format!(
                        "the earlier run cannot be resumed: {why}"
                    ))
                    .help(
                        "undo that to resume, or leave out `--resume` to begin anew, which removes what has \
                         finished; nothing was removed and nothing was run",
                    )
                    .into()),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error)
                .with_context(|| format!("failed to read the journal `{}`", path.display())),
        }
    }

    /// Whether there are no results to reuse.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The variables whose values differ from those at the time of the stored answers.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(String::as_str)
    }

    /// The finished tasks.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.known.keys()
    }
}

impl Journal {
    /// Continues the journal of an earlier run, or begins a new one. Fails if the file cannot be written.
    pub(super) fn open(path: &Path, header: &Header, left: LeftByEarlier) -> anyhow::Result<Self> {
        let failed = || format!("failed to open the journal `{}`", path.display());
        let end = if left.is_empty() { 0 } else { left.end };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(path)
            .with_context(failed)?;
        // A line that was cut off by a kill is removed, so that the next record begins on a new line.
        file.set_len(end).with_context(failed)?;
        let journal = Self {
            file,
            known: left.known,
            order: left.order,
        };
        if end == 0 || left.limits_changed || !left.variables.is_empty() {
            journal.append(header)?;
        }
        Ok(journal)
    }

    /// The result of an earlier run for a task with this key.
    pub(super) fn find(&self, task: &Task, key: &Digest) -> Option<Outcome> {
        let record = self.known.get(task).filter(|record| record.key == *key)?;
        Some(Outcome {
            result: match record.result.clone() {
                KnownOutcome::Value(value) => Ok(value),
                KnownOutcome::Failure(failure) => Err(Box::new(failure)),
            },
            exit: record.exit,
            streams: record.streams.clone(),
            source: AnswerSource::Resumed,
            attempts: record.attempts,
            seconds: record.seconds,
            is_first: record.is_first,
            usage: record.usage.map(Box::new),
            served: record.served.clone(),
            observed: record.observed.clone(),
        })
    }

    /// Records a finished invocation. Fails if the file cannot be written: a run that cannot be resumed must not look
    /// as if it could.
    pub(super) fn note(&self, task: &Task, key: &Digest, outcome: &Outcome) -> anyhow::Result<()> {
        self.append(&JournalRecord {
            key: *key,
            case: task.case.to_string(),
            variant: task.variant.as_deref().map(str::to_owned),
            repeat: task.repeat,
            result: match &outcome.result {
                Ok(value) => KnownOutcome::Value(value.clone()),
                Err(failure) => KnownOutcome::Failure((**failure).clone()),
            },
            exit: outcome.exit,
            streams: outcome.streams.clone(),
            attempts: outcome.attempts,
            seconds: outcome.seconds,
            is_first: outcome.is_first,
            usage: outcome.usage.as_deref().copied(),
            served: outcome.served.clone(),
            observed: outcome.observed.clone(),
        })
    }

    /// The findings of an earlier run about the order of the calls.
    pub(super) fn order(&self) -> Option<Vec<Notice>> {
        self.order.clone()
    }

    /// Records the findings about the order of the calls. Fails if the file cannot be written.
    pub(super) fn note_order(&self, notices: &[Notice]) -> anyhow::Result<()> {
        self.append(&OrderLine {
            order: notices.to_vec(),
        })
    }

    /// Records which files the pipeline creates itself. Fails if the file cannot be written.
    pub(super) fn note_made(&self, made: Made) -> anyhow::Result<()> {
        self.append(&MadeLine { made })
    }

    /// Deletes all records, so that a later run finds no results to reuse. Fails if the file cannot be written.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        self.file.set_len(0).context("failed to empty the journal")
    }

    /// Writes a line with a single write, so that lines of several threads never mix, and a kill damages at most the
    /// last line.
    fn append(&self, line: &impl Serialize) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        (&self.file)
            .write_all(&bytes)
            .context("failed to write the journal")
    }
}

/// The records of a journal; no records if it belongs to another pipeline. Failures are used only if all settings on
/// which they depend are the same.
fn read(bytes: &[u8], header: &Header) -> LeftByEarlier {
    let mut left = LeftByEarlier::default();
    let mut limits = None;
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    if let Ok(found) = serde_json::from_slice::<Version>(first)
        && found.kelvin_journal != header.kelvin_journal
    {
        left.refused = Some(format!(
            "another version of kelvin has written its journal, in format {}; this one reads format {VERSION}",
            found.kelvin_journal
        ));
        return left;
    }
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        if let Ok(found) = serde_json::from_slice::<Header>(line) {
            if found.pipeline != header.pipeline {
                // Without a finished call, no result can be lost.
                let finished = bytes.split(|byte| *byte == b'\n').filter(is_record).count();
                left = LeftByEarlier::default();
                left.refused = (finished > 0).then(|| {
                    let changes = found.basis.changes(&header.basis);
                    format!(
                        "since then this has changed: {changes}; the earlier run has {finished} finished calls"
                    )
                });
                return left;
            }
            limits = Some(found.limits);
            let differing = basis::differing_variables(&found.variables, &header.variables);
            left.variables.extend(differing.cloned());
        } else if let Ok(record) = serde_json::from_slice::<JournalRecord>(line) {
            let is_failure = matches!(record.result, KnownOutcome::Failure(_));
            if limits.is_some() && !(is_failure && limits != Some(header.limits)) {
                left.known.insert(record.task(), record);
            }
        } else if let Ok(found) = serde_json::from_slice::<OrderLine>(line) {
            left.order = Some(found.order);
        }
        left.end += line.len() as u64;
    }
    left.limits_changed = limits != Some(header.limits);
    left
}

/// The files that the pipeline has created itself, according to its journal; no files if the journal cannot be read,
/// which is reported later.
pub(super) fn made(path: &Path) -> Made {
    let bytes = fs::read(path).unwrap_or_default();
    let mut made = Made::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(header) = serde_json::from_slice::<Header>(line) {
            header.basis.names().for_each(|name| made.was_there(name));
        } else if let Ok(found) = serde_json::from_slice::<MadeLine>(line) {
            made.join(found.made);
        }
    }
    made
}

/// Whether a line of a journal records a finished call.
fn is_record(line: &&[u8]) -> bool {
    serde_json::from_slice::<JournalRecord>(line).is_ok()
}

impl JournalRecord {
    fn task(&self) -> Task {
        Task {
            case: self.case.as_str().into(),
            variant: self.variant.as_deref().map(Into::into),
            repeat: self.repeat,
        }
    }
}

/// The beginnings of the journal lines that are not answers.
const OTHERS: [&[u8]; 2] = [b"{\"kelvin_journal\"", b"{\"made\""];

/// How many answers the journal of an output folder has, and when the last one was added. None if there is no journal,
/// because then no run is in progress and none was interrupted. An answer that is just being written is not counted.
pub fn so_far(out: &Path) -> Option<(usize, SystemTime)> {
    let file = File::open(tree::journal_of(out)).ok()?;
    let at = file.metadata().ok()?.modified().ok()?;
    let mut lines = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        // These lines describe the conditions for the answers, and the files that the pipeline creates itself.
        let is_another = OTHERS.iter().any(|begin| line.starts_with(begin));
        lines += usize::from(line.ends_with(b"\n") && !is_another);
        line.clear();
    }
    Some((lines, at))
}

#[cfg(test)]
mod tests;
