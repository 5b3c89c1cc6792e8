//! What a reader of any format hands on: one row for one sample of one case.

use std::collections::BTreeMap;

use kelvin_base::digest::Digest;
use kelvin_record::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One sample of one case, as an evaluator wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The stable name of the case: never an index, and never anything that a pull request edits.
    pub case: String,
    /// The number of the repeat where the file has one, from 1; none where it has to be counted by order within the
    /// case.
    pub repeat: Option<u32>,
    /// The digest of the input, which tells an edit of the case; none where the file has no input.
    pub input: Option<Digest>,
    /// The digest of what scores this case (assertions, expected values, thresholds), where the file says it.
    pub scoring: Option<Digest>,
    /// The scores by metric, each a finite number. A pass or fail is 1 or 0.
    pub scores: BTreeMap<String, f64>,
    /// Why the sample has no score: an error is not a failure. `scores` may then be empty or hold only costs.
    pub error: Option<String>,
    /// Whether the answer came from the evaluator's cache.
    pub cached: bool,
    /// What was asked, expected and answered.
    pub texts: RowTexts,
}

/// The texts of a sample, for the page of the run only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowTexts {
    /// What the pipeline was asked.
    pub input: Option<String>,
    /// What was expected of it.
    pub expected: Option<String>,
    /// What it answered.
    pub answer: Option<String>,
}

/// What a format itself says of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricKind {
    /// Whether every score is a pass (1) or a failure (0).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yes_no: bool,
    /// Which way is better; none where the format does not say it. Such a metric has to be declared to be gated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
}

/// A whole file of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The evaluator, e.g. `promptfoo`.
    pub tool: String,
    /// Its version, where the file says it.
    pub tool_version: Option<String>,
    /// The metrics of the rows.
    pub metrics: BTreeMap<String, MetricKind>,
    /// The samples in the order of the file.
    pub rows: Vec<Row>,
    /// What identifies the prompts, models and settings of the run. It is told where it differs, and never a key.
    pub settings: BTreeMap<String, String>,
    /// What a person should know of how the file was read.
    pub notices: Vec<String>,
}
