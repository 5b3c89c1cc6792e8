//! The rate limit: starts are spread evenly over the minute, across all jobs.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kelvin_system::signal::Interrupt;

/// Gives out the moments at which invocations may start.
#[derive(Debug)]
pub(super) struct Pace {
    step: Duration,
    next: Mutex<Instant>,
}

impl Pace {
    /// A pace with at most this many starts within a minute.
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
            // A start that nobody used is lost. If unused starts were kept, a pause would end in a burst.
            let start = (*next).max(Instant::now());
            *next = start + self.step;
            start
        };
        interrupt.sleep(start.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

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
