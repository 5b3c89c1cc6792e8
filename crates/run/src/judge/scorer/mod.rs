//! Says how far apart two decisions are, and which decisions can be compared at all.
//!
//! A scorer is one file in this folder and one line in the registry, and it is pure. Two of them have a
//! judge that is asked about pairs of decisions; `run` makes those calls, and what the judge has said is
//! kept in the records.

mod asked;
mod choice;
mod exact;
mod ordinal;
mod registry;
mod set;

use std::fmt;

use serde_json::Value;

use crate::config::Config;
use crate::judge::JudgeSettings;

pub use asked::{AskedJudge, Known, Pair};
pub use choice::{Choice, of, stored};
#[cfg(any(test, feature = "fixtures"))]
pub use registry::tests_only;

/// Grades decisions against each other.
pub trait Scorer: Send + Sync + fmt::Debug {
    /// Names the scorer and its version in reports; figures of different scorers are not compared.
    fn id(&self) -> String;

    /// Refuses a decision that it cannot compare, in words that fit after "the decision is".
    fn accepts(&self, decision: &Value) -> Result<(), String>;

    /// The distance in `[0, 1]` between two accepted decisions; 0 for equal ones. None where a judge
    /// has to be asked, and has not been asked or has given no score.
    fn distance(&self, one: &Value, other: &Value) -> Option<f64>;

    /// The decision as a number, where two of them can be further apart than others; none where only a text is compared.
    fn number(&self, decision: &Value) -> Option<f64> {
        let _ = decision;
        None
    }

    /// A text that is the same for two decisions whose distance is 0, and for no others.
    fn class(&self, decision: &Value) -> String {
        decision.to_string()
    }

    /// The judge that has to be asked; none for a scorer that knows every distance by itself. Such a
    /// distance is symmetric.
    fn asked(&self) -> Option<&AskedJudge> {
        None
    }
}

/// A kind of scorer, as the registry knows it.
pub trait ScorerKind: Sync {
    /// Its name under `scorer`.
    fn name(&self) -> &'static str;

    /// What it does, in a sentence for the reference of the configuration.
    fn description(&self) -> &'static str;

    /// The JSON schema of its settings, as in `scorer: {NAME: SETTINGS}`; none where the name
    /// stands alone.
    fn schema(&self) -> Option<Value>;

    /// Makes the scorer. The settings fit the schema, and are null where there is none.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, for a person.
    fn open(&self, settings: &Value) -> Result<Box<dyn Scorer>, String>;

    /// Makes the scorer again, where it calls a model that a configuration declares.
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, for a person.
    fn open_with(
        &self,
        settings: &Value,
        config: &Config,
    ) -> Result<Option<Box<dyn Scorer>>, String> {
        let _ = (settings, config);
        Ok(None)
    }

    /// The settings of the judge that the scorer asks; none where it asks nobody. Whoever wants to know
    /// how far a scorer can be trusted puts this judge on trial.
    fn judge(&self, settings: &Value) -> Option<JudgeSettings> {
        let _ = settings;
        None
    }
}

/// What a decision is, for messages: "a list of 3", "an object with 2 fields".
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
