//! What has finished, one line of JSON each, appended as it happens: what a run that was killed
//! leaves for the one that goes on from there.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Failure, Outcome, Source, Task};
use crate::digest::Digest;

/// The journal of a run, and what an earlier one has left.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    known: HashMap<Task, Record>,
}

/// The first line, and a later one where the limits have changed: what those after it hold for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// The version of the format.
    pub(super) kelvin_journal: u32,
    /// The digest of command, declared environment, decision field and code of the pipeline.
    pub(super) pipeline: Digest,
    /// What failures depend on beside it: the limits, the retries and the scorer.
    pub(super) limits: Digest,
}

/// A finished invocation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// The key of its input.
    key: Digest,
    case: String,
    variant: Option<String>,
    repeat: usize,
    result: Known,
    attempts: usize,
    seconds: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    Decision(Value),
    Failure(Failure),
}

/// What an earlier run has left.
#[derive(Debug, Default)]
pub(super) struct Left {
    known: HashMap<Task, Record>,
    /// Where the last whole line ends; 0 where nothing is gone on with.
    end: u64,
    /// Whether what failures depend on has changed since.
    limits_changed: bool,
}

impl Left {
    /// Reads a journal. Nothing is taken from one that was written for another pipeline.
    ///
    /// # Errors
    ///
    /// Where there is one that cannot be read.
    pub(super) fn load(path: &Path, header: &Header) -> anyhow::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => Ok(read(&bytes, header)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error)
                .with_context(|| format!("failed to read the journal `{}`", path.display())),
        }
    }

    /// Whether there is nothing to go on with.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What has finished.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.known.keys()
    }
}

impl Journal {
    /// Goes on with the journal that something was left of, or begins one.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(super) fn open(path: &Path, header: &Header, left: Left) -> anyhow::Result<Self> {
        let failed = || format!("failed to open the journal `{}`", path.display());
        let end = if left.is_empty() { 0 } else { left.end };
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(path)
            .with_context(failed)?;
        // What a kill has torn is cut off, so that the next line begins a line.
        file.set_len(end).with_context(failed)?;
        let journal = Self {
            file,
            known: left.known,
        };
        if end == 0 || left.limits_changed {
            journal.append(header)?;
        }
        Ok(journal)
    }

    /// What an earlier run has found out about a task with this key.
    pub(super) fn find(&self, task: &Task, key: &Digest) -> Option<Outcome> {
        let record = self.known.get(task).filter(|record| record.key == *key)?;
        Some(Outcome {
            result: match record.result.clone() {
                Known::Decision(decision) => Ok(decision),
                Known::Failure(failure) => Err(failure),
            },
            source: Source::Resumed,
            attempts: record.attempts,
            seconds: record.seconds,
        })
    }

    /// Notes down a finished invocation.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it: a run that cannot be resumed must not look as if it could.
    pub(super) fn note(&self, task: &Task, key: &Digest, outcome: &Outcome) -> anyhow::Result<()> {
        self.append(&Record {
            key: *key,
            case: task.case.to_string(),
            variant: task.variant.as_deref().map(str::to_owned),
            repeat: task.repeat,
            result: match &outcome.result {
                Ok(decision) => Known::Decision(decision.clone()),
                Err(failure) => Known::Failure(failure.clone()),
            },
            attempts: outcome.attempts,
            seconds: outcome.seconds,
        })
    }

    /// One write a line: lines of several threads never mix, and a kill tears at most the last.
    fn append(&self, line: &impl Serialize) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        (&self.file)
            .write_all(&bytes)
            .context("failed to write the journal")
    }
}

/// The records of a journal; nothing where it is of another pipeline. Failures are taken only
/// where what they depend on is the same.
fn read(bytes: &[u8], header: &Header) -> Left {
    let mut left = Left::default();
    let mut limits = None;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        if let Ok(found) = serde_json::from_slice::<Header>(line) {
            if (found.kelvin_journal, found.pipeline) != (header.kelvin_journal, header.pipeline) {
                return Left::default();
            }
            limits = Some(found.limits);
        } else if let Ok(record) = serde_json::from_slice::<Record>(line) {
            let is_failure = matches!(record.result, Known::Failure(_));
            if limits.is_some() && !(is_failure && limits != Some(header.limits)) {
                left.known.insert(record.task(), record);
            }
        }
        left.end += line.len() as u64;
    }
    left.limits_changed = limits != Some(header.limits);
    left
}

