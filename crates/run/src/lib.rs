//! Runs a pipeline many times: stored answers are not asked for again, failed calls may be tried again, and
//! finished calls are remembered. A failed invocation is a value, not an error. An error means that
//! the run itself cannot go on, because the disk is full or the output folder is locked.

mod cache;
pub mod config;
mod journal;
pub mod judge;
pub mod judging;
pub mod kept;
mod pool;
mod retry;
mod runner;
pub mod stored;
pub mod targets;
mod tools;
pub mod trace;
mod tree;

#[cfg(test)]
#[path = "../../fixtures/src/python.rs"]
pub mod python;

use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::targets::Reply;
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, Streams};
use kelvin_base::usage::Usage;
use kelvin_system::pipeline::Made;

pub use journal::so_far;
pub use runner::{Program, Rules, Runner, RunnerSettings, Start, Step};
pub use tree::{CALL, CONVERSATION, INPUTS, OUTPUT, Premises, folder_of};

/// The files that the pipeline itself created in the interrupted runs with these output folders.
pub fn made<'a>(outs: impl Iterator<Item = &'a PathBuf>) -> Made {
    outs.fold(Made::default(), |mut made, out| {
        made.join(journal::made(&tree::journal_of(out)));
        made
    })
}

/// Reads from the answers of the pipeline what a probe needs. A run keeps only that in memory, in the
/// journal and, for a large output, in the cache.
pub trait Reader: Sync {
    /// Identifies what the reader takes from an output. Readers with different digests never get the
    /// stored answers of each other.
    fn digest(&self) -> Digest;

    /// Reads the value that the probe needs from an answer.
    ///
    /// # Errors
    ///
    /// Why the answer is of no use. It then counts as a failed invocation.
    fn read(&self, output: &[u8], reply: &Reply) -> Result<Value, Failure>;

    /// The smallest output from which this reader takes the same value.
    fn smallest(&self, value: &Value) -> Vec<u8> {
        value.to_string().into_bytes()
    }

    /// The form of a value that an [`Outcome`] holds until the probe has read it. The tree of a large value takes several
    /// times the memory of its text, and there are thousands of answers.
    fn held(&self, value: Value) -> Value {
        value
    }

    /// Whether the cache may give an answer with this value to a later run. An answer that found out
    /// nothing has to be asked for again.
    fn may_be_kept(&self, value: &Value) -> bool {
        let _ = value;
        true
    }

    /// Whether the printed text of a successful call is kept with its answer. A run of many thousand
    /// calls would need some hundred megabytes for it.
    fn keeps_streams(&self) -> bool {
        false
    }

    /// Whether the answers may depend on the code of the pipeline. Where they do not, they are kept when
    /// that code changes, and also where nobody can tell whether it has changed.
    fn depends_on_code(&self) -> bool {
        true
    }

    /// Whether an [`OutputObserver`] is shown the outputs. It judges answers of a pipeline to one input each.
    fn is_observed(&self) -> bool {
        true
    }

    /// Whether the answers are those of a judge: their cost is not counted as cost of the pipeline.
    fn is_of_a_judge(&self) -> bool {
        false
    }
}

/// One invocation to make: which input, and where its files go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The name of the case.
    pub case: Arc<str>,
    /// The id of the variant; none for the baseline.
    pub variant: Option<Arc<str>>,
    /// The number of the repeat, from 1. A repeat is never answered by the cache.
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
    /// The value that the reader took from the output, or the failure.
    pub result: Result<Value, Box<Failure>>,
    /// The exit code of the last call; none where the call was stopped, or had no process.
    pub exit: Option<i32>,
    /// The ends of what a successful call printed, where the reader keeps them. Those of a failed
    /// call are in the failure.
    pub streams: Option<Box<Streams>>,
    /// Where the answer came from.
    pub source: AnswerSource,
    /// How often the pipeline was called for it.
    pub attempts: usize,
    /// How long the calls took, in seconds.
    pub seconds: f64,
    /// Whether a process or a service that stays had answered nothing before the last call, so that its time has what is
    /// started, imported and loaded once.
    pub is_first: bool,
    /// The tokens that the calls used, where a model was called; an answer from the cache has the tokens of
    /// its original call.
    pub usage: Option<Box<Usage>>,
    /// The name of the model that the server says has answered; none where nobody says one.
    pub served: Option<Box<str>>,
    /// The value that an [`OutputObserver`] took from the invocation; none where nobody observes it.
    pub observed: Option<Box<Value>>,
}

impl Outcome {
    /// Keeps of an answer no more than what tells whether another answer is the same.
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
    /// The cache had it.
    Cached,
    /// An interrupted run had it.
    Resumed,
}

/// What a run reports while it goes on. The command line shows it, and nothing depends on it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A phase begins: its name and how many invocations it has.
    Phase {
        /// `baselines` or `variants`.
        name: &'static str,
        /// How many tasks.
        tasks: usize,
    },
    /// A task is over.
    Finished {
        /// Which one.
        task: &'a Task,
        /// What became of it.
        outcome: &'a Outcome,
    },
    /// A call failed and is tried again.
    Retrying {
        /// Which one.
        task: &'a Task,
        /// The attempt that comes, from 2.
        attempt: usize,
        /// Seconds until then.
        delay: f64,
        /// Why.
        failure: &'a Failure,
    },
    /// Something that a reader of the log may want to know.
    Remark {
        /// A line.
        text: &'a str,
    },
}

/// Receives the events of a run.
pub trait Observer: Sync {
    /// Called from any thread, in the order in which things happen.
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
/// A [`Misuse`](kelvin_base::exit::Misuse) where the folder is not ours or a run holds it.
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

/// Takes values from the invocations of other probes, for a kind of probe that runs nothing of its own.
pub trait OutputObserver: Sync {
    /// Identifies what the observer takes from an invocation. The digest is part of the keys of the cache and of
    /// the journal: an answer that was stored without an observer, or with another one, is a miss.
    fn digest(&self) -> Digest;

    /// Takes what is needed from a finished invocation: from the output of the pipeline, even where
    /// the reader of the probe cannot use it, or from the reply alone where the pipeline left no
    /// output. The value is never null, which would be no entry in a journal.
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
