//! Whether two decisions are equal; two numbers are compared by their relative difference.

use serde_json::{Number, Value};

use super::set::is_list_of_scalars;
use super::{Scorer, ScorerKind, describe};

/// The default: strings, booleans and null are either equal or not; numbers have the distance `min(1, |a-b| / max(|a|,
/// |b|, 1))`; values of different JSON types have the distance 1.
#[derive(Debug)]
struct Exact;

/// The kind of [`Exact`].
pub(super) struct ExactKind;

impl ScorerKind for ExactKind {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn description(&self) -> &'static str {
        "Equal or not; numbers by their relative difference."
    }

    fn schema(&self) -> Option<Value> {
        None
    }

    fn open(&self, _: &Value) -> Result<Box<dyn Scorer>, String> {
        Ok(Box::new(Exact))
    }
}

impl Scorer for Exact {
    fn id(&self) -> String {
        "exact/v1".to_owned()
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        match decision {
            Value::Array(_) if is_list_of_scalars(decision) => Err(format!(
                "{}, which `scorer: set` compares, and not a string, number, boolean or null",
                describe(decision)
            )),
            Value::Array(_) | Value::Object(_) => Err(format!(
                "{}, not a string, number, boolean or null",
                describe(decision)
            )),
            _ => Ok(()),
        }
    }

    fn number(&self, decision: &Value) -> Option<f64> {
        decision.as_f64()
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        Some(match (one, other) {
            (Value::Number(a), Value::Number(b)) => numeric(a, b),
            _ => f64::from(one != other),
        })
    }
}

/// Integers are compared as integers first, because as f64 two neighbours above 2^53 would be equal.
fn numeric(a: &Number, b: &Number) -> f64 {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        if a == b {
            return 0.0;
        }
        let apart = a.abs_diff(b) as f64;
        return (apart / (a.unsigned_abs().max(b.unsigned_abs()).max(1) as f64)).min(1.0);
    }
    let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else {
        return f64::from(a != b);
    };
    if a == b {
        return 0.0;
    }
    // Each part is divided separately, so that the difference of two huge numbers stays finite.
    let scale = a.abs().max(b.abs()).max(1.0);
    (a / scale - b / scale).abs().min(1.0)
}

fn integer(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn distance(a: Value, b: Value) -> f64 {
        Exact.distance(&a, &b).expect("it asks nobody")
    }

    #[test]
    fn kel_21_strings_are_compared_exactly() {
        assert_eq!(distance(json!("a"), json!("a")), 0.0);
        assert_eq!(distance(json!("a"), json!("A")), 1.0);
        assert_eq!(distance(json!("a"), json!("a ")), 1.0);
    }

    #[test]
    fn kel_22_numbers_are_compared_by_relative_difference() {
        assert_eq!(distance(json!(0), json!(0.5)), 0.5);
        assert!((distance(json!(100), json!(90)) - 0.1).abs() < 1e-12);
        assert_eq!(distance(json!(-1), json!(1)), 1.0);
        assert_eq!(distance(json!(1), json!(1.0)), 0.0);
        assert!(
            distance(
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64)
            ) > 0.0
        );
    }

    #[test]
    fn kel_23_m13_different_json_types_are_one_apart() {
        assert_eq!(distance(json!(true), json!(1)), 1.0);
        assert_eq!(distance(json!(false), json!(0)), 1.0);
        assert_eq!(distance(json!("1"), json!(1)), 1.0);
        assert_eq!(distance(json!(null), json!("")), 1.0);
        assert_eq!(distance(json!(null), json!(null)), 0.0);
    }

    #[test]
    fn kel_25_lists_and_objects_are_refused() {
        let refusal = Exact.accepts(&json!(["a", "b"])).unwrap_err();
        insta::assert_snapshot!(refusal, @"a list of 2, which `scorer: set` compares, and not a string, number, boolean or null");
        // A set takes no list of lists either, so that it is no advice.
        let refusal = Exact.accepts(&json!([["a"], "b"])).unwrap_err();
        insta::assert_snapshot!(refusal, @"a list of 2, not a string, number, boolean or null");
        assert!(Exact.accepts(&json!({})).is_err());
        assert!(Exact.accepts(&json!(null)).is_ok());
    }

    proptest! {
        #[test]
        fn kel_24_numeric_distance_is_symmetric_and_bounded(
            a in proptest::num::f64::NORMAL | proptest::num::f64::ZERO,
            b in prop_oneof![
                proptest::num::f64::NORMAL,
                Just(1e308),
                Just(-1e308),
                Just(0.0)
            ],
        ) {
            let there = distance(json!(a), json!(b));
            prop_assert!((0.0..=1.0).contains(&there));
            prop_assert_eq!(there, distance(json!(b), json!(a)));
            prop_assert_eq!(distance(json!(a), json!(a)), 0.0);
        }
    }
}