impl Record {
    fn task(&self) -> Task {
        Task {
            case: self.case.as_str().into(),
            variant: self.variant.as_deref().map(Into::into),
            repeat: self.repeat,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::FailureKind;

    fn header(pipeline: &str, limits: &str) -> Header {
        Header {
            kelvin_journal: 1,
            pipeline: Digest::of(pipeline.as_bytes()),
            limits: Digest::of(limits.as_bytes()),
        }
    }

    fn task(case: &str) -> Task {
        Task {
            case: case.into(),
            variant: Some("swap-01".into()),
            repeat: 1,
        }
    }

    fn outcome(result: Result<Value, FailureKind>) -> Outcome {
        Outcome {
            result: result.map_err(|kind| Failure {
                kind,
                message: "why".to_owned(),
                stderr: "é\n\"".to_owned(),
                stdout: String::new(),
            }),
            source: Source::Called,
            attempts: 2,
            seconds: 0.5,
        }
    }

    fn key() -> Digest {
        Digest::of(b"input")
    }

    fn begin(path: &Path, pipeline: &str, limits: &str) -> Journal {
        Journal::open(path, &header(pipeline, limits), Left::default()).expect("opened")
    }

    fn resume(path: &Path, pipeline: &str, limits: &str) -> Journal {
        let header = header(pipeline, limits);
        let left = Left::load(path, &header).expect("read");
        Journal::open(path, &header, left).expect("opened")
    }

    fn written(path: &Path) {
        let journal = begin(path, "p", "l");
        let done = [
            ("null", Ok(json!(null))),
            ("text", Ok(json!("go"))),
            ("exit", Err(FailureKind::Exit(9))),
        ];
        for (case, result) in done {
            journal
                .note(&task(case), &key(), &outcome(result))
                .expect("noted");
        }
    }

    #[test]
    fn p6_what_was_noted_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        written(&path);
        let journal = resume(&path, "p", "l");
        assert_eq!(journal.known.len(), 3);
        let null = journal.find(&task("null"), &key()).expect("known");
        assert_eq!(null.result, Ok(json!(null)));
        assert_eq!(
            (null.source, null.attempts, null.seconds),
            (Source::Resumed, 2, 0.5)
        );
        let exit = journal.find(&task("exit"), &key()).expect("known");
        assert_eq!(exit.result, outcome(Err(FailureKind::Exit(9))).result);
        assert!(journal.find(&task("text"), &Digest::of(b"other")).is_none());
        assert!(journal.find(&task("other"), &key()).is_none());
    }

    #[test]
    fn p6_a_torn_last_line_is_cut_off_and_the_journal_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        written(&path);
        let whole = fs::read(&path).expect("read");
        for cut in 1..=whole.len() {
            fs::write(&path, &whole[..cut]).expect("written");
            let known = resume(&path, "p", "l").known.len();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(known, lines.saturating_sub(1), "cut at {cut}");
        }
        fs::write(&path, &whole[..whole.len() - 5]).expect("written");
        let journal = resume(&path, "p", "l");
        journal
            .note(&task("new"), &key(), &outcome(Ok(json!(1))))
            .expect("noted");
        let journal = resume(&path, "p", "l");
        assert!(journal.find(&task("new"), &key()).is_some());
        assert_eq!(journal.known.len(), 3);
    }

    #[test]
    fn nothing_is_taken_from_another_pipeline_and_no_failure_from_other_limits() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        written(&path);
        let journal = resume(&path, "p", "other");
        assert_eq!(journal.known.len(), 2);
        let failed = outcome(Err(FailureKind::Exit(7)));
        journal.note(&task("exit"), &key(), &failed).expect("noted");
        let journal = resume(&path, "p", "other");
        let exit = journal
            .find(&task("exit"), &key())
            .expect("of these limits");
        assert_eq!(exit.result, failed.result);
        assert_eq!(resume(&path, "other", "l").known.len(), 0);
        assert_eq!(resume(&path, "p", "l").known.len(), 0, "it was begun anew");
        written(&path);
        assert_eq!(begin(&path, "p", "l").known.len(), 0);
        for garbage in [&b""[..], b"\n", b"\xff\xfe", b"{}\n{}\n"] {
            fs::write(&path, garbage).expect("written");
            assert_eq!(resume(&path, "p", "l").known.len(), 0);
        }
    }
}
