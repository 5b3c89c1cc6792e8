//! Why a sample has no grade, and the share of such samples above which a figure has no meaning.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::failure::{Failure, FailureKind};

/// Why a sample is unscored. Such a sample is counted and listed, and it is in no mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ungraded {
    /// The kind of the reason.
    pub code: UngradedCode,
    /// The reason in words for people, with what was found.
    pub text: String,
}

/// The kinds of reasons.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UngradedCode {
    /// A call of the judge failed: a status, a timeout, a cut connection, an answer that is too large.
    CallFailed,
    /// The run ended before the judge was asked.
    NotAsked,
    /// The answer holds no JSON object that can be read.
    Unreadable,
    /// The answer holds more than one JSON object.
    Ambiguous,
    /// The object has no score.
    Missing,
    /// The score is not valid: another type, not a number, outside of 0 to 1, or not a choice.
    Invalid,
    /// The embedder did not answer with two vectors that can be compared.
    Vectors,
    /// The judge compares with a reference, and there is none.
    NoReference,
    /// The judge grades by criteria, and there are none.
    NoCriteria,
    /// The judge looks into the retrieved passages, and they are not known.
    NoPassages,
}

impl Ungraded {
    /// A reason, in words that fit after "unscored:".
    pub fn new(code: UngradedCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }
}

/// A failed call gives no grade; the reason is stored.
impl From<&Failure> for Ungraded {
    fn from(failure: &Failure) -> Self {
        let code = match failure.kind {
            FailureKind::GradeUnreadable => UngradedCode::Unreadable,
            FailureKind::GradeAmbiguous => UngradedCode::Ambiguous,
            FailureKind::GradeMissing => UngradedCode::Missing,
            FailureKind::GradeInvalid => UngradedCode::Invalid,
            FailureKind::VectorsUnusable => UngradedCode::Vectors,
            _ => UngradedCode::CallFailed,
        };
        Self::new(code, failure.message.clone())
    }
}

impl fmt::Display for Ungraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The share of samples that may be unscored. With more of them the metric is unmeasured: those that a judge can grade
/// are rarely a fair sample of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct MaxErrors(#[schemars(range(min = 0, max = 1))] f64);

impl Default for MaxErrors {
    fn default() -> Self {
        Self(0.1)
    }
}

impl MaxErrors {
    /// Why a metric is unmeasured; none if it is measured. If there is no answer to grade, the metric is unmeasured
    /// too.
    pub fn exceeded(self, unscored: usize, of: usize) -> Option<String> {
        if of == 0 {
            return Some("there is nothing to grade".to_owned());
        }
        // The tolerance is for the rounding of the product: one of ten is not more than 10 %.
        let most = self.0 * of as f64 + 1e-9;
        let too_many = unscored == of || unscored as f64 > most;
        too_many.then(|| {
            let are = if unscored == 1 { "is" } else { "are" };
            format!(
                "{unscored} of {of} samples {are} unscored, more than `max_errors` ({} %) allows",
                self.0 * 100.0
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_with_more_unscored_samples_than_allowed_is_unmeasured() {
        let usual = MaxErrors::default();
        assert_eq!(usual.exceeded(0, 3), None);
        assert_eq!(usual.exceeded(1, 10), None);
        assert_eq!(usual.exceeded(3, 30), None);
        insta::assert_snapshot!(usual.exceeded(2, 10).as_deref().expect("it is told"), @"2 of 10 samples are unscored, more than `max_errors` (10 %) allows");
        assert!(usual.exceeded(1, 9).is_some());
        assert!(MaxErrors(0.0).exceeded(1, 1000).is_some());
    }

    #[test]
    fn nothing_scored_is_never_measured_whatever_is_allowed() {
        assert_eq!(MaxErrors(1.0).exceeded(4, 5), None);
        assert!(MaxErrors(1.0).exceeded(5, 5).is_some());
        assert!(MaxErrors(1.0).exceeded(0, 0).is_some());
    }
}
