//! What a change does to the rules that it is judged by, and to what is measured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};

use super::{Config, load, yaml};

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

/// The settings that say how the pipeline is reached, how much of it runs at once, and what is judged:
/// all others say what is measured.
const NOT_MEASURED: [&str; 11] = [
    "baseline",
    "cache",
    "env",
    "gate",
    "jobs",
    "max_output_bytes",
    "max_per_minute",
    "name",
    "retry",
    "run",
    "timeout_s",
];

/// The settings that differ between two texts of a configuration; what is not written counts with its
/// default, and what says the same in another form is no edit.
///
/// # Errors
///
/// Where one of the texts is no configuration.
pub(crate) fn edits(
    base: &str,
    head: &str,
    file: &Path,
) -> anyhow::Result<BTreeMap<Edited, Vec<Edit>>> {
    let (before, after) = (parts(base, file)?, parts(head, file)?);
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
fn parts(text: &str, file: &Path) -> anyhow::Result<[(Edited, Value); 4]> {
    let config = Config::parse(text, file)?;
    Ok([
        (Edited::Baseline, serde_json::to_value(&config.baseline)?),
        (Edited::Gate, serde_json::to_value(&config.gate)?),
        (Edited::Name, json!({ "name": config.name })),
        (Edited::Measured, measured(text, file, &config)?),
    ])
}

/// The settings that say what is measured, with those that can be written in several ways as they are
/// understood.
fn measured(text: &str, file: &Path, config: &Config) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(load::raw(text, file)?)?;
    let Some(settings) = value.as_object_mut() else {
        return Ok(value);
    };
    settings.retain(|key, _| !NOT_MEASURED.contains(&key.as_str()));
    if config.evidence {
        settings.insert("governing_types".to_owned(), json!(config.governing_types));
    }
    if let Some(retrieval) = &config.retrieval
        && let Some(section) = settings.get_mut("retrieval").and_then(Value::as_object_mut)
    {
        section.remove("run");
        section.insert("k".to_owned(), json!(retrieval.k));
    }
    Ok(value)
}

impl Config {
    /// The files that say what is measured, apart from the cases: each item of these is compared by
    /// itself. Relative to the folder of the configuration.
    pub(crate) fn measured_files(&self) -> Vec<(&'static str, &Path)> {
        let retrieval = self.retrieval.iter();
        let files = retrieval.flat_map(|retrieval| {
            let golden = Some(("golden set", Path::new(&retrieval.golden)));
            let corpus = retrieval.corpus.as_ref();
            let corpus = corpus.map(|corpus| ("corpus", Path::new(corpus)));
            [golden, corpus].into_iter().flatten()
        });
        files.collect()
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
        let text = |more: &str| format!("{RUN}{more}\n");
        let edits = edits(&text(base), &text(head), Path::new("kelvin.yaml"));
        let edits = edits.expect("both are configurations").into_iter();
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
        let none = super::edits(&base, &head, Path::new("kelvin.yaml")).expect("configurations");
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

    #[test]
    fn a_text_that_is_no_configuration_is_an_error() {
        assert!(edits("gate: [", RUN, Path::new("kelvin.yaml")).is_err());
    }
}
