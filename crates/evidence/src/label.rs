//! The label of a case: the answer that a person expects.
//!
//! A table of labels contains only texts, but a decision may be a number or a boolean. So a label has two readings, one
//! as a text and one as JSON, and the reading that is closer to the answer counts: `1` matches the answer `1` and the
//! answer `"1"`. `True` and `FALSE` are also read as JSON, since tables are often written by Python or a spreadsheet.
//! To match only the text, the label has to be written as a JSON string.

use std::fmt;

use serde_json::Value;

use super::decision;
use kelvin_run::judge::Scorer;

/// A label with its readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The values that the label can mean: its JSON value first, if it is valid JSON, and its text.
    readings: Vec<Value>,
}

impl Label {
    /// Reads a label as a person wrote it.
    pub fn of(written: &str) -> Self {
        let text = || Value::from(written);
        let readings = match serde_json::from_str::<Value>(written) {
            Ok(Value::String(meant)) => vec![Value::String(meant)],
            Ok(meant) => vec![meant, text()],
            // Python and spreadsheets write these words into a table.
            Err(_) => match written {
                "True" | "TRUE" => vec![Value::Bool(true), text()],
                "False" | "FALSE" => vec![Value::Bool(false), text()],
                _ => vec![text()],
            },
        };
        Self { readings }
    }

    /// Rejects a label with which no decision could ever agree, in words that fit after "the label is". Fails with the
    /// reason that the scorer gives.
    pub(crate) fn accepted_by(&self, scorer: &dyn Scorer) -> Result<(), String> {
        let mut refused = Ok(());
        for reading in &self.readings {
            match scorer.accepts(reading) {
                Ok(()) => return Ok(()),
                // The text is the last reading, so its reason is reported: it is more useful to the author than the
                // reason for the JSON value.
                Err(why) => refused = Err(why),
            }
        }
        refused
    }

    /// How far a decision agrees with the label, from 0 to 1; none if only a judge could say that.
    pub fn agreement(&self, decision: &Value, scorer: &dyn Scorer) -> Option<f64> {
        let readings = self.readings.iter();
        let accepted = readings.filter(|reading| scorer.accepts(reading).is_ok());
        let is_withheld = decision::is_withheld_decision(decision);
        let distances = accepted.filter_map(|reading| match is_withheld {
            // A decision that was replaced agrees with a label that would be replaced by the same text.
            true => scorer.distance(&decision::withheld_decision(reading.clone()), decision),
            false => scorer.distance(reading, decision),
        });
        distances
            .min_by(f64::total_cmp)
            .map(|nearest| 1.0 - nearest)
    }
}

/// Formats the label like decisions: as JSON.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.readings.first();
        first.map_or(Ok(()), |reading| reading.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kelvin_run::judge::{self, Choice};

    fn agreement(label: &str, decision: &Value) -> f64 {
        let scorer = judge::chosen_scorer(&Choice::default());
        let agreement = Label::of(label).agreement(decision, &*scorer);
        agreement.expect("it asks nobody")
    }

    #[test]
    fn a_label_is_what_it_says_as_a_text_or_as_json_whichever_is_nearer() {
        for (label, right) in [
            ("bug", json!("bug")),
            ("\"bug\"", json!("bug")),
            ("1", json!(1)),
            ("1", json!("1")),
            ("1.0", json!(1)),
            ("true", json!(true)),
            ("true", json!("true")),
            ("True", json!(true)),
            ("True", json!("True")),
            ("FALSE", json!(false)),
            ("null", json!(null)),
            ("null", json!("null")),
            ("\"\"", json!("")),
            ("{", json!("{")),
        ] {
            assert_eq!(agreement(label, &right), 1.0, "{label} and {right}");
            let without = decision::withheld_decision(right);
            assert_eq!(agreement(label, &without), 1.0, "{label} and {without}");
        }
        for (label, wrong) in [
            ("bug", json!("Bug")),
            ("true", json!(false)),
            ("False", json!(true)),
            ("True", json!("true")),
            ("\"1\"", json!(1)),
            ("null", json!(0)),
            ("1", json!("2")),
        ] {
            assert_eq!(agreement(label, &wrong), 0.0, "{label} and {wrong}");
            let without = decision::withheld_decision(wrong);
            assert_eq!(agreement(label, &without), 0.0, "{label} and {without}");
        }
        assert_eq!(agreement("700", &json!(630)), 0.9);
    }

    #[test]
    fn a_label_that_no_decision_could_agree_with_is_refused() {
        let levels = Choice::read(&json!({"ordinal": ["low", "high"]})).expect("a scorer");
        let levels = judge::chosen_scorer(&levels);
        assert_eq!(Label::of("low").accepted_by(&*levels), Ok(()));
        let refused = Label::of("severe").accepted_by(&*levels);
        insta::assert_snapshot!(refused.expect_err("it is no level"), @"`severe`, not one of the levels low < high");
        let set = judge::chosen_scorer(&Choice::read(&json!("set")).expect("a scorer"));
        let both = Label::of(r#"["a", "b"]"#);
        assert_eq!(both.accepted_by(&*set), Ok(()));
        assert_eq!(both.agreement(&json!(["b", "a"]), &*set), Some(1.0));
    }

    #[test]
    fn labels_that_mean_the_same_are_the_same() {
        assert_eq!(Label::of("\"bug\""), Label::of("bug"));
        assert_ne!(Label::of("\"1\""), Label::of("1"));
        assert_eq!(Label::of("bug").to_string(), "\"bug\"");
        assert_eq!(Label::of("1").to_string(), "1");
    }
}
