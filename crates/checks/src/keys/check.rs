//! The kinds of checks as written, each with its `type`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::http_mock::HttpMockAssertionsKeys;
use super::{agent_output, given};
use kelvin_run::judge::{JudgeSettings, MaxErrors};
use kelvin_run::targets::ModelName;

/// How an invariant is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum CheckKeys {
    /// A command in the workspace ends with an exit code.
    CommandExit(CommandExitKeys),
    /// A file or folder is there.
    FileExists(FileKeys),
    /// A file or folder is not there.
    FileAbsent(FileKeys),
    /// A file has a text, lacks another one, matches a pattern.
    FileContent(FileContentKeys),
    /// A program of your own says whether the invariant holds.
    Custom(CustomKeys),
    /// The output contains a text.
    Contains(ContainsKeys),
    /// The output matches a pattern.
    Regex(RegexKeys),
    /// The output is a text or a value.
    Equals(EqualsKeys),
    /// The output is JSON that fits a schema.
    JsonSchema(JsonSchemaKeys),
    /// The output is JSON that has something at a path.
    JsonPath(JsonPathKeys),
    /// The output is close to a text, by the edit distance.
    Levenshtein(LevenshteinKeys),
    /// The output is a number within limits.
    Numeric(NumericKeys),
    /// The pipeline took no longer than a limit.
    Latency(LatencyKeys),
    /// A query to a database returns a value.
    Sql(SqlKeys),
    /// A judge grades, by criteria, what the pipeline left.
    LlmAsJudge(LlmAsJudgeKeys),
    /// The requests that a mocked server got meet conditions.
    HttpMockAssertions(HttpMockAssertionsKeys),
}

/// A command in the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandExitKeys {
    /// The command, which `sh -c` runs in the workspace.
    #[schemars(length(min = 1))]
    pub(crate) command: String,
    /// The exit code that it has to end with.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub(crate) exit_code: i32,
    /// Seconds after which it is stopped; the check is then an error.
    #[serde(default = "minute")]
    #[schemars(range(max = 86_400), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileKeys {
    /// Where it is, relative to the workspace.
    #[schemars(length(min = 1))]
    pub(crate) path: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// What a file has in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileContentKeys {
    /// Where it is, relative to the workspace.
    #[schemars(length(min = 1))]
    pub(crate) path: String,
    /// A text that it has to have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) contains: Option<String>,
    /// A text that it must not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) not_contains: Option<String>,
    /// A regular expression that has to match somewhere in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) pattern: Option<String>,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A program of your own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CustomKeys {
    /// The program, relative to the folder of the configuration. It reads JSON and prints JSON.
    #[schemars(length(min = 1))]
    pub(crate) script: String,
    /// Where it runs: in the folder of the configuration, or in the workspace.
    #[serde(default)]
    pub(crate) runs_in: RunsIn,
    /// Seconds after which it is stopped; the check is then an error.
    #[serde(default = "minute")]
    #[schemars(range(max = 86_400), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunsIn {
    /// In the folder of the configuration.
    #[default]
    Host,
    /// In the workspace.
    Workspace,
    /// In the workspace; another name for it.
    Sandbox,
}

