//! Runs a pipeline many times: stored answers are used again, failed calls may be repeated, and finished calls are
//! recorded. A failed invocation is a value, not an error. An error means that the run itself cannot continue, e.g.
//! because the disk is full or the output folder is locked.

mod beside;
mod cache;
pub mod config;
mod journal;
pub mod judge;
pub mod judging;
pub mod kept;
mod pool;
mod retry;
mod runner;
mod stored;
pub mod targets;
mod tools;
pub mod trace;
mod tree;

#[cfg(test)]
#[path = "../../fixtures/src/python.rs"]
pub mod python;
#[cfg(test)]
#[path = "../../fixtures/src/text.rs"]
pub mod text;

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::targets::Reply;
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, Streams};
use kelvin_base::usage::Usage;
use kelvin_system::pipeline::Made;

pub use beside::beside;
pub use journal::so_far;
pub use runner::{Program, Rules, Runner, RunnerSettings, Start, Step, calls_of_an_order};
pub use tree::{CALL, CONVERSATION, INPUTS, OUTPUT, Premises, folder_of};

/// The files that the pipeline itself created in the interrupted runs with these output folders.
pub fn made<'a>(outs: impl Iterator<Item = &'a PathBuf>) -> Made {
    outs.fold(Made::default(), |mut made, out| {
        made.join(journal::made(&tree::journal_of(out)));
        made
    })
}

/// Reads the value that a probe needs from an answer of the pipeline. Only this value is stored in memory, in the
/// journal and, for a large output, in the cache.
pub trait Reader: Sync {
    /// Identifies what the reader extracts from an output. Readers with different digests never use each other's stored
    /// answers.
    fn digest(&self) -> Digest;

    /// Reads the value that the probe needs from an answer.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the answer cannot be used. It then counts as a failed invocation.
    fn read(&self, output: &[u8], reply: &Reply) -> Result<Value, Failure>;

    /// The smallest output from which this reader extracts the same value.
    fn smallest(&self, value: &Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    /// The form in which an [`Outcome`] stores a value until the probe has read it. The tree of a large value takes
    /// several times the memory of its text, and there are thousands of answers.
    fn held(&self, value: Value) -> Value {
        value
    }

    /// The part of a value on which the results depend, by which two answers to the same input are compared. A time or an
    /// id that the pipeline adds differs at every call and decides nothing.
    fn compared(&self, value: Value) -> Value {
        value
    }

    /// Whether the cache may return an answer with this value to a later run. If the call had no result, it has to be
    /// repeated.
    fn may_be_kept(&self, value: &Value) -> bool {
        let _ = value;
        true
    }

    /// Whether the printed text of a successful call is stored with its answer. A run of many thousand calls would need
    /// some hundred megabytes for it.
    fn keeps_streams(&self) -> bool {
        false
    }

    /// Whether the answers may depend on the code of the pipeline. If they do not, they stay valid when that code
    /// changes, and also if it is not known whether it has changed.
    fn depends_on_code(&self) -> bool {
        true
    }

    /// Whether an [`OutputObserver`] sees the outputs. It judges the answers of a pipeline to single inputs.
    fn is_observed(&self) -> bool {
        true
    }

    /// Whether the answers come from a judge, whose cost is not counted as cost of the pipeline.
    fn is_of_a_judge(&self) -> bool {
        false
    }
}

/// One invocation to make: its input, and the folder of its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The name of the case.
    pub case: Arc<str>,
    /// The id of the variant; none for the baseline.
    pub variant: Option<Arc<str>>,
    /// The number of the repeat, from 1. Repeats after the first are never answered from the cache.
    pub repeat: usize,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = self.variant.as_deref().unwrap_or("baseline");
        write!(f, "{}/{variant}", self.case)?;
        if self.repeat > 1 {
            write!(f, ", repeat {}", self.repeat)?;
        }
        Ok(())
    }
}

