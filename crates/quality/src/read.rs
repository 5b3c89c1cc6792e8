//! Parses an output as JSON that has the same meaning for every parser. A key that occurs twice in one object has
//! different values in different parsers, so such an output is rejected.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses one JSON value. Fails with the reason why the bytes are rejected: besides invalid JSON, these are numbers
/// beyond the range of a 64-bit float, `NaN`, nesting beyond 128 levels, duplicate keys and anything after the value.
pub(super) fn json(bytes: &[u8]) -> Result<Value, String> {
    let read: Result<Strict, _> = serde_json::from_slice(bytes);
    read.map(|Strict(value)| value)
        .map_err(|error| error.to_string())
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            if map.contains_key(&key) {
                let key: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` stands twice"
                )));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn qlt_07_an_output_that_readers_may_read_differently_is_no_json() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let mut refusals = Vec::new();
        for text in [
            r#"{"a": 1, "a": null}"#,
            r#"{"a": {"b": 1, "b": 1}}"#,
            r#"{"a": NaN}"#,
            r#"{"a": 1e400}"#,
            r#"{"a": 1} {"a": 2}"#,
            "all is well",
            "",
            deep.as_str(),
        ] {
            let refused = json(text.as_bytes()).expect_err(text);
            refusals.push(refused.to_string());
        }
        insta::assert_snapshot!(refusals.join("\n"), @"
        the key `a` stands twice at line 1 column 19
        the key `b` stands twice at line 1 column 22
        expected value at line 1 column 7
        number out of range at line 1 column 11
        trailing characters at line 1 column 10
        expected value at line 1 column 1
        EOF while parsing a value at line 1 column 0
        recursion limit exceeded at line 1 column 128
        ");
        assert!(json(b"{\"a\": \"\xff\"}").is_err());
    }

    #[test]
    fn every_other_value_is_read_as_it_is() {
        let text = r#"{"a": [1, -2, 0.5, 18446744073709551615, "x", true, null, {"b": {}}]}"#;
        let plain: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(json(text.as_bytes()), Ok(plain));
        assert_eq!(json(b" 0 "), Ok(json!(0)));
    }
}
