//! `${NAME}` in the texts of the checks. It is replaced by an environment variable, of which only the name is ever
//! shown, or by a field of the scenario, which is not secret and differs from scenario to scenario.

use std::collections::BTreeMap;

use serde_json::Value;

/// The keys whose texts are not changed: the shell has the same variables, and no value may reach the judge, whose
/// questions are stored and sent elsewhere.
const AS_WRITTEN: [&str; 4] = ["command", "criteria", "rubric", "prompt_template"];

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPart<'t> {
    Text(&'t str),
    Variable(&'t str),
}

/// The parts of a text. `$${` means a literal `${`, and `${…}` stays unchanged if it does not contain a name.
pub(super) fn parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text[from..].find("${") {
        let at = from + found;
        let rest = &text[at + 2..];
        let name = rest
            .split('}')
            .next()
            .filter(|name| name.len() < rest.len());
        let name = name.filter(|name| is_name(name));
        if text[..at].ends_with('$') && at > start {
            parts.push(TextPart::Text(&text[start..at - 1]));
            (start, from) = (at, at + 2);
        } else if let Some(name) = name {
            parts.push(TextPart::Text(&text[start..at]));
            parts.push(TextPart::Variable(name));
            start = at + 2 + name.len() + 1;
            from = start;
        } else {
            from = at + 2;
        }
    }
    parts.push(TextPart::Text(&text[start..]));
    parts.retain(|part| *part != TextPart::Text(""));
    parts
}

/// The prefix of the name of every parameter.
const PARAMETER: &str = "KELVIN_PARAM_";
/// The names of the other fields of a scenario.
pub(super) const ID: &str = "KELVIN_SCENARIO";
pub(super) const PROMPT: &str = "KELVIN_PROMPT";
pub(super) const EXPECTED: &str = "KELVIN_EXPECTED";

/// Whether a name means a field of the scenario, even if the environment has a variable of that name.
pub(super) fn is_field(name: &str) -> bool {
    [ID, PROMPT, EXPECTED].contains(&name) || name.starts_with(PARAMETER)
}

/// The name that is used for a parameter.
pub(super) fn of_parameter(name: &str) -> String {
    format!("{PARAMETER}{}", name.to_uppercase())
}

/// The parts of a text in which only fields of a scenario are variables. All other text stays unchanged, since its
/// language has its own dollars and braces.
pub(super) fn fields(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text[from..].find("${") {
        let at = from + found;
        from = at + 2;
        let Some(length) = text[from..].find('}') else {
            break;
        };
        let name = &text[from..from + length];
        if is_name(name) && is_field(name) && !text[..at].ends_with('$') {
            parts.extend([TextPart::Text(&text[start..at]), TextPart::Variable(name)]);
            start = from + length + 1;
            from = start;
        }
    }
    parts.push(TextPart::Text(&text[start..]));
    parts.retain(|part| *part != TextPart::Text(""));
    parts
}

/// Whether a word can be the name of a variable.
pub(super) fn is_name(word: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    word.starts_with(letter) && word.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// The names of the variables in a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        TextPart::Variable(name) => Some(name),
        TextPart::Text(_) => None,
    })
}

/// A value in which the variables in all texts are replaced; the replaced variables are added to `used`. A variable
/// that is not set stays unchanged, because the configuration was already rejected for it.
pub(super) fn filled(
    value: &Value,
    get: &dyn Fn(&str) -> Option<String>,
    used: &mut BTreeMap<String, String>,
) -> Value {
    match value {
        Value::String(text) => {
            let mut filled = String::new();
            for part in parts(text) {
                match part {
                    TextPart::Text(text) => filled.push_str(text),
                    TextPart::Variable(name) => match get(name) {
                        Some(value) => {
                            filled.push_str(&value);
                            used.insert(name.to_owned(), value);
                        }
                        None => filled.push_str(&format!("${{{name}}}")),
                    },
                }
            }
            Value::String(filled)
        }
        Value::Array(items) => items.iter().map(|item| filled(item, get, used)).collect(),
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| match is_left_as_written(key) {
                true => (key.clone(), value.clone()),
                false => (key.clone(), filled(value, get, used)),
            })
            .collect(),
        other => other.clone(),
    }
}

/// Whether the texts under a key are left unchanged.
pub(super) fn is_left_as_written(key: &str) -> bool {
    AS_WRITTEN.contains(&key)
}

/// The value of a variable of this process; none if it is not set, is not valid text, or names a field of the scenario.
pub(super) fn of_environment(name: &str) -> Option<String> {
    match is_field(name) {
        true => None,
        false => std::env::var(name).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_found_and_what_is_no_name_stands_for_itself() {
        for (text, found) in [
            ("${A}", vec!["A"]),
            ("x${A}y${_b1}z", vec!["A", "_b1"]),
            ("$A ${} ${1} ${a b} ${A", vec![]),
            ("$${A} and ${B}", vec!["B"]),
            ("${${A}}", vec!["A"]),
            ("^\\d{3}$", vec![]),
        ] {
            assert_eq!(names(text).collect::<Vec<_>>(), found, "{text}");
        }
    }

    #[test]
    fn values_are_put_in_everywhere_but_in_a_command() {
        let get = |name: &str| (name == "A").then(|| "value".to_owned());
        let mut used = BTreeMap::new();
        let written = json!({
            "contains": "<${A}>", "list": ["$${A}", {"b": "${A}${A}"}], "n": 1,
            "command": "echo ${A}", "other": "${UNSET} stays",
        });
        assert_eq!(
            filled(&written, &get, &mut used),
            json!({
                "contains": "<value>", "list": ["${A}", {"b": "valuevalue"}], "n": 1,
                "command": "echo ${A}", "other": "${UNSET} stays",
            })
        );
        assert_eq!(used, BTreeMap::from([("A".to_owned(), "value".to_owned())]));
    }
}
