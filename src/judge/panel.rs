//! Several scores that become one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats;

/// How several scores become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Reducer {
    /// Their mean.
    #[default]
    Mean,
    /// The one in the middle; the mean of the two in the middle.
    Median,
    /// The one that was given most often; the mean of those that were given equally often.
    Majority,
}
