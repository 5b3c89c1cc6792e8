//! What a schema wants of a value, in words for a person.

use serde_json::Value;

use super::branch::{branches, properties, takes, takes_anything, words};
use super::yaml::Content;

/// What a schema wants, in words: "a whole number from 1 to 100".
pub(crate) fn wanted(schema: &Value) -> String {
    let mut parts: Vec<String> = Vec::new();
    for branch in branches(schema) {
        let words = words(branch);
        if words.len() > 3 {
            parts.push("one of the known names".to_owned());
        } else if words.is_empty() {
            let described = described(branch);
            // Mappings that a key tells apart are described alike.
            if parts.last() != Some(&described) {
                parts.push(described);
            }
        } else {
            parts.extend(words.iter().map(|word| format!("`{word}`")));
        }
    }
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => "something else".to_owned(),
    }
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
        let keys: Vec<String> = properties(branch)
            .map(|(key, _)| format!("`{key}`"))
            .collect();
        match &keys[..] {
            [only] => format!("a mapping with the key {only}"),
            _ => "a mapping".to_owned(),
        }
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
