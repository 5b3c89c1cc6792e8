//! How a case changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GUARD, loss};
use kelvin_record::{Direction, Metric};

/// What became of a case between base and head.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is better.
    Win,
    /// It is worse.
    Loss,
    /// It is as it was.
    Draw,
    /// All that it had is gone: it is now at the worst value there is, and was not.
    Regression,
    /// Only the head has it; shown and not gated.
    Added,
    /// Only the base has it: coverage that was lost.
    Removed,
    /// Its text is another; shown and not gated.
    Edited,
    /// One side has no value, or no variant with the same input.
    Unmeasured,
}

impl Change {
    /// How a case changed between two values.
    pub(super) fn between(metric: &Metric, base: f64, head: f64) -> Self {
        let direction = metric.direction;
        let (before, after) = (loss(direction, base), loss(direction, head));
        let worst = metric.range.low.map(|low| loss(direction, low));
        let gone = |loss: f64| worst.is_some_and(|worst| loss >= worst - GUARD);
        match after - before {
            drop if drop.abs() <= GUARD => Self::Draw,
            drop if drop < 0.0 => Self::Win,
            _ if direction == Direction::Higher && gone(after) && !gone(before) => Self::Regression,
            _ => Self::Loss,
        }
    }
}
