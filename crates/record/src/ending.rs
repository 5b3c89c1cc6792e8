//! The two sides of a comparison, and how a run ended.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedSide {
    /// What the change is compared with.
    Base,
    /// The change.
    Head,
}

impl fmt::Display for ComparedSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Head => "head",
        })
    }
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every invocation was made.
    Complete,
    /// A signal, or a person who was asked, stopped the run; the report has what was finished.
    Interrupted,
    /// Inputs were written and nothing was run.
    DryRun,
    /// Every baseline invocation failed.
    Failed,
    /// The code of the pipeline changed while it ran: which code gave which answer is not known.
    Changed,
}
