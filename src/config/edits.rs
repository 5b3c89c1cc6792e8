//! What a change does to the rules that it is judged by.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Config;

/// The settings of `gate` and `baseline` and the name that differ between two configurations, each as
/// `max_drop 0.05 → 0.5`, by section and in the order of their names; what is not written counts
/// with its default.
///
/// # Errors
///
/// Where a setting cannot be written as JSON.
pub(crate) fn edits(
    base: &Config,
    head: &Config,
) -> anyhow::Result<BTreeMap<&'static str, Vec<String>>> {
    let sections = [
        (
            "name",
            serde_json::json!({ "name": base.name }),
            serde_json::json!({ "name": head.name }),
        ),
        (
            "gate",
            serde_json::to_value(&base.gate)?,
            serde_json::to_value(&head.gate)?,
        ),
        (
            "baseline",
            serde_json::to_value(&base.baseline)?,
            serde_json::to_value(&head.baseline)?,
        ),
    ];
    let mut edits = BTreeMap::new();
    for (section, before, after) in sections {
        let (before, after) = (flat(&before), flat(&after));
        let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
        names.sort();
        names.dedup();
        let told: Vec<String> = names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name))
            .map(|name| {
                let side = |side: &BTreeMap<String, String>| {
                    side.get(name)
                        .cloned()
                        .unwrap_or_else(|| "unset".to_owned())
                };
                format!("{name} {} → {}", side(&before), side(&after))
            })
            .collect();
        if !told.is_empty() {
            edits.insert(section, told);
        }
    }
    Ok(edits)
}

/// Every value under its path, with dots.
fn flat(value: &Value) -> BTreeMap<String, String> {
    fn walk(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    let path = match path {
                        "" => key.clone(),
                        path => format!("{path}.{key}"),
                    };
                    walk(&path, value, into);
                }
            }
            Value::Null | Value::Object(_) => {}
            Value::String(text) => {
                into.insert(path.to_owned(), text.clone());
            }
            value => {
                into.insert(path.to_owned(), value.to_string());
            }
        }
    }
    let mut into = BTreeMap::new();
    walk("", value, &mut into);
    into
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn told(base: &str, head: &str) -> BTreeMap<&'static str, Vec<String>> {
        let config = |text: &str| {
            let text = format!("seed: 0\n{text}\n");
            Config::parse(&text, Path::new("kelvin.yaml"), &[]).expect("a configuration")
        };
        edits(&config(base), &config(head)).expect("every setting is JSON")
    }

    #[test]
    fn what_is_the_same_said_otherwise_is_no_edit() {
        assert!(told("", "gate: {max_drop: 0.05}").is_empty());
        assert!(told("gate: {max_drop: 0.1}", "jobs: 3\ngate:\n  max_drop: 0.10").is_empty());
    }

    #[test]
    fn every_setting_that_differs_is_told_with_both_values() {
        let edits = told(
            "baseline: {require: true}",
            "gate: {max_drop: 0.5, metrics: {evidence.sensitivity: {policy: info}}}\n\
             baseline: {from: 'off'}",
        );
        assert_eq!(
            edits["gate"],
            [
                "max_drop 0.05 → 0.5",
                "metrics.evidence.sensitivity.policy unset → info"
            ]
        );
        assert_eq!(
            edits["baseline"],
            ["from auto → off", "require true → false"]
        );
    }
}
