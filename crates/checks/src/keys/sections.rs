//! The sections of the file that belong to this probe.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check::CheckKeys;
use super::services::ServiceKeys;
use kelvin_run::targets::Address;

/// The required keys of this probe.
pub(crate) const REQUIRED: [&str; 2] = ["run", "invariants"];

/// The keys that no other probe has.
pub(crate) const OWN: [&str; 7] = [
    "invariants",
    "scoring",
    "services",
    "scenarios",
    "matrix",
    "workspace",
    "forbidden",
];

/// All keys of this probe, which stand at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChecksKeys {
    /// The command that runs the pipeline once, with the placeholders `{input}` and `{output}`. For `invariants` both
    /// may be left out, and `{workspace}` is a further placeholder.
    #[serde(default, skip_serializing_if = "Address::is_empty")]
    pub(crate) run: Address,
    /// The folder of the cases, one Markdown file each, or a glob such as `cases/**/*.md`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub(crate) cases: String,
    /// What must hold after the pipeline has run, by name.
    #[serde(default)]
    pub(crate) invariants: BTreeMap<String, InvariantKeys>,
    /// How the checks of a scenario become one figure, and when a scenario passes.
    #[serde(default)]
    pub(crate) scoring: Scoring,
    /// What a scenario uses besides its workspace, by name: databases. The pipeline sees the address as
    /// `KELVIN_SERVICE_NAME_URL`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) services: BTreeMap<String, ServiceKeys>,
    /// A file with a scenario in every line, as JSON. It takes the place of the cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) scenarios: Option<String>,
    /// Parameters with their values: every scenario is run with each combination of them.
    #[serde(default)]
    pub(crate) matrix: BTreeMap<String, Vec<Parameter>>,
    /// The folder in which a scenario runs, a new one every time.
    #[serde(default)]
    pub(crate) workspace: WorkspaceKeys,
    /// What no scenario may do; a scenario that does it has a composite of 0.
    #[serde(default)]
    pub(crate) forbidden: ForbiddenKeys,
}

/// One thing that must hold after the pipeline has run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InvariantKeys {
    /// What must hold, in words.
    #[schemars(length(min = 1))]
    pub(crate) description: String,
    /// How it is checked.
    pub(crate) check: CheckKeys,
    /// What it weighs in the composite.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub(crate) weight: f64,
    /// Whether a scenario in which it does not hold has a composite of 0.
    #[serde(default)]
    pub(crate) gate: bool,
}

const fn one() -> f64 {
    1.0
}

/// How the checks of a scenario become one figure, and when a scenario passes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scoring {
    /// The composite from which a scenario passes. Without it every check has to pass.
    #[schemars(range(min = 0, max = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pass_threshold: Option<f64>,
    /// How often every scenario is run. Without it: `repeats`.
    #[schemars(range(min = 1, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<usize>,
    /// When a scenario with several replicas passes: `all`, `any`, `majority`, `mean`, or `at_least`
    /// so many of them.
    pub(crate) replica_aggregation: Aggregation,
    /// Whether a gate needs a score of 1, even if its check passes with less.
    pub(crate) gate_strict: bool,
}

/// When a scenario with several replicas passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Aggregation {
    /// Every replica passes.
    #[default]
    All,
    /// One replica passes.
    Any,
    /// More than half of the replicas pass.
    Majority,
    /// The mean of the composites reaches the threshold.
    Mean,
    /// At least this many replicas pass.
    AtLeast(#[schemars(range(min = 1, max = 1000))] usize),
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Parameter {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// A text.
    Text(#[schemars(length(min = 1))] String),
}

impl Parameter {
    /// The value as JSON.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Bool(value) => (*value).into(),
            Self::Whole(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

/// The folder in which a scenario runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkspaceKeys {
    /// A folder that is copied into it. Without it the workspace is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) template: Option<String>,
}

/// What no scenario may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ForbiddenKeys {
    /// Globs of the files in the workspace that the pipeline may write; it may write no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_writes_outside: Option<Vec<String>>,
    /// `deny`: no secret of the environment may stand in what the pipeline prints, answers or logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secrets_in_logs: Option<Deny>,
}

/// The word `deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deny {
    /// It is denied.
    Deny,
}
