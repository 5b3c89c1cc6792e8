//! The results of the evidence probe in one case: every invocation with its decision or its failure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::is_file_of_records;
use super::perturb::{Notes, Relation};
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;
use kelvin_base::notice::Notice;

/// One case: its baseline, its variants, its scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// The file, relative to the configuration.
    pub file: String,
    /// The folder of its inputs and outputs, relative to the report.
    pub folder: String,
    /// The title of the case: its first heading or line, cut after 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The label as it is written: the answer that a person expects. The label is not a part of the digest: a case
    /// whose label alone was edited is compared by the labels of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The digest of the file: a different one on the other side means that the case was edited.
    pub input: Digest,
    /// The units, in order.
    pub units: Vec<UnitRecord>,
    /// The unperturbed input; one sample a repeat.
    pub baseline: Vec<Sample>,
    /// The fields of the outputs besides the decision, one entry for each repeat of `baseline`; missing if no output
    /// has such fields. These fields are for people; no figure uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BTreeMap<String, String>>,
    /// Replays of the unperturbed input for the noise floor, the first sample of `baseline` not
    /// included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<Sample>,
    /// Mean distance over the pairs of replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// The variants, in the order of the registry and of their numbers.
    pub variants: Vec<VariantRecord>,
    /// Invariance in this case.
    pub invariance: Option<f64>,
    /// How many samples `invariance` is the mean of.
    pub invariance_n: usize,
    /// Sensitivity in this case.
    pub sensitivity: Option<f64>,
    /// How many samples `sensitivity` is the mean of.
    pub sensitivity_n: usize,
    /// How many invocations of the case failed.
    pub failed: usize,
    /// Whether more than a fifth of the invocations of the case failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insufficient: bool,
    /// The notices about the case: limits, skips and warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

/// A unit of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitRecord {
    /// Its type.
    pub unit_type: Arc<str>,
    /// The line of its heading, or of its record, from 1.
    pub line: usize,
    /// The number of the array of the record that has the unit as an element; missing for other units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<u32>,
    /// The turn of a conversation to which the unit belongs, from 0; missing if the case is one input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// One variant of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantRecord {
    /// The id of the variant, unique within the case; it is also the name of its folder under `perturbations`.
    pub id: Arc<str>,
    /// The kind of perturbation.
    pub kind: Cow<'static, str>,
    /// What the decision ought to do.
    pub relation: Relation,
    /// The governing type that the variant concerns, if it concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_type: Option<Arc<str>>,
    /// The digest of its input.
    pub input: Digest,
    /// The changes to the case.
    pub notes: Arc<Notes>,
    /// One sample a repeat; empty if nothing was run.
    pub samples: Vec<Sample>,
    /// The effect of a swap, and its largest possible effect; missing for other kinds, and if the effects are not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap: Option<Box<SwapRecord>>,
}

/// A swap next to its donor, the case that its unit comes from. Distances are those of the scorer.
/// The *own answers* of a case are its baselines and its answers to the variants that count into
/// invariance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapRecord {
    /// How far the answers moved: the mean distance to the case's own answers, minus the mean distance between two of
    /// those.
    pub reaction: f64,
    /// How far the donor's own answers are away: their mean distance to the case's own answers, minus `noise`.
    pub contrast: f64,
    /// The mean distance between two own answers of the same case, over the case and its donor.
    pub noise: f64,
    /// Whether the case and the donor differ in the answer that they mostly get.
    pub donor_differs: bool,
}

impl CaseRecord {
    /// The name of the file with an input of the case.
    pub fn input_name(&self) -> &'static str {
        match is_file_of_records(&self.file) {
            true => "input.json",
            false => "input.md",
        }
    }
}

impl VariantRecord {
    /// The index of the unit that was replaced or rewritten, if it is exactly one unit.
    pub(crate) fn changed_unit(&self) -> Option<usize> {
        match (self.notes.removed.as_slice(), self.notes.edited.as_slice()) {
            ([unit], []) | ([], [unit]) => Some(*unit),
            _ => None,
        }
    }
}

/// One invocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The decision, if there is one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "explicit_null"
    )]
    #[schemars(with = "Option<Value>")]
    pub decision: Option<Value>,
    /// The mean distance to the decisions of the baseline; if a judge compares them, the distance to the decision of
    /// the same repeat. Missing for a baseline and wherever either side failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<f64>,
    /// Why there is no decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
}

/// Keeps a decision of `null`, since a decision of null is not the same as a missing one.
mod explicit_null {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(
        decision: &Option<Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        decision.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}
