//! Reads the description of a value from a JSON schema: its alternatives, the keys of a mapping, the allowed words of a
//! text, and the same in words for a person. It supports the part of JSON Schema that the types of `kelvin.yaml` and its related files produce.

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

/// The description of the accepted values: "a whole number from 1 to 100".
pub fn wanted(schema: &Value) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for branch in branches(schema) {
        // A key that may be left out also takes null, which nobody writes on purpose.
        if branch.get("type").and_then(Value::as_str) == Some("null") {
            continue;
        }
        let words = words(branch);
        if let (true, Some(key)) = (words.is_empty(), only_key(branch)) {
            keys.push(key);
            continue;
        }
        if words.len() > 3 {
            parts.push("one of the known names".to_owned());
        } else if words.is_empty() {
            let described = described(branch);
            // Mappings that are distinguished by a key all have the same description.
            if parts.last() != Some(&described) {
                parts.push(described);
            }
        } else {
            parts.extend(words.iter().map(|word| format!("`{word}`")));
        }
    }
    // Mappings that are distinguished by a key are listed together, after the shorter alternatives.
    parts.extend(match &keys[..] {
        [] => None,
        [only] => Some(format!("a mapping with the key {only}")),
        keys => Some(format!("a mapping with one of the keys {}", either(keys))),
    });
    match &parts[..] {
        [] => "something else".to_owned(),
        parts => either(parts),
    }
}

/// Joins the parts: "one", "one or two", or "one, two or three".
pub(super) fn either(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// The key of a mapping that has exactly one key; none for any other value.
pub(super) fn only_key(branch: &Value) -> Option<String> {
    let of_map = takes(branch, &Content::Map(Vec::new()))
        && !takes_anything(branch)
        && !takes(branch, &Content::Bool(true))
        && !takes(branch, &Content::List(Vec::new()));
    let mut keys = properties(branch).map(|(key, _)| format!("`{key}`"));
    let only = keys.next().filter(|_| of_map)?;
    keys.next().is_none().then_some(only)
}

fn described(branch: &Value) -> String {
    if takes_anything(branch) {
        "any value".to_owned()
    } else if takes(branch, &Content::Bool(true)) {
        "`true` or `false`".to_owned()
    } else if takes(branch, &Content::Integer(0.into())) {
        let whole = if takes(branch, &Content::Float(0.0)) {
            "a number"
        } else {
            "a whole number"
        };
        format!("{whole}{}", limits(branch))
    } else if takes(branch, &Content::List(Vec::new())) {
        let items = branch.get("items").map(wanted).unwrap_or_default();
        match &*items {
            "a string" => "a list of strings".to_owned(),
            _ => format!("a list, each entry {items}"),
        }
    } else if takes(branch, &Content::Map(Vec::new())) {
        "a mapping".to_owned()
    } else {
        "a string".to_owned()
    }
}

fn limits(branch: &Value) -> String {
    let limit = |name| branch.get(name).filter(|limit| limit.is_number());
    match (
        limit("minimum"),
        limit("exclusiveMinimum"),
        limit("maximum"),
    ) {
        (Some(least), _, Some(most)) => format!(" from {least} to {most}"),
        (None, Some(bound), Some(most)) => format!(" above {bound} and at most {most}"),
        (Some(least), _, None) => format!(" from {least}"),
        _ => String::new(),
    }
}
