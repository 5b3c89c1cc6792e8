//! Takes the loudness from what the pipeline has written.

use serde_json::Value;

use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_run::Reader;
use kelvin_run::targets::Reply;

/// Takes a number from an output.
pub(super) struct NumberReader;

impl Reader for NumberReader {
    fn digest(&self) -> Digest {
        Digest::of(b"toy/number/v1")
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        serde_json::from_slice(output)
            .ok()
            .filter(Value::is_number)
            .ok_or_else(|| Failure::new(FailureKind::OutputNotJson, "its output is no number"))
    }
}
