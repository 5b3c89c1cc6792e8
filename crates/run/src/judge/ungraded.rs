//! Why a sample has no grade.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::failure::{Failure, FailureKind};

/// Why a sample is unscored. It is counted and listed, and it is in no mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ungraded {
    /// What kind of reason it is.
    pub code: UngradedCode,
    /// The same for a person, with what was found.
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
    /// What stands for the score is none: another type, no number, outside of 0 to 1, no choice.
    Invalid,
    /// What the embedder answered are not two vectors that can be compared.
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
