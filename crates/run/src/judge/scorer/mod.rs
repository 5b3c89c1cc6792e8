//! Says how far apart two decisions are, and which decisions can be compared at all.
//!
//! Each scorer is one file in this folder and one line in the list of kinds, and it makes no calls. Two scorers have a
//! judge that is asked about pairs of decisions. The run makes those calls, and the records store the answers of the
//! judge.

mod asked;
mod choice;
mod exact;
mod ordinal;
mod set;

use std::fmt;

use serde_json::Value;

use crate::config::Config;
use crate::judge::JudgeSettings;
use exact::ExactKind;
use ordinal::OrdinalKind;
use set::SetKind;

pub use asked::{AskedJudge, Known, Pair};
pub use choice::{Choice, chosen_scorer, stored};
pub use set::is_list_of_scalars;

/// Compares decisions.
pub trait Scorer: Send + Sync + fmt::Debug {
    /// Names the scorer and its version in reports; figures of different scorers are never compared.
    fn id(&self) -> String;

    /// Rejects a decision that the scorer cannot compare, in words that fit after "the decision is".
    fn accepts(&self, decision: &Value) -> Result<(), String>;

    /// The distance in `[0, 1]` between two accepted decisions; 0 for equal ones. None if a judge is needed but was not
    /// asked or has given no score.
    fn distance(&self, one: &Value, other: &Value) -> Option<f64>;

    /// The decision as a number, for a scorer with larger and smaller distances; none if it only compares texts.
    fn number(&self, decision: &Value) -> Option<f64> {
        let _ = decision;
        None
    }

    /// A text that is the same for two decisions exactly if their distance is 0.
    fn class(&self, decision: &Value) -> String {
        decision.to_string()
    }

    /// The judge for the distances; none for a scorer that computes every distance itself. A computed distance is
    /// symmetric.
    fn asked(&self) -> Option<&AskedJudge> {
        None
    }
}

/// A kind of scorer in the registry.
pub trait ScorerKind: Sync {
    /// The name of the kind under `scorer`.
    fn name(&self) -> &'static str;

    /// A sentence about the kind for the reference of the configuration.
    fn description(&self) -> &'static str;

    /// The JSON schema of the settings in `scorer: {NAME: SETTINGS}`; none if the kind has no settings.
    fn schema(&self) -> Option<Value>;

    /// Makes the scorer. The settings match the schema, and are null if there is none.
    ///
    /// # Errors
    ///
    /// Fails with the problem of the settings, for a person.
    fn open(&self, settings: &Value) -> Result<Box<dyn Scorer>, String>;

    /// Makes the scorer with the models that a configuration declares, if the scorer calls one.
    ///
    /// # Errors
    ///
    /// Fails with the problem of the settings, for a person.
    fn open_with(
        &self,
        settings: &Value,
        config: &Config,
    ) -> Result<Option<Box<dyn Scorer>>, String> {
        let _ = (settings, config);
        Ok(None)
    }

    /// The settings of the judge that the scorer asks; none if it asks no judge. `kelvin calibrate` tests this judge.
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
const ALL: &[&dyn ScorerKind] = &[
    &ExactKind,
    &SetKind,
    &OrdinalKind,
    &asked::EMBEDDING,
    &asked::LLM,
];
