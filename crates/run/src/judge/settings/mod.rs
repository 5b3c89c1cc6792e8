//! A judge in a configuration: `judge: {type: …, …}`.

mod needs;
mod slips;

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::embedding::EmbeddingSimilarity;
use super::exact_match::{ExactMatch, Normalize};
use super::llm::{Llm, Places, Rubric, Scale, Template};
use super::mode::Mode;
use super::panel::{Panel, Reducer};
use super::{Judge, RagMeasure};
use crate::config::Config;
use crate::targets::{Asking, ModelName, ModelSettings};
pub use needs::Needs;

/// How many characters of a text a model sees at most.
const MAX_CHARS: usize = 20_000;

/// A judge, or a panel of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct JudgeSettings {
    #[serde(flatten)]
    own: MemberSettings,
    /// The judges of a panel, for `type: panel`. Each of them grades, and the panel puts their scores
    /// together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    panel: Vec<MemberSettings>,
}

/// A judge that is no panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
pub(super) struct MemberSettings {
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
    /// Whether `llm` is asked in both orders of the two texts; the score is the mean. Without it, the texts of
    /// `pairwise` change places by turns, from one prompt and repeat to the next, which costs no call; with `false` the
    /// answer of the baseline always stands first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swap_order: Option<bool>,
    /// Which differences `exact_match` ignores. Default: `whitespace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    normalize: Option<Normalize>,
    /// How freely the model of `llm` chooses its words. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    /// The seed of the model's choices, instead of `seed` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    seed: Option<u64>,
    /// The longest answer of the model, in tokens, instead of `max_tokens` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    max_tokens: Option<NonZeroU64>,
    /// The most characters of each text that `llm` is shown; the middle of a longer text is left out. Default: 20000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 10_000_000))]
    max_chars: Option<NonZeroUsize>,
    /// What `llm` is told in the mode `criteria` in place of the fixed rules. `{frames}` stands for the
    /// texts, each in its frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    prompt_template: Option<String>,
}

/// The score of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(super) struct ChoiceScore(#[schemars(range(min = 0, max = 1))] pub f64);

/// The judges there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum JudgeType {
    /// 1 for the same content as the reference, else 0. It asks no model.
    #[default]
    ExactMatch,
    /// How near the meanings of the response and the reference are, by the vectors of a model.
    EmbeddingSimilarity,
    /// A model that is asked for a grade.
    Llm,
    /// Several judges.
    Panel,
}

impl JudgeSettings {
    /// Makes the judge, with the models of a configuration.
    ///
    /// # Errors
    ///
    /// Fails with the problem of the settings, for a person.
    pub fn open(&self, config: &Config) -> Result<Box<dyn Judge>, String> {
        self.open_with(&|name| config.model(name))
    }

    /// Makes the judge with a function that finds a model by its name.
    fn open_with<'m>(&self, find: &Find<'_, 'm>) -> Result<Box<dyn Judge>, String> {
        if let Some(slip) = self.slips().into_iter().next() {
            return Err(slip.to_string());
        }
        if self.own.kind != JudgeType::Panel {
            return self.own.open(find);
        }
        let members: Result<Vec<_>, String> = self.panel.iter().map(|one| one.open(find)).collect();
        let members = members?;
        let ids: Vec<String> = members.iter().map(|member| member.grader_id()).collect();
        for (at, id) in ids.iter().enumerate() {
            if ids[..at].contains(id) {
                return Err(format!(
                    "judge {} of the panel is there already: to ask a model several times, use `votes`",
                    at + 1
                ));
            }
        }
        Ok(Box::new(Panel::new(
            members,
            self.own.reducer.unwrap_or_default(),
        )))
    }

    /// The measures of retrieval-augmented answers that the judge computes; empty if it gives grades. A panel has
    /// either only such measures or none.
    pub fn rag_measures(&self) -> Vec<RagMeasure> {
        self.members()
            .filter_map(|member| member.mode.and_then(Mode::rag))
            .collect()
    }

    /// Whether the judge needs the passages from which an answer was made.
    pub fn needs_passages(&self) -> bool {
        let measures = self.rag_measures();
        measures.into_iter().any(RagMeasure::needs_passages)
    }

    /// Whether the judge grades by criteria but its settings have none: then every exhibit has to have its own.
    pub fn lacks_criteria(&self) -> bool {
        self.members()
            .any(|one| one.mode == Some(Mode::Criteria) && one.criteria.is_none())
    }
}

/// Finds a model by its name.
type Find<'f, 'm> = dyn Fn(&str) -> Option<&'m ModelSettings> + 'f;

