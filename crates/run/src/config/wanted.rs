//! Describes in words which values a schema accepts.

use serde_json::Value;

use super::branch::{branches, properties, takes, takes_anything, words};
use super::yaml::Content;

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
fn either(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// The key of a mapping that has exactly one key; none for any other value.
fn only_key(branch: &Value) -> Option<String> {
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
