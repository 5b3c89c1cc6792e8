//! Decisions without their texts: what stands in place of a decision is the same for two decisions exactly if they are
//! the same, so that every scorer finds the same distances.

use serde_json::Value;

/// A decision without its texts. Numbers, booleans and null are no texts. A list keeps its length, since a scorer of
/// sets compares the entries.
pub(super) fn decision(whole: Value) -> Value {
    match whole {
        Value::String(text) => kelvin_record::withheld(&text).into(),
        Value::Array(list) => list.into_iter().map(decision).collect(),
        Value::Object(_) => kelvin_record::withheld(&whole.to_string()).into(),
        other => other,
    }
}

/// Whether a decision is one without its texts.
pub(super) fn is_one(of: &Value) -> bool {
    match of {
        Value::String(text) => kelvin_record::withheld(text) == *text,
        Value::Array(list) => list.iter().any(is_one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kelvin_run::judge::{self, Choice};

    #[test]
    fn every_scorer_finds_the_same_distances_without_the_texts() {
        let scorers = [
            (
                json!("exact"),
                vec![
                    json!("a"),
                    json!("b"),
                    json!(1),
                    json!(3),
                    json!(true),
                    json!(null),
                ],
            ),
            (
                json!({"ordinal": ["low", "medium", "high"]}),
                vec![json!("low"), json!("medium"), json!("high")],
            ),
            (
                json!("set"),
                vec![
                    json!(["a", "b"]),
                    json!(["b"]),
                    json!([]),
                    json!("b"),
                    json!(["a", 1]),
                ],
            ),
        ];
        for (choice, decisions) in scorers {
            let scorer = judge::of(&Choice::read(&choice).expect("a scorer"));
            for one in &decisions {
                let without = decision(one.clone());
                assert_eq!(decision(without.clone()), without, "twice is once");
                assert!(scorer.accepts(&without).is_ok(), "{choice}: {without}");
                for other in &decisions {
                    assert_eq!(
                        scorer.distance(one, other),
                        scorer.distance(&without, &decision(other.clone())),
                        "{choice}: {one} and {other}"
                    );
                }
            }
        }
    }
}
