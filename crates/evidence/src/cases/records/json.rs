//! Finds the positions of the values in a JSON text, so that one value can be replaced without changing any other byte.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The type of a value, recognised by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonType {
    Text,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

impl JsonType {
    /// The type of a valid value.
    pub(super) fn of_value(value: &str) -> Self {
        match value.as_bytes().first() {
            Some(b'"') => Self::Text,
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    /// The name of the type in a message, with its article.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Null => "null",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A key of an object with the position of its value.
#[derive(Clone, Debug)]
pub(super) struct MemberSpan {
    pub(super) key: String,
    pub(super) value: Range<usize>,
}

/// The members of the object at a position in a text, in order. The whole object is checked to be valid JSON. Fails if
/// the text there is not an object, or if it contains a key twice.
pub(super) fn members(text: &str, at: &Range<usize>) -> serde_json::Result<Vec<MemberSpan>> {
    let found: ObjectMembers<'_> = serde_json::from_str(&text[at.clone()])?;
    let span = |(key, value): (String, &RawValue)| MemberSpan {
        key,
        value: span_of(text, value),
    };
    Ok(found.0.into_iter().map(span).collect())
}

/// The elements of the array at a position in a text. Fails if the text there is not an array.
pub(super) fn elements(text: &str, at: &Range<usize>) -> serde_json::Result<Vec<Range<usize>>> {
    let found: Vec<&RawValue> = serde_json::from_str(&text[at.clone()])?;
    Ok(found
        .into_iter()
        .map(|value| span_of(text, value))
        .collect())
}

/// The text without one member of an object in it, and without the comma next to it.
pub(super) fn without(text: &str, object: &Range<usize>, of: &[MemberSpan], at: usize) -> String {
    let gone = match at.checked_sub(1) {
        Some(before) => of[before].value.end..of[at].value.end,
        None => {
            let end = of[at].value.end;
            let comma = text[end..object.end].find(',').filter(|_| of.len() > 1);
            object.start + 1..comma.map_or(end, |comma| end + comma + 1)
        }
    };
    let mut rest = text.to_owned();
    rest.replace_range(gone, "");
    rest
}

/// The position of a borrowed value in the text from which it was read.
fn span_of(text: &str, value: &RawValue) -> Range<usize> {
    let value = value.get();
    let start = value.as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.len()
}

/// The members of an object in their original form.
struct ObjectMembers<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for ObjectMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = ObjectMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(String, &'de RawValue)> = Vec::new();
                let mut keys = std::collections::HashSet::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if !keys.insert(key.clone()) {
                        let key: String = key.chars().take(80).collect();
                        return Err(A::Error::custom(format!(
                            "the key {key:?} stands in the object twice"
                        )));
                    }
                    members.push((key, value));
                }
                Ok(ObjectMembers(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Range<usize> {
        0..text.len()
    }

    #[test]
    fn values_are_found_where_they_stand() {
        let text = r#" {"a" : [1, "x\"]", {"b":2}] , "é":null} "#;
        let found = members(text, &whole(text)).expect("an object");
        let values: Vec<&str> = found
            .iter()
            .map(|member| &text[member.value.clone()])
            .collect();
        assert_eq!(values, [r#"[1, "x\"]", {"b":2}]"#, "null"]);
        assert_eq!(found[1].key, "é");
        let inside = elements(text, &found[0].value).expect("an array");
        let values: Vec<&str> = inside.iter().map(|value| &text[value.clone()]).collect();
        assert_eq!(values, ["1", r#""x\"]""#, r#"{"b":2}"#]);
    }

    #[test]
    fn a_member_is_taken_out_with_one_comma() {
        for (text, gone, rest) in [
            (r#"{"a": 1, "b": 2, "c": 3}"#, 0, r#"{ "b": 2, "c": 3}"#),
            (r#"{"a": 1, "b": 2, "c": 3}"#, 1, r#"{"a": 1, "c": 3}"#),
            (r#"{"a": 1, "b": 2}"#, 1, r#"{"a": 1}"#),
            (r#"{"a": 1 }"#, 0, "{ }"),
            ("{\"a\" : \",\" ,\"b\":2}", 0, "{\"b\":2}"),
        ] {
            let found = members(text, &whole(text)).expect("an object");
            assert_eq!(without(text, &whole(text), &found, gone), rest);
        }
    }

    #[test]
    fn hostile_text_is_refused_or_passed_over_and_never_overflows_the_stack() {
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(200_000), "]".repeat(200_000));
        let found =
            members(&deep, &whole(&deep)).expect("depth that nobody looks into is no problem");
        assert_eq!(found.len(), 1);
        for text in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": 1"#,
            r#"{"a": NaN}"#,
            "[1]",
            "",
            "{\"a\": \"\u{1}\"}",
        ] {
            assert!(members(text, &whole(text)).is_err(), "{text}");
        }
        let huge = format!("{{\"a\": 1e{}, \"b\": \"\\ud83d\"}}", "9".repeat(5_000));
        assert_eq!(
            members(&huge, &whole(&huge)).map(|found| found.len()).ok(),
            Some(2)
        );
    }
}
