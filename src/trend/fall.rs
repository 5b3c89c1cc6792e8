//! Defines when a figure counts as fallen.

use serde::Serialize;

use kelvin_record::{Direction, Metric};

/// A mean counts as fallen if it is worse by more than this share of the scale of its metric.
pub(crate) const LEAST_FALL: f64 = 0.05;
/// With binary numbers, .80 - .75 is slightly more than .05, and .85 - .80 slightly less. Neither must count as a fall.
const GUARD: f64 = 1e-9;

/// How to read the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct MetricScale {
    /// Whether higher or lower is better.
    pub(crate) direction: Direction,
    /// The lowest and the highest possible value; none if one of them is unlimited, as for a count.
    pub(crate) ends: Option<(f64, f64)>,
    /// A value below this limit is poor, whatever the earlier value was; none if the metric has no such limit.
    pub(crate) poor_below: Option<f64>,
}

impl MetricScale {
    /// The scale of a metric.
    pub(super) fn of(metric: &Metric) -> Self {
        Self {
            direction: metric.direction,
            ends: metric.ends(),
            poor_below: metric.poor_below,
        }
    }

    /// By how much a value is worse than an earlier one, as a share of the scale; negative if it is better, and none if
    /// there is no scale.
    pub(crate) fn worse_by(&self, before: f64, now: f64) -> Option<f64> {
        let (low, high) = self.ends?;
        let worse = match self.direction {
            Direction::Higher => before - now,
            Direction::Lower => now - before,
        };
        Some(worse / (high - low))
    }

    /// Whether a value is poor, whatever the earlier value was.
    pub(crate) fn is_poor(&self, value: f64) -> bool {
        self.poor_below.is_some_and(|bound| value < bound - GUARD)
    }
}

/// Whether a figure that is worse by this share of its scale counts as fallen.
pub(crate) fn is_fall(worse_by: f64) -> bool {
    worse_by > LEAST_FALL + GUARD
}
