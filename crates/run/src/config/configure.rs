//! The part of a kind of probe in `kelvin.yaml`.
//!
//! A kind owns some of the top-level keys, and only the kind knows what they mean. This module reads the file as a
//! whole: it finds every problem of every part at once, and stores the checked settings of each kind without knowing
//! their meaning.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::diagnostic::{self, Problem};
use super::shape::properties;
use super::yaml::{Content, Node};
use super::{Config, raw};
use crate::judge::JudgeSettings;
use crate::targets::{self, Address};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_record::settings::{GateSettings, MetricRule};

/// The keys of one kind of probe.
pub trait Configure: Sync {
    /// The top-level keys that are required to run the probe.
    fn required(&self) -> &'static [&'static str];

    /// The top-level keys that show that a file configures the probe: a file with one of them needs all required keys.
    /// A key that several kinds share, such as the command of the pipeline, does not show this.
    fn marks(&self) -> &'static [&'static str] {
        self.required()
    }

    /// The schema of a mapping with all the top-level keys of this kind. A kind with its own section has one key. Kinds
    /// that share a key describe it in the same way.
    fn keys(&self) -> &'static Schema;

    /// The problems of the values that the schema does not find. A value of a wrong type is skipped, since the schema
    /// reports it.
    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let _ = part;
        Vec::new()
    }

    /// Advice about a mistake, if this kind knows more about it than its schema.
    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        let _ = slip;
        None
    }

    /// The checked settings of this kind, from a file without problems; the general settings are in `config`. None if
    /// the file does not configure the kind, unless its default settings are part of the digest of every configuration.
    ///
    /// # Errors
    ///
    /// Fails if a file that the settings name cannot be used.
    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>>;
}

/// The checked settings of any kind of probe.
pub trait ProbeSettings: Any + Debug + Send + Sync {
    /// Adds everything that defines what is measured: two runs with different digests are not compared. The command,
    /// the jobs, the limits and the paths of files are not added.
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("settings", Value::Object(self.as_data()).to_string())
    }

    /// Everything that defines what is measured, as data under the keys of the file, with defaults for missing keys.
    /// Edits of the settings are found by comparing this data.
    fn as_data(&self) -> Map<String, Value>;

    /// The files that define what is measured, except files of single items: the label of each file, and its path
    /// relative to the folder of the configuration.
    fn files(&self) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// The folders in which every file defines what is measured, in the same form as [`files`](Self::files).
    fn folders(&self) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// The command lines of checks that run after the pipeline. They may run and read any file.
    fn commands(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The command lines that run the pipeline and score it as a whole.
    fn evaluators(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The command lines that run the pipeline and score it, and whose answers another command scores once more.
    fn rescored_evaluators(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The files of results that an earlier step has made. `root`: the folder of the configuration.
    fn given_files(&self, root: &Path) -> Vec<PathBuf> {
        let _ = root;
        Vec::new()
    }

    /// The judges that grade for the probe, each with its place in the configuration: `grading.judge`.
    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        Vec::new()
    }

    /// Whether a metric depends on the grades of the judge at this place. By default, every metric of a probe with a
    /// judge does, except the failure rate: a pipeline that gives no answer fails with or without a judge.
    fn is_graded(&self, place: &str, metric: &str) -> bool {
        let _ = place;
        !metric.ends_with(".failure_rate")
    }

    /// How often each invocation has to be made to compute all figures of the probe; none if the settings do not say.
    fn live_runs(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Rules of the gate for single metrics in the section of the probe, by the id of the metric. If `gate.metrics` has
    /// a rule for the same metric, that rule takes precedence. They may depend on
    /// the other settings of the gate.
    fn rules(&self, _: &GateSettings) -> Vec<(String, MetricRule)> {
        Vec::new()
    }

    /// The address of the probe's pipeline; none if the probe does not run a pipeline itself.
    fn target(&self) -> Option<&Address>;
}

/// A kind of probe by its name, with the keys that it owns.
#[derive(Clone, Copy)]
pub struct Owner {
    /// The name of the kind, which is unique.
    pub name: &'static str,
    /// Its keys.
    pub kind: &'static dyn Configure,
    /// The names of its metrics, which the rules of the gate may name; empty if users choose the names.
    pub metrics: &'static [(&'static str, &'static str)],
}

/// The part of a file under the keys of one kind of probe, with source positions.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// A mapping that contains only these keys.
    pub node: Node,
    /// The text of the file.
    pub source: &'a str,
    /// Whether the file configures this kind. Its keys may also belong to another kind.
    pub is_configured: bool,
    /// The path of the file as it was given, for messages.
    file: &'a Path,
}

impl Part<'_> {
    /// The values without positions. `T` has to be the type from which the schema was made, and the file has to be
    /// without problems.
    ///
    /// # Errors
    ///
    /// Fails if the schema allows a value that the type does not. That is a bug, but the user sees an error instead of
    /// a panic.
    pub fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_value(self.node.to_json())
            .map_err(|error| self.misuse(Problem::new(0..0, error.to_string())).into())
    }

    /// Turns a problem into an error if it is found only when the settings are made.
    pub fn misuse(&self, mut problem: Problem) -> Misuse {
        problem.key = problem.key.or_else(|| self.node.key_at(&problem.at));
        diagnostic::misuse(self.file, self.source, vec![problem])
    }
}

