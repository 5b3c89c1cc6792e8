//! Whether two JSON values are equal.

use serde_json::Value;

/// Whether two values are equal; `1` and `1.0` are.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            // As floating-point numbers, two different large integers may look equal.
            let has_fraction = one.is_f64() || other.is_f64();
            let both = one.as_f64().zip(other.as_f64());
            one == other || (has_fraction && both.is_some_and(|(one, other)| one == other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written_and_large_ones_to_the_last_digit() {
        for (one, other, are_same) in [
            (json!(1), json!(1.0), true),
            (json!([1, {"a": 2.0}]), json!([1.0, {"a": 2}]), true),
            (json!(1), json!("1"), false),
            (json!(1), json!(true), false),
            (json!({"a": 1}), json!({"a": 1, "b": 1}), false),
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992_u64),
                false,
            ),
        ] {
            assert_eq!(same(&one, &other), are_same, "{one} {other}");
            assert_eq!(same(&other, &one), are_same, "{one} {other}");
        }
    }
}
