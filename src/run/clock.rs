//! The only clock: when a run started and how long it has taken.

use std::time::Instant;

/// Started once, read at the end.
#[derive(Debug)]
pub(crate) struct Clock {
    started_at: jiff::Timestamp,
    start: Instant,
}

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Self {
        Self {
            started_at: jiff::Timestamp::now(),
            start: Instant::now(),
        }
    }

    /// When it was started, RFC 3339 in UTC, to the second.
    pub(crate) fn started_at(&self) -> String {
        self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// Seconds since.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}
