//! The value of `scorer`: the name of a scorer, optionally with settings.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{ALL, Scorer, ScorerKind};
use crate::config::Config;
use crate::judge::JudgeSettings;

/// A chosen scorer, and the text of the choice.
#[derive(Clone, Debug)]
pub struct Choice {
    name: &'static str,
    settings: Value,
    scorer: Arc<dyn Scorer>,
    judge: Option<JudgeSettings>,
}

impl Choice {
    /// Reads `NAME` or `NAME: SETTINGS`.
    ///
    /// # Errors
    ///
    /// Fails if no scorer has this name, or if the scorer rejects the settings.
    pub fn read(written: &Value) -> Result<Self, String> {
        let entry = written
            .as_object()
            .and_then(|entries| entries.iter().next());
        let (name, settings) = match entry {
            Some((name, settings)) => (Some(name.as_str()), settings),
            None => (written.as_str(), &Value::Null),
        };
        let kind = ALL.iter().find(|kind| Some(kind.name()) == name);
        let kind = kind.ok_or_else(|| format!("`scorer` names no known scorer: {written}"))?;
        Self::open(*kind, settings)
    }

    /// The same choice with the models that a configuration declares, if the scorer calls one.
    ///
    /// # Errors
    ///
    /// Fails with the problem of the settings, for a person.
    pub fn with_models(mut self, config: &Config) -> Result<Self, String> {
        let kind = ALL.iter().find(|kind| kind.name() == self.name);
        if let Some(kind) = kind
            && let Some(scorer) = kind.open_with(&self.settings, config)?
        {
            self.scorer = scorer.into();
        }
        Ok(self)
    }

    fn open(kind: &dyn ScorerKind, settings: &Value) -> Result<Self, String> {
        Ok(Self {
            name: kind.name(),
            settings: settings.clone(),
            scorer: kind.open(settings)?.into(),
            judge: kind.judge(settings),
        })
    }

    /// The judge that the scorer asks, with its place in the configuration; none if it asks no judge.
    pub fn judge(&self) -> Option<(String, &JudgeSettings)> {
        let judge = self.judge.as_ref()?;
        Some((format!("scorer.{}", self.name), judge))
    }

    /// The settings if they are a list of texts, such as the levels of an ordinal scorer; otherwise empty. A report
    /// stores them, so that its figures can be computed again.
    pub fn levels(&self) -> Vec<String> {
        let settings = self.settings.as_array().into_iter().flatten();
        settings
            .filter_map(|level| level.as_str().map(str::to_owned))
            .collect()
    }
}

/// The text for the digest of a configuration.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = self.levels();
        match &self.settings {
            Value::Null => f.write_str(self.name),
            Value::Array(all) if all.len() == levels.len() => {
                write!(f, "{} {levels:?}", self.name)
            }
            settings => write!(f, "{} {settings}", self.name),
        }
    }
}

impl Default for Choice {
    fn default() -> Self {
        let default = ALL[0];
        Self::open(default, &Value::Null).expect("the default scorer has no settings")
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Value::deserialize(deserializer)?;
        Self::read(&written).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.settings {
            Value::Null => serializer.serialize_str(self.name),
            settings => json!({ self.name: settings }).serialize(serializer),
        }
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> Cow<'static, str> {
        "Choice".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ways: Vec<Value> = ALL
            .iter()
            .map(|kind| match kind.schema() {
                None => json!({
                    "type": "string",
                    "const": kind.name(),
                    "description": kind.description(),
                }),
                Some(settings) => json!({
                    "type": "object",
                    "properties": { kind.name(): settings },
                    "required": [kind.name()],
                    "additionalProperties": false,
                    "description": kind.description(),
                }),
            })
            .collect();
        Schema::try_from(json!({ "oneOf": ways })).expect("it is an object")
    }
}

/// The scorer of a choice.
pub fn chosen_scorer(choice: &Choice) -> Arc<dyn Scorer> {
    Arc::clone(&choice.scorer)
}

/// The scorer with this id in a report; none if this program does not know it.
pub fn stored(id: &str, levels: &[String]) -> Option<Arc<dyn Scorer>> {
    let settings = match levels {
        [] => Value::Null,
        levels => json!(levels),
    };
    ALL.iter()
        .filter(|kind| kind.schema().is_some() != settings.is_null())
        .filter_map(|kind| kind.open(&settings).ok())
        .find(|scorer| scorer.id() == id)
        .map(Arc::from)
}
