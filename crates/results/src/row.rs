//! The common result of all readers: one row for one sample of one case.

use std::collections::{BTreeMap, BTreeSet};

use kelvin_base::digest::Digest;
use kelvin_record::{Direction, KeptText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sample of a case, in the form of the evaluator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The stable name of the case: never an index, and never a text that a pull request edits.
    pub case: String,
    /// The number of the repeat if the file has one, from 1; none if it has to be counted by order within the case.
    pub repeat: Option<u32>,
    /// The digest of the input, which reveals an edit of the case; none if the file has no input.
    pub input: Option<Digest>,
    /// The digest of everything that determines the score of this case (assertions, expected values, thresholds), if
    /// the file contains it.
    pub scoring: Option<Digest>,
    /// The scores by metric, each a finite number. A pass or fail is 1 or 0.
    pub scores: BTreeMap<String, f64>,
    /// Why the sample has no score: an error is not a failure. `scores` may then be empty or contain only costs.
    pub error: Option<String>,
    /// Whether the answer came from the evaluator's cache.
    pub cached: bool,
    /// The input, the expected answer and the answer.
    pub texts: RowTexts,
}

/// The texts of a sample, for the page of the run only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowTexts {
    /// The input for the pipeline.
    pub input: Option<KeptText>,
    /// The expected answer.
    pub expected: Option<KeptText>,
    /// The answer of the pipeline.
    pub answer: Option<KeptText>,
}

/// What a format itself says of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricKind {
    /// Whether every score is a pass (1) or a failure (0).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yes_no: bool,
    /// Whether a higher or a lower value is better; missing if the format does not say it. Such a metric has to be
    /// declared to be gated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
}

/// A whole file of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The evaluator, e.g. `promptfoo`.
    pub tool: String,
    /// The version of the tool, if the file contains it.
    pub tool_version: Option<String>,
    /// The metrics of the rows.
    pub metrics: BTreeMap<String, MetricKind>,
    /// The samples in the order of the file.
    pub rows: Vec<Row>,
    /// The values that identify the prompts, models and settings of the run. Differences are reported; they are never
    /// used as a key.
    pub settings: BTreeMap<String, String>,
    /// The cases that the evaluator says it has skipped.
    pub skipped: BTreeSet<String>,
    /// Remarks for a person on how the file was read.
    pub notices: Vec<String>,
}
