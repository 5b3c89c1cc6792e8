//! Ordered levels: the distance in steps divided by the largest possible distance.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{Scorer, ScorerKind, describe};
use kelvin_base::digest::Fields;
use kelvin_record::withheld;

/// `|i - j| / (n - 1)` over `n` ordered levels.
#[derive(Debug)]
struct Ordinal {
    levels: Vec<String>,
}

/// The kind of [`Ordinal`].
pub(super) struct OrdinalKind;

impl ScorerKind for OrdinalKind {
    fn name(&self) -> &'static str {
        "ordinal"
    }

    fn description(&self) -> &'static str {
        "Ordered levels, lowest first, by the steps between them."
    }

    fn schema(&self) -> Option<Value> {
        Some(json!({
            "type": "array",
            "minItems": 2,
            "items": { "type": "string", "minLength": 1 },
        }))
    }

    fn open(&self, settings: &Value) -> Result<Box<dyn Scorer>, String> {
        let levels: Vec<String> = Vec::deserialize(settings)
            .map_err(|error| format!("the levels of `ordinal` cannot be read: {error}"))?;
        match levels.len() {
            0 | 1 => Err("`ordinal` needs at least 2 levels".to_owned()),
            _ => Ok(Box::new(Ordinal::new(levels))),
        }
    }
}

impl Ordinal {
    /// Levels from lowest to highest; there are at least two, and they are distinct, which the configuration checks.
    const fn new(levels: Vec<String>) -> Self {
        Self { levels }
    }

    /// The index of a level, or of its placeholder in a report.
    fn place(&self, decision: &Value) -> Option<usize> {
        let text = decision.as_str()?;
        let mut levels = self.levels.iter();
        levels.position(|level| level == text || withheld(level) == text)
    }
}

impl Scorer for Ordinal {
    fn id(&self) -> String {
        let key = self
            .levels
            .iter()
            .fold(Fields::of("kelvin/ordinal/v1"), |fields, level| {
                fields.field("level", level)
            });
        format!("ordinal/v1-{}", key.digest().short(8))
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        if self.place(decision).is_some() {
            return Ok(());
        }
        let found = decision
            .as_str()
            .map_or_else(|| describe(decision), |text| format!("`{text}`"));
        Err(format!(
            "{found}, not one of the levels {}",
            self.levels.join(" < ")
        ))
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        Some(match (self.place(one), self.place(other)) {
            (Some(a), Some(b)) => a.abs_diff(b) as f64 / (self.levels.len() - 1) as f64,
            _ => f64::from(one != other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk() -> Ordinal {
        Ordinal::new(["low", "medium", "high"].map(str::to_owned).to_vec())
    }

    #[test]
    fn distance_counts_steps() {
        assert_eq!(risk().distance(&json!("low"), &json!("high")), Some(1.0));
        assert_eq!(risk().distance(&json!("low"), &json!("medium")), Some(0.5));
        assert_eq!(risk().distance(&json!("high"), &json!("high")), Some(0.0));
    }

    #[test]
    fn a_decision_that_is_no_level_is_refused() {
        insta::assert_snapshot!(risk().accepts(&json!("severe")).unwrap_err(), @"`severe`, not one of the levels low < medium < high");
        assert!(risk().accepts(&json!(["low"])).is_err());
    }

    #[test]
    fn the_levels_are_part_of_the_id() {
        let other = Ordinal::new(["high", "medium", "low"].map(str::to_owned).to_vec());
        assert_ne!(risk().id(), other.id());
    }
}
