//! Checks that the pipeline took no longer than allowed.

use super::{Check, CheckFinding, EarlyEnd};
use crate::keys::LatencyKeys;
use crate::scene::Scene;

/// Tests the time of the call.
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
        // The time itself is reported only if it was too long, so that two equal runs have the same text.
        Ok(match took <= most {
            true => CheckFinding::of(true, format!("took no longer than {most} s")),
            false => CheckFinding::of(
                false,
                format!("took {took:.2} s, expected at most {most} s"),
            ),
        })
    }
}
