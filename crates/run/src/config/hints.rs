//! Suggestions for mistakes: the nearest known name, the new name of an old key, the missing quotes.

use serde_json::Value;

use super::configure::Slip;
use super::shape::{branches, properties, wanted};
use super::yaml::{Content, Node};

/// Names for the general keys in other tools, and common guesses, each with the key of this program.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("cache_dir", "`cache: {dir: ...}` names the folder"),
    (
        "retry_policy",
        "the section is called `retry`, with the same keys",
    ),
    ("timeout", "write `timeout_s`, in seconds"),
    ("rate_limit", "write `max_per_minute`"),
    ("threads", "write `jobs`"),
    ("workers", "write `jobs`"),
    ("parallelism", "write `jobs`"),
];

/// Advice about a mistake in a general key.
pub(super) fn general(slip: &Slip<'_>) -> Option<String> {
    let Slip::UnknownKey(key) = slip else {
        return None;
    };
    let (_, help) = OTHER_NAMES.iter().find(|(other, _)| other == key)?;
    Some((*help).to_owned())
}

/// Advice about a key that is unknown at its position.
pub(super) fn unknown_key(key: &str, path: &[String], schema: &Value, root: &Value) -> String {
    let known: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
    if let Some(near) = nearest(key, &known) {
        return format!("did you mean `{near}`?");
    }
    let known = known.join(", ");
    match home(key, root, "").as_deref() {
        Some("") => format!(
            "`{key}` belongs at the top level, not under `{}`",
            path.join(".")
        ),
        // Within a section, the user may have meant another key of the same section.
        Some(section) if !path.is_empty() => {
            format!("known here: {known}; `{key}` is a key of `{section}`")
        }
        Some(section) => format!("`{key}` belongs under `{section}`"),
        None => format!("known here: {known}"),
    }
}

/// Advice about a word that is not in the list.
pub(super) fn word(text: &str, words: &[&str]) -> Option<String> {
    if let Some(near) = nearest(text, words) {
        return Some(format!("did you mean `{near}`?"));
    }
    (words.len() > 3).then(|| format!("known names: {}", words.join(", ")))
}

/// Advice about a value of the wrong type.
pub(super) fn wrong_type(key: &str, node: &Node, schema: &Value, source: &str) -> Option<String> {
    let wants = wanted(schema);
    let written = source.get(node.at.clone()).unwrap_or("").trim();
    match &node.content {
        Content::Null => {
            let rest = source[node.at.start.min(source.len())..].lines().next();
            if rest.unwrap_or("").contains('#') || comment_on_line(source, node.at.start) {
                return Some("`#` begins a comment; text with a `#` goes in quotes".to_owned());
            }
            Some("give it a value, or leave the line out".to_owned())
        }
        Content::Bool(_) | Content::Integer(_) | Content::Float(_)
            if wants.contains("a string") =>
        {
            Some(format!("put it in quotes: \"{written}\""))
        }
        Content::Bool(value) => {
            let has_switch = branches(schema)
                .iter()
                .any(|branch| properties(branch).any(|(name, _)| name == "enabled"));
            has_switch.then(|| format!("write `{key}: {{enabled: {value}}}`"))
        }
        Content::Text(text) => {
            let numeric = text.trim().parse::<f64>().is_ok();
            let boolean = matches!(
                &*text.to_lowercase(),
                "yes" | "no" | "on" | "off" | "true" | "false"
            );
            if wants.contains("a list") {
                Some(format!("a list is written as `{key}: [{written}]`"))
            } else if wants.contains("number") && numeric {
                Some("write the number without quotes".to_owned())
            } else if wants.contains("`true` or `false`") && boolean {
                let on = matches!(&*text.to_lowercase(), "yes" | "on" | "true");
                Some(format!("write `{on}`, without quotes"))
            } else {
                None
            }
        }
        Content::Float(_) if wants.contains("whole number") && written.starts_with('0') => {
            Some("write the number without leading zeros".to_owned())
        }
        Content::Integer(_) | Content::Float(_) if wants.contains("a list") => {
            Some(format!("a list is written as `{key}: [{written}]`"))
        }
        Content::Map(_) if wants == "a string" => {
            Some("text that begins with `{` or holds `: ` goes in quotes".to_owned())
        }
        _ => None,
    }
}

fn comment_on_line(source: &str, at: usize) -> bool {
    let before = &source[..at.min(source.len())];
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    source[line..]
        .lines()
        .next()
        .is_some_and(|text| text.contains('#'))
}

/// The name that was probably meant.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    // A text of this length is far longer than any key, so no name is similar, and the distance would take quadratic
    // time.
    if written.len() > 60 {
        return None;
    }
    let written = plain(written);
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&written, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The section to which this key belongs.
fn home(key: &str, schema: &Value, section: &str) -> Option<String> {
    // A section of the same depth is nearer than one within another.
    if properties(schema).any(|(name, _)| name == key) {
        return Some(section.to_owned());
    }
    for (name, inner) in properties(schema) {
        for branch in branches(inner) {
            let deeper = if section.is_empty() {
                name.to_owned()
            } else {
                format!("{section}.{name}")
            };
            if let Some(found) = home(key, branch, &deeper) {
                return Some(found);
            }
        }
    }
    None
}
