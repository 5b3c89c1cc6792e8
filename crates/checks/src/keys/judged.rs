//! The keys of a check that a judge grades.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_run::judge::{JudgeSettings, MaxErrors};
use kelvin_run::targets::ModelName;

/// A judge grades what was left by criteria.
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
    /// A larger share of runs that the judge could not grade makes the figures unmeasured.
    #[serde(default)]
    pub(crate) max_errors: MaxErrors,
    /// Whether the check passes where it otherwise fails, and the other way round.
    #[serde(default)]
    pub(crate) not: bool,
}

const fn half() -> f64 {
    0.5
}

impl LlmAsJudgeKeys {
    /// The judge, with the criteria of the check.
    ///
    /// # Errors
    ///
    /// What is wrong with one of the keys: the key, and what to say of it.
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
