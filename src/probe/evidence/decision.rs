//! Takes the decision from an output.

use serde_json::Value;

use super::EvidenceSettings;
use crate::digest::{Digest, Fields};
use crate::judge::Scorer;
use crate::probe::{DecisionField, answer};
use crate::run::{Failure, FailureKind, Reader};
use crate::target::Reply;

/// Reads the field that holds the decision, and lets the scorer refuse what it cannot compare.
pub(crate) struct DecisionReader<'a> {
    field: &'a DecisionField,
    scorer: &'a dyn Scorer,
}

impl<'a> DecisionReader<'a> {
    /// Reads the decision field of the settings.
    pub(crate) const fn new(settings: &'a EvidenceSettings, scorer: &'a dyn Scorer) -> Self {
        Self {
            field: &settings.decision_field,
            scorer,
        }
    }
}

impl Reader for DecisionReader<'_> {
    /// The scorer is no part of it: an output that is known already can be read for another scorer.
    fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/reader/decision/v1");
        fields.field("field", self.field.as_str()).digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let decision = answer::find(output, self.field)?;
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
