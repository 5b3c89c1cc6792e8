//! What the readers are told, which is the content of the columns of a table, and their common result: one row for one
//! sample of one case.

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

/// The columns of a CSV file, or the fields of JSON lines. A field within another one is written with dots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The stable name of a case. Without it, a case is named by the digest of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub case: Option<String>,
    /// The columns with what the pipeline is asked. A case whose input differs from that of the base was edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub input: Vec<String>,
    /// The columns with what a sample is scored against; a case that is scored in another way than on the base was
    /// edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub expected: Vec<String>,
    /// The answer of the pipeline, for the page of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub answer: Option<String>,
    /// The number of the repeat, from 1. Without it, the rows of a case are counted in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub repeat: Option<String>,
    /// The column that says why a sample has no score. A row with a text here is an error, and no failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub error: Option<String>,
    /// The columns of the scores, by the name of the metric. The suite's `metrics` declare them.
    #[serde(skip)]
    pub metrics: BTreeMap<String, MetricColumn>,
}

/// The column of one metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricColumn {
    /// The name of the column.
    pub column: String,
    /// The meaning of a row without a number in this column.
    pub empty: EmptyScore,
}

/// What a row without a score of a metric means: an empty field, `null` or NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmptyScore {
    /// The sample could not be scored: an error.
    #[default]
    Error,
    /// The metric is not meant for this case, and the sample is in no figure of it.
    Skip,
}
