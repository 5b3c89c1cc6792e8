//! An item that a change made worse, described by its answers instead of a figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An item in which answers went wrong that were right on the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The metric that got worse by it.
    pub metric: String,
    /// The item.
    pub item: String,
    /// What the answers ought to have done.
    pub ought: Ought,
    /// In so many parts of the item the answer is the one of `head`: where it ought to hold, and was the one
    /// of `base`; where it ought to move, and did move on the base.
    pub flipped: usize,
    /// So many parts of the item ought to do the same, and were asked on both sides.
    pub of: usize,
    /// One of those that flipped.
    pub part: String,
    /// The answer to that part that the base gives most often, as JSON.
    pub base: String,
    /// The same of the head.
    pub head: String,
}

/// What an answer ought to do when an input is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ought {
    /// Stay as it is: the evidence is the same.
    Hold,
    /// Move: the evidence is another one.
    Move,
}
