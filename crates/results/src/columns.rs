//! Defines the content of the columns of a table.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
