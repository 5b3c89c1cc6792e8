//! Looks at every invocation of a probe beside the reader of that probe. The output is in memory only
//! where the reader takes what its probe needs of it, so whoever needs something else of the same output
//! has to look there too.

use serde_json::Value;

use super::Task;
use crate::targets::Reply;
use kelvin_base::digest::Digest;

/// Takes from every invocation what a kind of probe needs that runs nothing of its own.
pub trait OutputObserver: Sync {
    /// Tells apart what observers take from an invocation. It is a part of the keys of the cache and of
    /// the journal: an answer that was stored without an observer, or with another one, is a miss.
    fn digest(&self) -> Digest;

    /// Takes what is needed from an invocation that has come to its end: from the output of the pipeline
    /// itself, also where the reader of the probe can make nothing of it; or from the reply alone, where
    /// the pipeline left no output. Never null, which would be no entry in a journal.
    fn observe(&self, output: Option<&[u8]>, reply: &Reply) -> Value;

    /// Is given what was observed of a task of a probe, whether it was called now or was known from the
    /// cache or an interrupted run. Called from any thread; a task that is run again comes again.
    fn keep(&self, probe: &'static str, task: &Task, input: Digest, observed: &Value);
}

/// An observer together with the name of the probe that it observes.
#[derive(Clone, Copy)]
pub struct Observing<'a> {
    /// The name of the probe.
    pub probe: &'static str,
    /// Who observes it.
    pub observer: &'a dyn OutputObserver,
}