/// A mistake for which a kind of probe may know a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip<'a> {
    /// A key that is unknown at its position.
    UnknownKey(&'a str),
    /// A required key that is missing.
    MissingKey(&'a str),
    /// A word that is not an allowed value; the list has the allowed values.
    UnknownWord(&'a str, &'a [&'a str]),
}

/// The schema of a type, without references. It is made only once: a command reads the configurations of several
/// commits, and making the schemas took most of the time for each of them.
pub fn schema_of<T: JsonSchema + 'static>() -> &'static Schema {
    static MADE: Mutex<BTreeMap<TypeId, &'static Schema>> = Mutex::new(BTreeMap::new());
    let made = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // A test may add kinds that exist only in its own thread.
    let is_for_all = !targets::has_added();
    if is_for_all && let Some(schema) = made().get(&TypeId::of::<T>()) {
        return schema;
    }
    // The lock is not held here, because the schema of a type may need the schema of another type.
    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let schema: &'static Schema = Box::leak(Box::new(schema));
    if is_for_all {
        made().insert(TypeId::of::<T>(), schema);
    }
    schema
}

/// The schema of the whole file: the general keys and the keys of every kind of probe. It is made only once for the
/// same kinds.
pub fn schema(owners: &[Owner]) -> &'static Value {
    type Key = Vec<(&'static str, usize)>;
    static MADE: Mutex<BTreeMap<Key, &'static Value>> = Mutex::new(BTreeMap::new());
    let keys = owners.iter();
    let keys: Key = keys
        .map(|owner| (owner.name, std::ptr::from_ref(owner.kind.keys()).addr()))
        .collect();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(keys)
        .or_insert_with(|| Box::leak(Box::new(whole(owners))))
}

/// The general keys and the keys of every kind of probe, with the keys on which they depend.
fn whole(owners: &[Owner]) -> Value {
    let mut schema = schema_of::<raw::RawConfig>().as_value().clone();
    let mut dependent = Map::new();
    for owner in owners {
        for (key, value) in properties(owner.kind.keys().as_value()) {
            schema["properties"][key] = value.clone();
        }
        for key in owner.kind.marks() {
            let required = owner.kind.required().iter();
            let others: Vec<&&str> = required.filter(|other| *other != key).collect();
            if !others.is_empty() {
                dependent.insert((*key).to_owned(), json!(others));
            }
        }
    }
    if !dependent.is_empty() {
        schema["dependentRequired"] = Value::Object(dependent);
    }
    schema
}

impl Owner {
    /// The part of the file under the keys of this kind.
    pub(super) fn part<'a>(
        &self,
        tree: &Node,
        is_configured: bool,
        source: &'a str,
        file: &'a Path,
    ) -> Part<'a> {
        let schema = self.kind.keys().as_value();
        let entries = match &tree.content {
            Content::Map(entries) => &entries[..],
            _ => &[],
        };
        let is_own = |key: &str| properties(schema).any(|(own, _)| own == key);
        let own = entries.iter().filter(|(key, _)| is_own(&key.text));
        Part {
            node: Node {
                at: tree.at.clone(),
                content: Content::Map(own.cloned().collect()),
            },
            source,
            is_configured,
            file,
        }
    }

    fn has_key(&self, key: &str) -> bool {
        properties(self.kind.keys().as_value()).any(|(own, _)| own == key)
    }
}

/// Decides for each kind whether the file configures it. This is the case if the file has a key that marks the kind. It
/// is also the case if the file has a required key of the kind that no earlier kind requires and no marked kind uses.
/// So if a file has only a shared key, the missing keys are reported, and no key is ignored.
///
/// `meant` are keys that the file misspells. They count as present, so that a misspelt key is reported once, without
/// all the keys that another kind would require.
pub(super) fn configured(owners: &[Owner], tree: &Node, meant: &[&str]) -> Vec<bool> {
    let is_there = |key: &&&str| tree.get(&[**key]).is_some() || meant.contains(*key);
    let marked = owners.iter().map(|owner| {
        let mut marks = owner.kind.marks().iter();
        marks.any(|key| is_there(&key))
    });
    let mut configured: Vec<bool> = marked.collect();
    for at in 0..owners.len() {
        let needed = owners[at].kind.required().iter().filter(is_there);
        for key in needed {
            let mut with_mark = owners.iter().zip(&configured);
            if !with_mark.any(|(owner, is_marked)| *is_marked && owner.has_key(key)) {
                configured[at] = true;
                break;
            }
        }
    }
    configured
}
