//! Runs the pipeline: threads and processes, nothing else. A failed invocation is a value, not an
//! error; an error means that the run itself cannot go on (no disk, no lock).

mod answer;
mod cache;
mod clock;
mod command;
mod journal;
pub(crate) mod kept;
mod keys;
mod lookup;
mod open_files;
mod pace;
mod pool;
mod private;
mod retry;
mod runner;
mod setup;
mod signal;
mod tail;
mod template;
mod tree;
mod watch;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use clock::Clock;
pub(crate) use lookup::{free_bytes, look_up};
pub(crate) use runner::{Runner, Settings, Start};
pub(crate) use setup::setup;

/// The system under test, invoked on one input.
pub(crate) trait Pipeline: Sync {
    /// Reads the input file and writes the output file, or says why it did not.
    fn run(&self, invocation: &Invocation<'_>) -> Ended;
}

impl<F: Fn(&Invocation<'_>) -> Ended + Sync> Pipeline for F {
    fn run(&self, invocation: &Invocation<'_>) -> Ended {
        self(invocation)
    }
}

/// The two files of one call of the pipeline; absolute.
#[derive(Debug)]
pub(crate) struct Invocation<'a> {
    /// What it reads.
    pub(crate) input: &'a Path,
    /// What it writes; does not exist before the call.
    pub(crate) output: &'a Path,
    /// Which run of this input it is, from 1; the pipeline sees it as `KELVIN_REPEAT`.
    pub(crate) repeat: usize,
    /// Another text for every repeat of an input, and the same for the same one; the pipeline sees
    /// it as `KELVIN_SAMPLE`.
    pub(crate) sample: &'a str,
}

/// How one call of the pipeline ended, before its output is read.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With exit code 0.
    Done(Captured),
    /// Otherwise.
    Failed(FailureKind, Captured),
    /// Never: it could not be started, and why.
    NotStarted(String),
    /// Killed because the run was interrupted: neither an answer nor a failure.
    Interrupted,
}

/// The ends of what a call printed; lossy UTF-8, at most the last 20 lines or 4 KiB each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Captured {
    /// The end of its standard output.
    pub(crate) stdout: String,
    /// The end of its standard error.
    pub(crate) stderr: String,
}

/// What went wrong with an invocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// It exited with this code.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was killed after the timeout.
    Timeout,
    /// It could not be started, e.g. the program was not found.
    NotStarted,
    /// It ended well and left no output file.
    OutputMissing,
    /// The output is not a regular file, or could not be read.
    OutputUnreadable,
    /// The output is larger than allowed.
    OutputTooLarge,
    /// The output is not JSON.
    OutputNotJson,
    /// The output is JSON, but not an object.
    OutputNotObject,
    /// The object has no decision field.
    DecisionMissing,
    /// The scorer cannot compare this decision, e.g. a list.
    DecisionRefused,
}

/// A failed invocation; scored as nothing, counted, shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Failure {
    /// What went wrong.
    pub(crate) kind: FailureKind,
    /// The same for a person, with what was found.
    pub(crate) message: String,
    /// The end of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stderr: String,
    /// The end of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) stdout: String,
}

/// One invocation to make: which input, and where its files go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Task {
    /// The name of the case.
    pub(crate) case: Arc<str>,
    /// The id of the variant; none for the baseline.
    pub(crate) variant: Option<Arc<str>>,
    /// From 1. A repeat is never answered by the cache.
    pub(crate) repeat: usize,
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

/// What became of a task.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The decision, or why there is none.
    pub(crate) result: Result<Value, Box<Failure>>,
    /// Where the answer came from.
    pub(crate) source: Source,
    /// How often the pipeline was called for it.
    pub(crate) attempts: usize,
    /// How long the calls took, in seconds.
    pub(crate) seconds: f64,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The pipeline was called.
    Called,
    /// The cache had it.
    Cached,
    /// An interrupted run had it.
    Resumed,
}

/// What a run took; the part of a report in which two equal runs may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Cost {
    /// Calls of the pipeline, further attempts included.
    pub(crate) invocations: usize,
    /// Answers that came from the cache.
    pub(crate) cache_hits: usize,
    /// Answers that an interrupted run had left.
    pub(crate) resumed: usize,
    /// Calls that were further attempts.
    pub(crate) retries: usize,
    /// Seconds spent in calls, added up over all jobs.
    pub(crate) pipeline_seconds: f64,
}

impl Cost {
    /// The cost of two together.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            invocations: self.invocations + other.invocations,
            cache_hits: self.cache_hits + other.cache_hits,
            resumed: self.resumed + other.resumed,
            retries: self.retries + other.retries,
            pipeline_seconds: self.pipeline_seconds + other.pipeline_seconds,
        }
    }
}

/// What a run tells while it goes on; the command line shows it, nothing depends on it.
#[derive(Debug)]
pub(crate) enum Event<'a> {
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
}

/// Somebody who is told what happens.
pub(crate) trait Observer: Sync {
    /// Called from any thread, in the order in which things happen.
    fn event(&self, event: &Event<'_>);
}

/// Nobody.
pub(crate) struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// Takes hold of an output folder and empties it; it is ours until the value is dropped.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the folder is not ours or a run holds it.
pub(crate) fn claim(out: &Path) -> anyhow::Result<Claim> {
    let tree = tree::Tree::lock(out)?;
    tree.clear()?;
    Ok(Claim { _tree: tree })
}

/// Holds an output folder.
#[derive(Debug)]
pub(crate) struct Claim {
    _tree: tree::Tree,
}

/// From here on a signal that asks to stop is noted, and ends whatever waits, rather than the
/// process: a prompt can put the terminal back as it was.
///
/// # Errors
///
/// Where the handlers cannot be installed.
pub(crate) fn heed_signals() -> anyhow::Result<()> {
    signal::Interrupt::of_process().map(|_| ())
}

/// Sleeps, but not past a signal that asks to stop. Whether it slept to the end.
pub(crate) fn rest(time: std::time::Duration) -> bool {
    match signal::Interrupt::of_process() {
        Ok(interrupt) => interrupt.sleep(time),
        Err(_) => {
            std::thread::sleep(time);
            true
        }
    }
}