/// A text in the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContainsKeys {
    /// The text. Without it: what the scenario has as `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) value: Option<String>,
    /// Whether capital letters are the same as small ones.
    #[serde(default)]
    pub(crate) ignore_case: bool,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A pattern in the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegexKeys {
    /// A regular expression that has to match somewhere. Without it: what the scenario has as `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) pattern: Option<String>,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// The output as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EqualsKeys {
    /// A text, which the output has to be without the white space around it; or any other value, which
    /// the output has to be as JSON. Without it: what the scenario has as `expected`.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// The form of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonSchemaKeys {
    /// The schema, written out.
    pub(crate) schema: Value,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A part of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonPathKeys {
    /// A JSONPath such as `$.items[0].name`.
    #[schemars(length(min = 1))]
    pub(crate) path: String,
    /// What one of the values at the path has to be. Without it: what the scenario has as `expected`.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) equals: Option<Value>,
    /// Whether it is enough that there is a value at the path, whatever it is.
    #[serde(default)]
    pub(crate) exists: bool,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A text that the output is near to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LevenshteinKeys {
    /// The text. Without it: what the scenario has as `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) value: Option<String>,
    /// The similarity from which the check passes: 1 minus the edit distance divided by the longer length.
    #[serde(default = "similar")]
    #[schemars(range(min = 0, max = 1))]
    pub(crate) pass_threshold: f64,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumericKeys {
    /// The number that it has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) equals: Option<f64>,
    /// By how much it may differ from `equals`.
    #[serde(default = "tolerance")]
    #[schemars(range(min = 0))]
    pub(crate) tolerance: f64,
    /// The least that it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min: Option<f64>,
    /// The most that it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<f64>,
    /// A JSONPath to the number, if the output is JSON with more in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) path: Option<String>,
    /// What is looked at: `agent_output`, `stdout` or `file:PATH`.
    #[serde(default = "agent_output")]
    pub(crate) input_from: String,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// How long the pipeline takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LatencyKeys {
    /// Seconds that the pipeline may take.
    #[schemars(range(max = 604_800), extend("exclusiveMinimum" = 0))]
    pub(crate) max_s: f64,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

/// A query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SqlKeys {
    /// The name of the service that is asked, one of `services`.
    #[schemars(length(min = 1))]
    pub(crate) service: String,
    /// One statement that reads: `SELECT`, `WITH`, `VALUES` or `SHOW`.
    #[schemars(length(min = 1))]
    pub(crate) query: String,
    /// What the first column of the first row has to be, type and all. Without it: what the scenario has as
    /// `expected`.
    #[serde(default, deserialize_with = "given")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) equals: Option<Value>,
    /// Whether a value of another type is the same if it is written the same, such as `0` and `"0"`.
    #[serde(default)]
    pub(crate) coerce: bool,
    /// Seconds after which the query is stopped; the check is then an error.
    #[serde(default = "half_minute")]
    #[schemars(range(max = 86_400), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

impl CheckKeys {
    /// The key of the value for the comparison, if the file does not set it, so that the scenario's `expected` is used.
    /// None for a check that has a value, or that needs none.
    pub(crate) fn compares_with_expected(&self) -> Option<&'static str> {
        let (key, has_value) = match self {
            Self::Contains(keys) => ("value", keys.value.is_some()),
            Self::Equals(keys) => ("value", keys.value.is_some()),
            Self::Levenshtein(keys) => ("value", keys.value.is_some()),
            Self::Regex(keys) => ("pattern", keys.pattern.is_some()),
            Self::JsonPath(keys) => ("equals", keys.equals.is_some() || keys.exists),
            Self::Sql(keys) => ("equals", keys.equals.is_some()),
            Self::Numeric(keys) => {
                let limits = [keys.equals, keys.min, keys.max];
                ("equals", limits.iter().any(Option::is_some))
            }
            Self::CommandExit(_)
            | Self::FileExists(_)
            | Self::FileAbsent(_)
            | Self::FileContent(_)
            | Self::Custom(_)
            | Self::JsonSchema(_)
            | Self::Latency(_)
            | Self::LlmAsJudge(_)
            | Self::HttpMockAssertions(_) => return None,
        };
        (!has_value).then_some(key)
    }

    /// Whether the check is negated, which is possible for every kind with the key `not`.
    pub(crate) fn is_negated(&self) -> bool {
        let written = serde_json::to_value(self).unwrap_or_default();
        written["not"] == true
    }
}

const fn minute() -> f64 {
    60.0
}

const fn half_minute() -> f64 {
    30.0
}

const fn similar() -> f64 {
    0.8
}

const fn tolerance() -> f64 {
    1e-9
}

/// A judge grades, by criteria, what the pipeline left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LlmAsJudgeKeys {
    /// The model that grades, one of `models`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelName>,
    /// Instead of `model`: a judge with all its settings, or a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judge: Option<Box<JudgeSettings>>,
    /// What has to hold, in your words.
    #[schemars(length(min = 1))]
    pub(crate) criteria: String,
    /// Which score stands for what, in your words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) rubric: Option<String>,
    /// What is graded: `agent_output`, `stdout`, `file:PATH`, `workspace` for all its files, or
    /// `SERVICE.FIELD` for what a service has recorded.
    #[serde(default = "super::agent_output")]
    pub(crate) input_from: String,
    /// How freely the model chooses its words. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub(crate) temperature: Option<f64>,
    /// The score from which the check passes.
    #[serde(default = "half")]
    #[schemars(range(min = 0, max = 1))]
    pub(crate) pass_threshold: f64,
    /// What the model is told in place of the fixed rules. `{frames}` stands for the texts, each in its
    /// frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) prompt_template: Option<String>,
    /// The share of runs that the judge may fail to grade; with more of them the figures are unmeasured.
    #[serde(default)]
    pub(crate) max_errors: MaxErrors,
    /// Whether the result is reversed: the check passes if it would fail, and fails if it would pass.
    #[serde(default)]
    pub(crate) not: bool,
}

const fn half() -> f64 {
    0.5
}

impl LlmAsJudgeKeys {
    /// The judge, with the criteria of the check. Fails with the problem of one of the keys: the key, and the message.
    pub(crate) fn settings(&self) -> Result<JudgeSettings, (&'static str, String)> {
        for (key, text) in [
            ("criteria", Some(&self.criteria)),
            ("rubric", self.rubric.as_ref()),
        ] {
            if text.is_some_and(|text| text.trim().is_empty()) {
                return Err((key, format!("the {key} must not be blank")));
            }
        }
        let judge = match (&self.model, &self.judge) {
            (Some(_), Some(_)) => {
                let what = "a check has either a `model` or a `judge`";
                return Err(("judge", what.to_owned()));
            }
            (None, None) => {
                let what = "the check names no judge: add `model: NAME`, one of `models`";
                return Err(("", what.to_owned()));
            }
            (Some(model), None) => JudgeSettings::by_criteria(
                model.clone(),
                self.temperature,
                self.prompt_template.clone(),
            ),
            (None, Some(judge)) => {
                for (key, is_written) in [
                    ("temperature", self.temperature.is_some()),
                    ("prompt_template", self.prompt_template.is_some()),
                ] {
                    if is_written {
                        let what = format!("`{key}` stands in `judge`, where there is one");
                        return Err((key, what));
                    }
                }
                (**judge).clone()
            }
        };
        let criteria = match &self.rubric {
            None => self.criteria.trim().to_owned(),
            Some(rubric) => format!(
                "{}\n\nWhich score stands for what:\n{}",
                self.criteria.trim(),
                rubric.trim()
            ),
        };
        let judge = judge
            .with_criteria(&criteria)
            .map_err(|what| ("judge", what))?;
        match (judge.slips_in_words(), &self.prompt_template) {
            (None, _) => Ok(judge),
            (Some(slip), Some(_)) => Err(("prompt_template", slip)),
            (Some(slip), None) => Err(("judge", slip)),
        }
    }
}
