//! What a change does to the rules that it is judged by, and to what is measured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Config, yaml};

/// What of the configuration an edit is of, in the order in which edits are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edited {
    /// Where the baseline comes from.
    Baseline,
    /// When a change passes.
    Gate,
    /// Which configuration it is.
    Name,
    /// What is measured, and how.
    Measured,
}

/// One setting that differs; a side without it has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Its path, with dots.
    pub(crate) key: String,
    /// Its value on the base.
    pub(crate) base: Option<String>,
    /// Its value on the head.
    pub(crate) head: Option<String>,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "unset".to_owned());
        let (base, head) = (side(&self.base), side(&self.head));
        write!(f, "{} {base} → {head}", self.key)
    }
}

/// The settings that differ between two configurations; what is not written counts with its default, and
/// what says the same in another form is no edit.
///
/// # Errors
///
/// Where a setting cannot be written as JSON.
pub(crate) fn edits(base: &Config, head: &Config) -> anyhow::Result<BTreeMap<Edited, Vec<Edit>>> {
    let (before, after) = (parts(base)?, parts(head)?);
    let mut edits = BTreeMap::new();
    for ((edited, before), (_, after)) in before.into_iter().zip(after) {
        let (before, after) = (flat(&before), flat(&after));
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        let differing: Vec<Edit> = keys
            .into_iter()
            .filter(|key| before.get(*key) != after.get(*key))
            .map(|key| Edit {
                key: key.clone(),
                base: before.get(key).cloned(),
                head: after.get(key).cloned(),
            })
            .collect();
        if !differing.is_empty() {
            edits.insert(edited, differing);
        }
    }
    Ok(edits)
}

/// The parts of a configuration that are compared.
fn parts(config: &Config) -> anyhow::Result<[(Edited, Value); 4]> {
    Ok([
        (Edited::Baseline, serde_json::to_value(&config.baseline)?),
        (Edited::Gate, serde_json::to_value(&config.gate)?),
        (Edited::Name, json!({ "name": config.name })),
        (Edited::Measured, measured(config)),
    ])
}

/// The settings that say what is measured: the general ones, and those of every kind of probe. How the
/// pipeline is reached and how much of it runs at once is none of it.
fn measured(config: &Config) -> Value {
    let mut settings = Map::new();
    settings.insert("seed".to_owned(), json!(config.seed));
    settings.insert("repeats".to_owned(), json!(config.repeats));
    settings.insert("fingerprint".to_owned(), json!(config.fingerprint));
    for probe in config.probes.iter().filter(|probe| probe.is_configured) {
        settings.extend(probe.settings.as_data());
    }
    Value::Object(settings)
}

impl Config {
    /// The files that say what is measured, apart from those of single items: each item is compared by
    /// itself. Relative to the folder of the configuration.
    pub(crate) fn measured_files(&self) -> Vec<(&'static str, &Path)> {
        let configured = self.probes.iter().filter(|probe| probe.is_configured);
        configured
            .flat_map(|probe| probe.settings.files())
            .collect()
    }
}

/// Whether two texts hold the same data, whatever their layout is: as YAML, or as a value on each line.
pub(crate) fn is_same_data(base: &[u8], head: &[u8]) -> bool {
    if base == head {
        return true;
    }
    let (Ok(base), Ok(head)) = (std::str::from_utf8(base), std::str::from_utf8(head)) else {
        return false;
    };
    let tree = |text: &str| yaml::parse(text).ok().map(|tree| tree.to_json());
    if let (Some(base), Some(head)) = (tree(base), tree(head)) {
        return base == head;
    }
    let lines = |text: &str| -> Option<Vec<Value>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| serde_json::from_str(line).ok()).collect()
    };
    lines(base).is_some_and(|base| Some(base) == lines(head))
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
    use super::*;

    const RUN: &str = "run: ./run.sh {input} {output}\ncases: cases\ndecision_field: decision\n\
                       governing_types: [rule]\n";

    fn told(base: &str, head: &str) -> BTreeMap<Edited, Vec<String>> {
        let read = |more: &str| {
            let text = format!("{RUN}{more}\n");
            crate::probe::configured_by(&text, Path::new("kelvin.yaml")).expect("a configuration")
        };
        let edits = edits(&read(base), &read(head));
        let edits = edits.expect("every setting is JSON").into_iter();
        edits
            .map(|(edited, edits)| (edited, edits.iter().map(ToString::to_string).collect()))
            .collect()
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
            edits[&Edited::Gate],
            [
                "max_drop 0.05 → 0.5",
                "metrics.evidence.sensitivity.policy unset → info"
            ]
        );
        assert_eq!(
            edits[&Edited::Baseline],
            ["from auto → off", "require true → false"]
        );
    }

    #[test]
    fn what_is_measured_is_told_and_how_it_is_run_is_not() {
        let edits = told(
            "jobs: 1\ntimeout_s: 9\nscorer: exact",
            "jobs: 2\nretry: {max_attempts: 3}\nrepeats: 5\nvariants: {swap: all}\n\
             scorer: {ordinal: [low, high]}\nfingerprint: ['*.py']",
        );
        assert_eq!(edits.keys().collect::<Vec<_>>(), [&Edited::Measured]);
        assert_eq!(
            edits[&Edited::Measured],
            [
                "fingerprint [] → [\"*.py\"]",
                "repeats 1 → 5",
                "scorer exact → unset",
                "scorer.ordinal unset → [\"low\",\"high\"]",
                "variants.swap 3 → all"
            ]
        );
        let text = |types: &str| RUN.replace("[rule]", types);
        let (base, head) = (text("[release_rule]"), text("['Release  Rule']"));
        let read = |text: &str| {
            crate::probe::configured_by(text, Path::new("kelvin.yaml")).expect("a configuration")
        };
        let none = super::edits(&read(&base), &read(&head)).expect("every setting is JSON");
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn the_layout_of_a_file_is_not_its_data() {
        for (base, head, is_same) in [
            (
                "- {id: a, query: q}\n",
                "# ours\n- id: a\n  query: 'q'\n",
                true,
            ),
            ("- {id: a, query: q}\n", "- {id: a, query: other}\n", false),
            ("{\"a\": 1}\n{\"b\": 2}\n", "{\"a\":1}\n\n{\"b\":2}", true),
            ("{\"a\": 1}\n{\"b\": 2}\n", "{\"a\":1}\n{\"b\":3}", false),
            ("{", "}", false),
        ] {
            assert_eq!(
                is_same_data(base.as_bytes(), head.as_bytes()),
                is_same,
                "{head}"
            );
        }
        assert!(!is_same_data(b"\xff", b"\xfe"));
    }
}