impl MemberSettings {
    fn open<'m>(&self, find: &Find<'_, 'm>) -> Result<Box<dyn Judge>, String> {
        let normalize = self.normalize.unwrap_or_default();
        match self.kind {
            JudgeType::ExactMatch => Ok(Box::new(ExactMatch::new(normalize))),
            JudgeType::EmbeddingSimilarity => {
                Ok(Box::new(EmbeddingSimilarity::new(self.found(find)?)))
            }
            JudgeType::Llm => {
                let asking = Asking {
                    temperature: Some(self.temperature.unwrap_or(0.0)),
                    seed: self.seed,
                    max_tokens: self.max_tokens.map(NonZeroU64::get),
                    ..Asking::default()
                };
                Ok(Box::new(Llm::new(self.rubric(), self.found(find)?, asking)))
            }
            JudgeType::Panel => Err("a panel is no member of a panel".to_owned()),
        }
    }

    fn found<'m>(&self, find: &Find<'_, 'm>) -> Result<&'m ModelSettings, String> {
        let Some(ModelName(name)) = &self.model else {
            return Err(format!("`type: {}` needs a `model`", self.kind.name()));
        };
        find(name).ok_or_else(|| format!("`models` declares no model `{name}`"))
    }

    fn rubric(&self) -> Rubric {
        let mode = self.mode.unwrap_or_default();
        Rubric {
            mode,
            scale: match (mode, mode.rag()) {
                (_, Some(measure)) => Scale::Verdicts(measure),
                (Mode::Pairwise, None) => Scale::winner(),
                (_, None) if self.choices.is_empty() => Scale::Number,
                (_, None) => Scale::Choices(self.ordered()),
            },
            criteria: self.criteria.clone(),
            votes: self.votes.map_or(1, NonZeroUsize::get),
            reducer: self.reducer.unwrap_or_default(),
            places: match (self.swap_order, mode) {
                (Some(true), _) => Places::Both,
                (None, Mode::Pairwise) => Places::ByTurns,
                (Some(false) | None, _) => Places::Fixed,
            },
            most: self.max_chars.map_or(MAX_CHARS, NonZeroUsize::get),
            // An invalid template was reported before; then no judge is opened.
            template: self
                .prompt_template
                .as_deref()
                .and_then(|text| Template::parse(text).ok()),
        }
    }

    /// The choices, the best first; choices with the same score are in alphabetical order.
    fn ordered(&self) -> Vec<(String, f64)> {
        let choices = self.choices.iter();
        let mut ordered: Vec<(String, f64)> = choices
            .map(|(word, score)| (word.clone(), score.0))
            .collect();
        ordered.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        ordered
    }

    /// Whether there are so few possible scores that several answers can agree.
    fn is_discrete(&self) -> bool {
        match self.kind {
            JudgeType::ExactMatch => true,
            JudgeType::EmbeddingSimilarity | JudgeType::Panel => false,
            JudgeType::Llm => self.rubric().scale.is_discrete(),
        }
    }
}

impl JudgeType {
    /// The name of the type in a configuration.
    const fn name(self) -> &'static str {
        match self {
            Self::ExactMatch => "exact_match",
            Self::EmbeddingSimilarity => "embedding_similarity",
            Self::Llm => "llm",
            Self::Panel => "panel",
        }
    }
}

/// Judges for tests, with models that are never called.
#[cfg(test)]
pub(super) mod tests_only {
    use serde_json::{Value, json};

    use super::JudgeSettings;
    use crate::judge::Judge;
    use crate::targets::ModelSettings;

    /// A model that is declared under this name.
    pub(in crate::judge) fn model(name: &str) -> ModelSettings {
        let endpoint = json!({
            "kind": "openai",
            "base_url": "http://127.0.0.1:1/v1",
            "model": format!("the {name}"),
        });
        ModelSettings {
            name: name.to_owned(),
            endpoint: serde_json::from_value(endpoint).expect("it fits the type"),
            files: None,
            recorded: None,
            recorder: None,
        }
    }

    /// The judge of these settings; the models `chat` and `vectors` are declared.
    pub(in crate::judge) fn opened(settings: &Value) -> Box<dyn Judge> {
        try_open(settings).expect("the settings are right")
    }

    /// The judge of these settings, or the problem of the settings.
    pub(in crate::judge) fn try_open(settings: &Value) -> Result<Box<dyn Judge>, String> {
        let settings: JudgeSettings =
            serde_json::from_value(settings.clone()).map_err(|error| error.to_string())?;
        let models = ["chat", "vectors"].map(model);
        settings.open_with(&|name| models.iter().find(|model| model.name == name))
    }
}

impl JudgeSettings {
    /// Whether a language model grades, alone or in a panel. Only such a judge needs a trial.
    pub fn asks_a_language_model(&self) -> bool {
        self.members().any(|member| member.kind == JudgeType::Llm)
    }

    /// The names of the models that the judge asks.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let names = self.members().filter_map(|member| member.model.as_ref());
        names.map(|ModelName(name)| name.as_str())
    }

    /// Whether every language model sees the response together with a reference.
    pub fn shows_two_texts(&self) -> bool {
        let mut members = self.members();
        members.all(|member| member.mode.unwrap_or_default() != Mode::Criteria)
    }

    /// Whether every language model is asked in both orders of the two texts.
    pub fn asks_in_both_orders(&self) -> bool {
        let mut models = self
            .members()
            .filter(|member| member.kind == JudgeType::Llm);
        models.all(|member| member.swap_order == Some(true))
    }

    /// The same judge, asked in both orders.
    #[must_use]
    pub fn in_both_orders(&self) -> Self {
        let mut both = self.clone();
        let members = std::iter::once(&mut both.own).chain(&mut both.panel);
        for member in members.filter(|member| member.kind == JudgeType::Llm) {
            member.swap_order = Some(true);
        }
        both
    }

    fn members(&self) -> impl Iterator<Item = &MemberSettings> {
        std::iter::once(&self.own).chain(&self.panel)
    }
}

#[cfg(test)]
mod tests;
