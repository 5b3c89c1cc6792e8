//! Decides when the next call may be made, by the limits of a model and by the rate limit. The rate limit spreads the
//! starts evenly over the minute, across all jobs.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Runner;
use crate::targets::{Admission, Pass};
use kelvin_base::usage::Usage;
use kelvin_system::signal::Interrupt;

impl Runner<'_> {
    /// Waits until the limits allow another call with this input. None if no more calls may be made.
    pub(super) fn may_start(&self, input: &str) -> Option<Permit<'_>> {
        if self.memory.is_broken() {
            return None;
        }
        let pass = match self
            .target
            .meter()
            .map(|meter| meter.enter(&self.interrupt))
        {
            None => None,
            Some(Admission::Go(pass)) => Some(pass),
            Some(Admission::Interrupted) => return None,
            Some(Admission::Spent(failure)) => {
                // Every thread reaches the same limit; the first one stores the reason.
                let _ = self.spent.set(failure.message);
                return None;
            }
        };
        let goes_on = match &self.pace {
            // For the rate limit, each turn of a conversation counts as a call.
            Some(pace) => {
                let turns = self.settings.rules.turns.as_ref();
                let starts = turns.map_or(1, |place| place.count(input));
                (0..starts).all(|_| pace.wait(&self.interrupt))
            }
            None => !self.interrupted(),
        };
        goes_on.then_some(Permit(pass))
    }
}

/// The permission to make one call; for a model it contains the pass of its meter.
pub(super) struct Permit<'m>(Option<Pass<'m>>);

impl Permit<'_> {
    /// Records that the call was made.
    pub(super) fn used(self, usage: Option<Usage>) {
        if let Some(pass) = self.0 {
            pass.used(usage);
        }
    }
}

/// Assigns the times at which invocations may start.
#[derive(Debug)]
pub(super) struct Pace {
    step: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// A pace with at most this many starts per minute.
    pub(super) fn of(per_minute: NonZeroUsize) -> Self {
        let per_minute = u32::try_from(per_minute.get()).unwrap_or(u32::MAX);
        Self {
            step: Duration::from_secs(60) / per_minute,
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits for the next start. Returns false after an interruption.
    pub(super) fn wait(&self, interrupt: &Interrupt) -> bool {
        let start = {
            let mut next = self.next.lock().expect("nobody panics while holding it");
            // An unused start is lost. If unused starts were saved, many calls would start at once after a pause.
            let start = (*next).max(Instant::now());
            *next = start + self.step;
            start
        };
        interrupt.sleep(start.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn starts_keep_their_distance_across_jobs() {
        let pace = Pace::of(6000.try_into().expect("not zero"));
        let interrupt = Interrupt::apart();
        thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| assert!(pace.wait(&interrupt))));
            }
        });
        // 20 starts, the first at once: 19 steps of 10 ms.
        assert!(start.elapsed() >= Duration::from_millis(190));
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let pace = Pace::of(1.try_into().expect("not zero"));
        let interrupt = Interrupt::apart();
        assert!(pace.wait(&interrupt));
        interrupt.trip();
        let start = Instant::now();
        assert!(!pace.wait(&interrupt));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
