//! The keys of the toy in `kelvin.yaml`.

use std::sync::Arc;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::ToyKind;
use kelvin_base::digest::Fields;
use kelvin_run::config::{self, Config, Configure, Part, ProbeSettings, Slip};
use kelvin_run::judge::JudgeSettings;
use kelvin_run::targets::Address;

#[derive(Deserialize, Serialize, JsonSchema)]
struct ToyKeys {
    /// What the toy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    toy: Option<ToySettings>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToySettings {
    /// The command that says how loud a word is, from 0 to 1.
    pub(super) run: Address,
    /// The command that says how much louder a word is than it was on the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) listener: Option<Address>,
    /// Who would grade the words, if the toy graded any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judge: Option<JudgeSettings>,
    /// The words, with commas between them.
    #[schemars(length(min = 1))]
    pub(super) words: String,
    /// How loud it may be.
    #[serde(default)]
    #[schemars(range(max = 9))]
    pub(super) volume: usize,
}

impl Configure for ToyKind {
    fn required(&self) -> &'static [&'static str] {
        &["toy"]
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<ToyKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<config::Problem> {
        let words = part.node.text(&["toy", "words"]);
        let silent = words.filter(|(words, _)| *words == "silence");
        let tell = |at| config::Problem::new(at, "a toy cannot say silence").help("name a sound");
        silent.map(|(_, at)| tell(at.clone())).into_iter().collect()
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        (*slip == Slip::MissingKey("words")).then(|| "add `words: moo`".to_owned())
    }

    fn settle(
        &self,
        part: &Part<'_>,
        _: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let ToyKeys { toy } = part.read()?;
        Ok(toy.map(|toy| Arc::new(toy) as Arc<dyn ProbeSettings>))
    }
}

impl ProbeSettings for ToySettings {
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("words", &self.words)
    }

    fn as_data(&self) -> Map<String, Value> {
        let data = serde_json::json!({ "toy": { "words": self.words } });
        data.as_object().cloned().unwrap_or_default()
    }

    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        let judge = self.judge.iter();
        judge.map(|judge| ("toy.judge".to_owned(), judge)).collect()
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}
