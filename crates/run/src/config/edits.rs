//! Finds the edits of a change to the rules by which it is judged, and to the definition of what is measured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Config, yaml};
use crate::judge::declared_identity;
use crate::targets::Address;

/// The part of a configuration to which an edit belongs. Edits are reported in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edited {
    /// The source of the baseline.
    Baseline,
    /// The conditions under which a change passes.
    Gate,
    /// The name of the configuration.
    Name,
    /// The definition of what is measured.
    Measured,
}

/// One setting that differs. A side that lacks the setting has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The path of the setting, with dots.
    pub key: String,
    /// The value on the base; `SET` for a section that the head lacks.
    pub base: Option<String>,
    /// The value on the head; `SET` for a section that the base lacks.
    pub head: Option<String>,
}

/// Stands for all settings of a section that only one side has.
const SET: &str = "set";

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "unset".to_owned());
        let (base, head) = (side(&self.base), side(&self.head));
        write!(f, "{} {base} → {head}", self.key)
    }
}

/// The settings that differ between two configurations. A missing setting counts as its default, and another spelling
/// of the same value is not an edit.
///
/// # Errors
///
/// Fails if a setting cannot be written as JSON.
pub fn edits(base: &Config, head: &Config) -> anyhow::Result<BTreeMap<Edited, Vec<Edit>>> {
    let (before, after) = (parts(base)?, parts(head)?);
    let mut edits = BTreeMap::new();
    for ((edited, before), (_, after)) in before.into_iter().zip(after) {
        let (before, after) = (flat(&before), flat(&after));
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        let mut differing: Vec<Edit> = keys
            .into_iter()
            .filter(|key| before.get(*key) != after.get(*key))
            .map(|key| {
                let edit = Edit {
                    key: key.clone(),
                    base: before.get(key).cloned(),
                    head: after.get(key).cloned(),
                };
                // For a rule, every field is compared; for a new check, only its name is reported.
                match edited {
                    Edited::Measured => edit.of_section(&before, &after),
                    Edited::Baseline | Edited::Gate | Edited::Name => edit,
                }
            })
            .collect();
        differing.dedup();
        if !differing.is_empty() {
            edits.insert(edited, differing);
        }
    }
    Ok(edits)
}

impl Edit {
    /// An edit of a whole section that only one side has, if the section has more than this setting.
    fn of_section(
        self,
        before: &BTreeMap<String, String>,
        after: &BTreeMap<String, String>,
    ) -> Self {
        let (lacks, has) = match (&self.base, &self.head) {
            (None, Some(_)) => (before, after),
            (Some(_), None) => (after, before),
            _ => return self,
        };
        let ends = self.key.match_indices('.').map(|(end, _)| end);
        let count = |settings: &BTreeMap<String, String>, section: &str| {
            let within = |key: &String| {
                let rest = key.strip_prefix(section);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            settings.keys().filter(|key| within(key)).count()
        };
        let section = ends
            .map(|end| &self.key[..end])
            .find(|section| count(lacks, section) == 0 && count(has, section) > 1);
        let Some(section) = section else {
            return self;
        };
        let set = |side: &Option<String>| side.as_ref().map(|_| SET.to_owned());
        Self {
            key: section.to_owned(),
            base: set(&self.base),
            head: set(&self.head),
        }
    }
}

/// The parts of a configuration that are compared.
fn parts(config: &Config) -> anyhow::Result<[(Edited, Value); 4]> {
    Ok([
        (Edited::Baseline, serde_json::to_value(&config.baseline)?),
        (Edited::Gate, gate(config)?),
        (Edited::Name, json!({ "name": config.name })),
        (Edited::Measured, measured(config)),
    ])
}

/// The settings that decide when a change passes, or needs no run at all.
fn gate(config: &Config) -> anyhow::Result<Value> {
    let mut gate = serde_json::to_value(&config.gate)?;
    if let (Value::Object(gate), false) = (&mut gate, config.harmless.is_empty()) {
        gate.insert("harmless".to_owned(), json!(config.harmless));
    }
    Ok(gate)
}

/// The settings that define what is measured: the general ones, those of every kind of probe, and the models of the
/// judges, since a change of a judge's model changes its grades. The settings for reaching the pipeline and for
/// parallel calls are not included.
fn measured(config: &Config) -> Value {
    let mut settings = Map::new();
    settings.insert("seed".to_owned(), json!(config.seed));
    settings.insert("repeats".to_owned(), json!(config.repeats));
    settings.insert("fingerprint".to_owned(), json!(config.fingerprint));
    for probe in config.configured() {
        settings.extend(probe.settings.as_data());
        if let Some(decision) = probe.settings.target().and_then(Address::decision) {
            settings.insert("run.http.decision".to_owned(), json!(decision));
        }
    }
    let judges = config.judges();
    let models = judges.flat_map(|(_, _, judge)| judge.models());
    let models: Map<String, Value> = models
        .filter_map(|name| config.model(name))
        .map(|model| (model.name.clone(), declared_identity(model).into()))
        .collect();
    if !models.is_empty() {
        settings.insert("models".to_owned(), models.into());
    }
    Value::Object(settings)
}

impl Config {
    /// The files that define what is measured. Files of single items are left out, since each item is compared by
    /// itself. The paths are relative to the folder of the configuration.
    pub fn measured_files(&self) -> Vec<(&'static str, &Path)> {
        self.configured()
            .flat_map(|probe| probe.settings.files())
            .collect()
    }

    /// The folders whose files define what is measured, in the same form.
    pub fn measured_folders(&self) -> Vec<(&'static str, &Path)> {
        self.configured()
            .flat_map(|probe| probe.settings.folders())
            .collect()
    }

    /// The command lines that run a pipeline and score it as a whole.
    pub fn evaluators(&self) -> Vec<&str> {
        self.configured()
            .flat_map(|probe| probe.settings.evaluators())
            .collect()
    }

    /// The command lines that run a pipeline and score it, and whose answers another command scores once more.
    pub fn rescored_evaluators(&self) -> Vec<&str> {
        self.configured()
            .flat_map(|probe| probe.settings.rescored_evaluators())
            .collect()
    }

    /// The files of results that an earlier step has made, and no command of the configuration.
    pub fn given_files(&self) -> Vec<PathBuf> {
        self.configured()
            .flat_map(|probe| probe.settings.given_files(&self.root))
            .collect()
    }

    /// Whether a probe is measured by another program, which brings the items.
    pub fn brings_its_items(&self, probe: &str) -> bool {
        let mut probes = self.configured().filter(|one| one.name == probe);
        probes.any(|one| {
            let settings = &one.settings;
            !settings.evaluators().is_empty() || !settings.given_files(&self.root).is_empty()
        })
    }

    /// The command lines of checks that run after a pipeline.
    pub fn checking_commands(&self) -> Vec<&str> {
        self.configured()
            .flat_map(|probe| probe.settings.commands())
            .collect()
    }
}

/// Whether two texts contain the same data in spite of a different layout, as YAML or as JSON lines.
pub fn is_same_data(base: &[u8], head: &[u8]) -> bool {
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

/// Every value, by its dotted path.
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
