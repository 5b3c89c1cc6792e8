//! Checks that the pipeline took no longer than allowed.

use super::{Check, CheckFinding, EarlyEnd};
use crate::keys::LatencyKeys;
use crate::scene::Scene;

impl Check for LatencyKeys {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (most, took) = (self.max_s, scene.seconds);
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
