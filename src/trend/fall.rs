//! When a figure got worse by enough to be named.

use serde::Serialize;

use kelvin_record::{Direction, Metric};

/// How much worse a mean has to be, as a share of the scale of its metric.
pub(crate) const LEAST: f64 = 0.05;
/// In binary, .80 - .75 is a little more than .05 and .85 - .80 a little less. Both are no fall.
const GUARD: f64 = 1e-9;

/// How the values of a metric are read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Scale {
    /// Which way is better.
    pub(crate) direction: Direction,
    /// The lowest and the highest value; none where one of them is open, as that of a count.
    pub(crate) ends: Option<(f64, f64)>,
    /// Below this a value is poor whatever it was before; none where the metric has no such bound.
    pub(crate) poor_below: Option<f64>,
}

impl Scale {
    /// That of a metric.
    pub(super) fn of(metric: &Metric) -> Self {
        Self {
            direction: metric.direction,
            ends: metric.ends(),
            poor_below: metric.poor_below,
        }
    }

    /// By how much a value is worse than another one, as a share of the scale; below zero where it is better,
    /// and none where there is no scale.
    pub(crate) fn worse_by(&self, before: f64, now: f64) -> Option<f64> {
        let (low, high) = self.ends?;
        let worse = match self.direction {
            Direction::Higher => before - now,
            Direction::Lower => now - before,
        };
        Some(worse / (high - low))
    }

    /// Whether a value is poor whatever it was before.
    pub(crate) fn is_poor(&self, value: f64) -> bool {
        self.poor_below.is_some_and(|bound| value < bound - GUARD)
    }
}

/// Whether a figure that is worse by this share of its scale has fallen.
pub(crate) fn is_fall(worse_by: f64) -> bool {
    worse_by > LEAST + GUARD
}
