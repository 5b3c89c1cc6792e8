//! Says how far apart two decisions are, and which decisions can be compared at all.
//!
//! A scorer is one file in this folder and one line in the list of their kinds, and it is pure. Two scorers have a
//! judge that is asked about pairs of decisions. The run makes those calls, and the records keep
//! the answers of the judge.

mod asked;
mod choice;
mod exact;
mod ordinal;
mod set;

use std::fmt;

use serde_json::Value;

use crate::config::Config;
use crate::judge::JudgeSettings;
use asked::{EmbeddingKind, LlmKind};
use exact::ExactKind;
use ordinal::OrdinalKind;
use set::SetKind;

pub use asked::{AskedJudge, Known, Pair};
pub use choice::{Choice, chosen_scorer, stored};

/// Grades decisions against each other.
pub trait Scorer: Send + Sync + fmt::Debug {
    /// Names the scorer and its version in reports; figures of different scorers are not compared.
    fn id(&self) -> String;

    /// Refuses a decision that the scorer cannot compare, in words that fit after "the decision is".
    fn accepts(&self, decision: &Value) -> Result<(), String>;

    /// The distance in `[0, 1]` between two accepted decisions; 0 for equal ones. None where a judge
    /// is needed but was not asked or has given no score.
    fn distance(&self, one: &Value, other: &Value) -> Option<f64>;

    /// The decision as a number, for a scorer that knows larger and smaller distances; none where only a text is
    /// compared.
    fn number(&self, decision: &Value) -> Option<f64> {
        let _ = decision;
        None
    }

    /// A text that two decisions share exactly if their distance is 0.
    fn class(&self, decision: &Value) -> String {
        decision.to_string()
    }

    /// The judge that has to be asked; none for a scorer that computes every distance by itself. Such a
    /// distance is symmetric.
    fn asked(&self) -> Option<&AskedJudge> {
        None
    }
}

/// A kind of scorer, as the registry knows it.
pub trait ScorerKind: Sync {
    /// The name of the kind under `scorer`.
    fn name(&self) -> &'static str;

    /// A sentence about the kind for the reference of the configuration.
    fn description(&self) -> &'static str;

    /// The JSON schema of the settings, as in `scorer: {NAME: SETTINGS}`; none where the kind has
    /// no settings.
    fn schema(&self) -> Option<Value>;

    /// Makes the scorer. The settings fit the schema, and are null where there is none.
    ///
    /// # Errors
    ///
    /// The problem of the settings, for a person.
    fn open(&self, settings: &Value) -> Result<Box<dyn Scorer>, String>;

    /// Makes the scorer again, with the models that a configuration declares, where the scorer calls one.
    ///
    /// # Errors
    ///
    /// The problem of the settings, for a person.
    fn open_with(
        &self,
        settings: &Value,
        config: &Config,
    ) -> Result<Option<Box<dyn Scorer>>, String> {
        let _ = (settings, config);
        Ok(None)
    }

    /// The settings of the judge that the scorer asks; none where it asks nobody. Tests of how far a
    /// scorer can be trusted put this judge on trial.
    fn judge(&self, settings: &Value) -> Option<JudgeSettings> {
        let _ = settings;
        None
    }
}

/// The kind of a decision, for messages: "a list of 3", "an object with 2 fields".
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(map) => format!("an object with {} fields", map.len()),
    }
}

/// Every kind of scorer, in the order of the reference. The first one is the default.
const ALL: &[&dyn ScorerKind] = &[&ExactKind, &SetKind, &OrdinalKind, &EmbeddingKind, &LlmKind];
