//! A judge as it is written in a configuration: `judge: {type: …, …}`.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Judge;
use super::exact_match::{ExactMatch, Normalize};
use super::panel::Reducer;
use crate::config::Config;
use crate::target::ModelName;

/// A judge, or a panel of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct JudgeSettings {
    #[serde(flatten)]
    own: MemberSettings,
    /// The judges of a panel, for `type: panel`. Each of them grades, and the panel puts their scores
    /// together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    panel: Vec<MemberSettings>,
}

/// A judge that is no panel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
pub(crate) struct MemberSettings {
    /// Which judge.
    #[serde(rename = "type")]
    kind: JudgeType,
    /// The model that it asks, one of `models`: for `llm` a chat model, for `embedding_similarity` one
    /// that makes vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<ModelName>,
    /// What `llm` is asked. Default: `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    /// What a good answer has to satisfy, in your words, for `llm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    criteria: Option<String>,
    /// The answers that `llm` may choose from, each with its score from 0 to 1. Without it: a number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    choices: BTreeMap<String, ChoiceScore>,
    /// How many times `llm` is asked each question. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 99))]
    votes: Option<NonZeroUsize>,
    /// How the votes of `llm`, or the scores of a panel, become one. Default: `mean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reducer: Option<Reducer>,
    /// Whether `llm` is asked in both orders of the two texts; the score is the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swap_order: Option<bool>,
    /// Which differences are none for `exact_match`. Default: `whitespace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    normalize: Option<Normalize>,
    /// How freely the model of `llm` chooses its words. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// The seed of the model's choices, instead of that of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    seed: Option<u64>,
    /// The longest answer of the model, in tokens, instead of that of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    max_tokens: Option<NonZeroU64>,
    /// The most characters that `llm` is shown of each text; of a longer one the middle is left out.
    /// Default: 20000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 10_000_000))]
    max_chars: Option<NonZeroUsize>,
}

/// The score of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct ChoiceScore(#[schemars(range(min = 0, max = 1))] pub(crate) f64);

/// The judges there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum JudgeType {
    /// 1 for the same content as the reference, else 0. It asks nobody.
    ExactMatch,
    /// How near the meanings of the response and the reference are, by the vectors of a model.
    EmbeddingSimilarity,
    /// A model that is asked for a grade.
    Llm,
    /// Several judges.
    Panel,
}

/// What a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Mode {
    /// How good the response is, next to the reference.
    #[default]
    Reference,
    /// How well the response satisfies the criteria; there is no reference.
    Criteria,
    /// Which of the two is better: 1 for the response, 0 for the reference, 0.5 for a tie.
    Pairwise,
    /// Whether the two mean the same.
    Equivalence,
}

impl JudgeSettings {
    /// Makes the judge, with the models of a configuration.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, for a person.
    pub(crate) fn open(&self, config: &Config) -> Result<Box<dyn Judge>, String> {
        let _ = config;
        match self.own.kind {
            JudgeType::ExactMatch => Ok(Box::new(ExactMatch::new(
                self.own.normalize.unwrap_or_default(),
            ))),
            kind => Err(format!("`type: {kind:?}` is not there yet")),
        }
    }
}
