//! The ranked hits of both sides for one item, for people who look at the changes. No figures are computed from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first hits of the base and of the head for the same item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedHits {
    /// What is expected among the hits; empty if nobody has said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedHit>,
    /// The first hits of the base, in order.
    pub base: Vec<RankedHit>,
    /// How many more hits the base had.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub base_left: usize,
    /// The first hits of the head, in order.
    pub head: Vec<RankedHit>,
    /// How many more hits the head had.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub head_left: usize,
}

/// One expected document or passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedHit {
    /// Its name.
    pub name: String,
    /// Its title or the beginning of its text, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One hit of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedHit {
    /// Its rank, from 1.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Its title or the beginning of its text, if the output has either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is expected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
    /// The rank of the same hit on the other side, from 1; null if the other side does not have it among the hits that
    /// its report keeps.
    pub other_rank: Option<u32>,
}