/// The result of a task.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The value that the reader extracted from the output, or the failure.
    pub result: Result<Value, Box<Failure>>,
    /// The exit code of the last call; none if the call was stopped, or had no process.
    pub exit: Option<i32>,
    /// The last part of the text that a successful call printed, if the reader stores it. The text of a failed call is
    /// in the failure.
    pub streams: Option<Box<Streams>>,
    /// Where the answer came from.
    pub source: AnswerSource,
    /// How often the pipeline was called for the task.
    pub attempts: usize,
    /// How long the calls took, in seconds.
    pub seconds: f64,
    /// Whether the last call was the first answer of a process or service that stays in memory. The time of such a call
    /// includes starting, importing and loading.
    pub is_first: bool,
    /// The tokens that the calls used, if a model was called; an answer from the cache has the tokens of its original
    /// call.
    pub usage: Option<Box<Usage>>,
    /// The name of the model that answered, as reported by the server; none if no server reports one.
    pub served: Option<Box<str>>,
    /// The value that an [`OutputObserver`] extracted from the invocation; none without an observer.
    pub observed: Option<Box<Value>>,
}

impl Outcome {
    /// Reduces an answer to the data that are needed to recognise an equal answer.
    pub fn let_go(&mut self) {
        if let Ok(answer) = &mut self.result {
            let digest = Digest::of(answer.to_string().as_bytes());
            *answer = Value::String(digest.to_string());
        }
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSource {
    /// The pipeline was called.
    Called,
    /// The answer was in the cache.
    Cached,
    /// The answer was in the journal of an interrupted run.
    Resumed,
}

/// An event that a run reports while it is in progress. The command line shows it; it has no effect on the run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A phase begins: its name and how many invocations it has.
    Phase {
        /// `baselines` or `variants`.
        name: &'static str,
        /// The number of tasks.
        tasks: usize,
    },
    /// A task is over.
    Finished {
        /// The outcome of the task.
        outcome: &'a Outcome,
    },
    /// A call failed and is tried again.
    Retrying {
        /// The task.
        task: &'a Task,
        /// The number of the next attempt, from 2.
        attempt: usize,
        /// The seconds until the next attempt.
        delay: f64,
        /// The failure of the last attempt.
        failure: &'a Failure,
    },
    /// A remark that may interest a reader of the log.
    Remark {
        /// One line of text.
        text: &'a str,
    },
}

/// Receives the events of a run.
pub trait Observer: Sync {
    /// Called from any thread, in the order of the events.
    fn event(&self, event: &Event<'_>);
}

/// An observer that ignores every event.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// Locks an output folder and empties it. The lock is held until the value is dropped.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if the folder was not made by this program, or if another run has locked it.
pub fn claim(out: &Path) -> anyhow::Result<Claim> {
    let tree = tree::Tree::lock(out)?;
    tree.clear()?;
    Ok(Claim { _tree: tree })
}

/// The lock on an output folder.
#[derive(Debug)]
pub struct Claim {
    _tree: tree::Tree,
}

/// Extracts values from the invocations of other probes, for a kind of probe that runs no pipeline of its own.
pub trait OutputObserver: Sync {
    /// Identifies what the observer extracts from an invocation. The digest is part of the keys of the cache and of the
    /// journal: an answer that was stored without an observer, or with another one, is a miss.
    fn digest(&self) -> Digest;

    /// Extracts the needed value from a finished invocation: from the output of the pipeline, even if the reader of the
    /// probe cannot use it, or from the reply alone if the pipeline left no output. The value is never null, because a
    /// journal entry would then count as missing.
    fn observe(&self, output: Option<&[u8]>, reply: &Reply) -> Value;

    /// Receives the observed value of a task of a probe, whether the task was called now or its answer came from the
    /// cache or an interrupted run. Called from any thread; a task that is run again is passed again.
    fn keep(&self, probe: &'static str, task: &Task, input: Digest, observed: &Value);
}

/// An observer together with the name of the probe that it observes.
#[derive(Clone, Copy)]
pub struct Observing<'a> {
    /// The name of the probe.
    pub probe: &'static str,
    /// The observer.
    pub observer: &'a dyn OutputObserver,
}

/// The supervisor of the processes that the tests of this crate start.
#[cfg(test)]
mod supervisor {
    #[test]
    #[ignore = "the other tests start it"]
    fn of_the_tests() {
        crate::targets::serve_the_tests().expect("served");
    }
}
