//! Sets of labels: one minus the Jaccard index.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Scorer, ScorerKind, describe};

/// `1 - |A ∩ B| / |A ∪ B|` over lists of scalars; order and repetition do not count. Two empty sets
/// are equal. A scalar counts as a set with one member, so that a single label needs no list.
#[derive(Debug)]
struct Set;

/// The kind of [`Set`].
pub(super) struct SetKind;

impl ScorerKind for SetKind {
    fn name(&self) -> &'static str {
        "set"
    }

    fn description(&self) -> &'static str {
        "Lists as sets, by the share of what they have in common."
    }

    fn schema(&self) -> Option<Value> {
        None
    }

    fn open(&self, _: &Value) -> Result<Box<dyn Scorer>, String> {
        Ok(Box::new(Set))
    }
}

impl Scorer for Set {
    fn id(&self) -> String {
        "set/v1".to_owned()
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        match decision {
            Value::Object(_) => Err(format!("{}, not a list of scalars", describe(decision))),
            Value::Array(list) => {
                match list.iter().find(|item| item.is_array() || item.is_object()) {
                    Some(inner) => Err(format!("a list that holds {}", describe(inner))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn class(&self, decision: &Value) -> String {
        format!("[{}]", Vec::from_iter(members(decision)).join(", "))
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        let (one, other) = (members(one), members(other));
        let union = one.union(&other).count();
        if union == 0 {
            return Some(0.0);
        }
        Some(1.0 - one.intersection(&other).count() as f64 / union as f64)
    }
}

/// Whether a decision is a list that this scorer compares and `exact` does not.
pub fn is_list_of_scalars(decision: &Value) -> bool {
    decision.is_array() && Set.accepts(decision).is_ok()
}

/// The members as JSON text, which distinguishes `1` from `"1"`.
fn members(decision: &Value) -> BTreeSet<String> {
    match decision {
        Value::Array(list) => list.iter().map(Value::to_string).collect(),
        scalar => BTreeSet::from([scalar.to_string()]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn distance_is_one_minus_jaccard() {
        assert_eq!(
            Set.distance(&json!(["a", "b"]), &json!(["b", "a", "a"])),
            Some(0.0)
        );
        assert_eq!(
            Set.distance(&json!(["a", "b"]), &json!(["b", "c"])),
            Some(1.0 - 1.0 / 3.0)
        );
        assert_eq!(Set.distance(&json!([]), &json!([])), Some(0.0));
        assert_eq!(Set.distance(&json!([1]), &json!(["1"])), Some(1.0));
        assert_eq!(Set.distance(&json!("a"), &json!(["a"])), Some(0.0));
    }

    #[test]
    fn nested_lists_and_objects_are_refused() {
        assert!(Set.accepts(&json!([["a"]])).is_err());
        assert!(Set.accepts(&json!({"a": 1})).is_err());
        assert!(Set.accepts(&json!(["a", 1, null])).is_ok());
    }
}
