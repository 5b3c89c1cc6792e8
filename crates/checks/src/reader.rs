//! Takes from the answer of a scenario what the checks have said.

use serde::Deserialize as _;
use serde_json::Value;

use super::record::{Outcome, ScenarioAnswer};
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_run::Reader;
use kelvin_run::targets::Reply;

/// Takes the whole answer.
pub(super) struct ScenarioReader {
    /// The digest of everything that the checks depend on: an answer of other checks is of no use for these.
    pub(super) digest: Digest,
}

impl Reader for ScenarioReader {
    fn digest(&self) -> Digest {
        self.digest
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let answer: Result<ScenarioAnswer, _> = serde_json::from_slice(output);
        let answer = answer.and_then(serde_json::to_value);
        answer.map_err(|error| {
            let what = format!("what the checks have said cannot be read: {error}");
            Failure::new(FailureKind::OutputNotJson, what)
        })
    }

    /// An answer with an error in it is asked for again: the cause may be gone by then.
    fn may_be_kept(&self, value: &Value) -> bool {
        let answer = ScenarioAnswer::deserialize(value);
        answer.is_ok_and(|answer| {
            let mut checks = answer.checks.iter();
            // A check that waits for a judge is an error only until the judge has graded.
            checks.all(|(name, check)| {
                check.outcome != Outcome::Error || answer.to_judge.contains_key(name)
            })
        })
    }
}
