//! The limits of a configuration on the calls of a model.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What bounds the calls of a model in one run of the program, whatever makes the calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallLimits {
    /// The most calls, further attempts included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_calls: Option<u64>,
    /// No call begins once so many tokens were used, those that are sent and those that are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub max_tokens: Option<u64>,
    /// No call begins once the calls have cost so many US dollars. It needs `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0))]
    pub usd: Option<f64>,
    /// How many calls are under way at the same time. Without it: `jobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: Option<NonZeroUsize>,
}

impl CallLimits {
    /// Whether there are no limits.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
