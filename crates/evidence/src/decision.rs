//! Takes the decision from an output.

use serde_json::Value;

use super::EvidenceSettings;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::{DecisionField, answer};
use kelvin_run::Reader;
use kelvin_run::judge::Scorer;
use kelvin_run::targets::Reply;

/// The most bytes that a decision may have. Each decision is kept in memory and in the report for every call, and a
/// larger one is a text rather than a decision.
pub(crate) const LARGEST: usize = 64 * 1024;

/// Reads the field with the decision, and lets the scorer refuse a decision that it cannot compare.
pub struct DecisionReader<'a> {
    field: &'a DecisionField,
    scorer: &'a dyn Scorer,
}

impl<'a> DecisionReader<'a> {
    /// Reads the decision field of the settings.
    pub const fn new(settings: &'a EvidenceSettings, scorer: &'a dyn Scorer) -> Self {
        Self {
            field: &settings.decision_field,
            scorer,
        }
    }
}

impl Reader for DecisionReader<'_> {
    /// The scorer is not a part of the digest: a known output can be read again for another scorer.
    fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/reader/decision/v1");
        fields.field("field", self.field.as_str()).digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let decision = answer::find(output, self.field)?;
        // Apart from a few escapes, a decision takes no more bytes than the output that it stands in.
        if output.len() > LARGEST {
            let size = size(&decision);
            if size > LARGEST {
                let field = self.field.as_str();
                return Err(Failure::new(
                    FailureKind::DecisionRefused,
                    format!(
                        "the decision in `{field}` has {size} bytes, and {LARGEST} is the most that a decision \
                         has: name a field with the decision alone under `decision_field`"
                    ),
                ));
            }
        }
        match self.scorer.accepts(&decision) {
            Ok(()) => Ok(decision),
            Err(what) => Err(Failure::new(
                FailureKind::DecisionRefused,
                format!("the decision in `{}` is {what}", self.field.as_str()),
            )),
        }
    }

    fn smallest(&self, decision: &Value) -> Vec<u8> {
        answer::smallest(decision, self.field)
    }
}

/// How many bytes a value takes as JSON, counted without writing them.
fn size(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Every JSON value can be written as JSON, and the counter never fails.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}
