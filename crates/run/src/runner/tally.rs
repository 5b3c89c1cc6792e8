//! Counts the calls of a run on all threads.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::{AnswerSource, Outcome};
use kelvin_base::cost::Cost;
use kelvin_base::usage::Usage;

/// Counters that all threads add to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    invocations: AtomicUsize,
    retries: AtomicUsize,
    cache_hits: AtomicUsize,
    resumed: AtomicUsize,
    nanoseconds: AtomicU64,
    /// The tokens that the calls of this run used, and the tokens of all its answers, including stored ones.
    usage: Mutex<[Option<Usage>; 2]>,
}

impl Tally {
    /// Counts a call.
    pub(super) fn called(&self, time: Duration, attempt: usize, usage: Option<Usage>) {
        self.invocations.fetch_add(1, Ordering::Relaxed);
        self.retries
            .fetch_add(usize::from(attempt > 1), Ordering::Relaxed);
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(time, Ordering::Relaxed);
        self.add(0, usage);
    }

    /// Counts the source of an outcome.
    pub(super) fn finished(&self, outcome: &Outcome) {
        self.add(1, outcome.usage.as_deref().copied());
        let counter = match outcome.source {
            AnswerSource::Called => return,
            AnswerSource::Cached => &self.cache_hits,
            AnswerSource::Resumed => &self.resumed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn add(&self, to: usize, usage: Option<Usage>) {
        if usage.is_some() {
            let mut sums = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            sums[to] = Usage::sum(sums[to], usage);
        }
    }

    /// The totals so far.
    pub(super) fn cost(&self) -> Cost {
        let time = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        let [usage, usage_of_answers] = *self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        Cost {
            invocations: self.invocations.load(Ordering::Relaxed),
            cache_hits: self.cache_hits.load(Ordering::Relaxed),
            resumed: self.resumed.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            pipeline_seconds: time.as_secs_f64(),
            usage,
            usage_of_answers,
        }
    }
}
