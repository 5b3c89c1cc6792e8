//! Looks at every invocation of a probe, in addition to the reader of that probe. An output is in memory only while
//! that reader reads it, so another kind of probe that needs something of the same output has to read it at the same
//! time.

use serde_json::Value;

use super::Task;
use crate::targets::Reply;
use kelvin_base::digest::Digest;

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
