//! A period of time, and the one before it.

use kelvin_base::calendar;

/// The fewest and the most weeks of a plot.
const WEEKS: (usize, usize) = (8, 26);

/// From one time up to another, which is excluded; in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// The beginning.
    pub(crate) since: i64,
    /// The end, which is excluded.
    pub(crate) until: i64,
}

impl Period {
    /// The period of the same length before this one.
    pub(crate) const fn before(self) -> Self {
        Self {
            since: self.since - (self.until - self.since),
            until: self.since,
        }
    }

    /// Whether a time lies in the period.
    pub(crate) const fn has(self, at: i64) -> bool {
        self.since <= at && at < self.until
    }

    /// The beginnings of the weeks in a plot: both periods, and at least eight weeks, so that two plots can be
    /// compared.
    pub(super) fn weeks(self) -> Vec<i64> {
        const WEEK: i64 = 7 * 24 * 60 * 60;
        let last = calendar::monday(self.until - 1);
        let first = calendar::monday(self.before().since);
        let wanted = usize::try_from((last - first) / WEEK + 1).unwrap_or(WEEKS.1);
        let count = wanted.clamp(WEEKS.0, WEEKS.1);
        let back = (0..count).rev();
        back.map(|weeks| last - weeks as i64 * WEEK).collect()
    }
}
