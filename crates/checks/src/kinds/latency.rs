//! Checks that the pipeline took no longer than it may.

use super::{Check, CheckFinding, EarlyEnd};
use crate::keys::LatencyKeys;
use crate::scene::Scene;

/// Looks at the time of the call.
#[derive(Debug)]
pub(super) struct Latency {
    most: f64,
}

impl Latency {
    pub(super) const fn of(keys: &LatencyKeys) -> Self {
        Self { most: keys.max_s }
    }
}

impl Check for Latency {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (most, took) = (self.most, scene.seconds);
        // The time itself is told only where it was too long, so that two equal runs say the same.
        Ok(match took <= most {
            true => CheckFinding::of(true, format!("took no longer than {most} s")),
            false => CheckFinding::of(
                false,
                format!("took {took:.2} s, expected at most {most} s"),
            ),
        })
    }
}
