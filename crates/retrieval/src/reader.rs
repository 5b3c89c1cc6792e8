//! Takes the hits and the answer from an output.

use serde_json::Value;

use super::output::Output;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::answer;
use kelvin_run::Reader;
use kelvin_run::targets::Reply;

/// Takes the whole output, where the retrieval probe can read it: which parts of it are judged
/// depends on the query.
pub(crate) struct HitsReader;

impl Reader for HitsReader {
    fn digest(&self) -> Digest {
        Fields::of("kelvin/reader/hits/v1").digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let output = answer::whole(output)?;
        match Output::read(&output) {
            Ok(_) => Ok(output),
            Err(what) => Err(Failure::new(
                FailureKind::DecisionRefused,
                format!("its output {what}"),
            )),
        }
    }
}
