//! Reads the description of a value from a JSON schema: its alternatives, the keys of a mapping, the allowed words of a
//! text. It supports the part of JSON Schema that the types of `kelvin.yaml` and its related files produce.

use serde_json::Value;

use super::yaml::Content;
use crate::targets::ModelName;

/// The keys that the schema of a mapping knows, with their schemas.
pub fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let known = schema.get("properties").and_then(Value::as_object);
    known
        .into_iter()
        .flatten()
        .map(|(key, value)| (&**key, value))
}

/// The alternatives of a schema, at any depth; the schema itself if it has none.
pub fn branches(schema: &Value) -> Vec<&Value> {
    let inner = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    match inner.and_then(Value::as_array) {
        Some(inner) => inner.iter().flat_map(branches).collect(),
        None => vec![schema],
    }
}

/// The key that distinguishes the alternatives of a mapping: each alternative has its own word under this key.
pub(super) fn tag<'a>(branches: &[&'a Value]) -> Option<&'a str> {
    let [first, _, ..] = branches else {
        return None;
    };
    let has_word = |branch: &Value, key: &str| branch["properties"][key]["const"].is_string();
    let mut keys = properties(first).map(|(key, _)| key);
    keys.find(|key| branches.iter().all(|branch| has_word(branch, key)))
}

/// Whether a text is the name of a declared model.
pub(super) fn names_a_model(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some(ModelName::FORMAT)
}

/// Whether an alternative accepts values of this type, regardless of their content.
pub(super) fn takes(branch: &Value, content: &Content) -> bool {
    let named = |name: &str| match branch.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    match content {
        Content::Null => named("null"),
        Content::Bool(_) => named("boolean"),
        Content::Integer(_) => named("integer") || named("number"),
        Content::Float(_) => named("number"),
        Content::Text(_) => named("string"),
        Content::List(_) => named("array"),
        Content::Map(_) => named("object"),
    }
}

/// The words that an alternative allows; none if any string is allowed.
pub(super) fn words(branch: &Value) -> Vec<&str> {
    let listed = branch.get("enum").and_then(Value::as_array);
    let only = branch.get("const");
    listed
        .into_iter()
        .flatten()
        .chain(only)
        .filter_map(Value::as_str)
        .collect()
}

/// Whether a schema allows any value.
pub(super) fn takes_anything(schema: &Value) -> bool {
    let says_something = ["type", "anyOf", "oneOf", "enum", "const", "$ref"];
    match schema {
        Value::Bool(takes) => *takes,
        schema => says_something.iter().all(|key| schema.get(key).is_none()),
    }
}
