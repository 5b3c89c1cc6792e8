//! The distance between two decisions. A [`Scorer`] says which decisions it takes and how far
//! apart two of them are; nothing else in the house compares decisions.

mod exact;
mod ordinal;
mod set;

use serde_json::Value;

use crate::config::ScorerSettings;

/// A way to compare two decisions.
pub(crate) trait Scorer: Sync {
    /// Names the scorer and its version in reports; figures of different scorers are not compared.
    fn id(&self) -> String;

    /// Refuses a decision that it cannot compare, in words that fit after "the decision is".
    fn accepts(&self, decision: &Value) -> Result<(), String>;

    /// The distance in `[0, 1]` between two accepted decisions; symmetric, 0 for equal ones.
    fn distance(&self, one: &Value, other: &Value) -> f64;
}

/// The scorer that the configuration asks for.
pub(crate) fn of(settings: &ScorerSettings) -> Box<dyn Scorer> {
    match settings {
        ScorerSettings::Exact => Box::new(exact::Exact),
        ScorerSettings::Ordinal(levels) => Box::new(ordinal::Ordinal::new(levels.clone())),
        ScorerSettings::Set => Box::new(set::Set),
    }
}

/// The scorer of this id, as a report has it; none where this kelvin knows none of that id. An
/// ordinal one needs its levels.
pub(crate) fn stored(id: &str, levels: &[String]) -> Option<Box<dyn Scorer>> {
    let settings = match levels {
        [] => vec![ScorerSettings::Exact, ScorerSettings::Set],
        levels => vec![ScorerSettings::Ordinal(levels.to_vec())],
    };
    let mut scorers = settings.iter().map(of);
    scorers.find(|scorer| scorer.id() == id)
}

/// What a decision is, for messages: "a list of 3", "an object with 2 fields".
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(map) => format!("an object with {} fields", map.len()),
    }
}
