//! The task that a model is given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Mode {
    /// How good the response is, next to the reference.
    #[default]
    Reference,
    /// How well the response satisfies the criteria; there is no reference.
    Criteria,
    /// Which of the two is better: 1 for the response, 0 for the reference, 0.5 for a tie.
    Pairwise,
    /// Whether the two mean the same.
    Equivalence,
}
