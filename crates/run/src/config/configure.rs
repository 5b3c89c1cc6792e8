//! How a kind of probe takes part in `kelvin.yaml`.
//!
//! A kind owns some of the keys at the top level, and only the kind knows what they mean. This stage
//! reads the file as a whole: it finds every problem of every part at once, and keeps the settings
//! of each kind in their checked form without knowing what they are.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::path::Path;
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
use kelvin_record::settings::MetricRule;

/// The keys of one kind of probe.
pub trait Configure: Sync {
    /// The top-level keys without which the probe cannot be run.
    fn required(&self) -> &'static [&'static str];

    /// The top-level keys that show that a file configures the probe: a file with one of them needs all
    /// required keys. A key that several kinds have, such as the command of the pipeline, shows nothing.
    fn marks(&self) -> &'static [&'static str] {
        self.required()
    }

    /// The schema of a mapping with all the top-level keys of this kind. A kind that has a section of
    /// its own has one key. Kinds that share a key describe it alike.
    fn keys(&self) -> &'static Schema;

    /// The problems of the values beyond what the schema finds. A value of a wrong type is skipped,
    /// since the schema reports it.
    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        let _ = part;
        Vec::new()
    }

    /// What to do about a slip, where this kind knows better than its schema does.
    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        let _ = slip;
        None
    }

    /// The settings of this kind in their checked form, from a file without problems; the general
    /// settings are in `config`. None where the file does not configure the kind, unless its default
    /// settings are a part of the digest of every configuration.
    ///
    /// # Errors
    ///
    /// Where a file that the settings name cannot be used.
    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>>;
}

/// The settings of one kind of probe in their checked form, whichever kind it is.
pub trait ProbeSettings: Any + Debug + Send + Sync {
    /// Adds everything that changes what is measured: two runs whose digests differ are not
    /// compared. The command, the jobs, the limits and where files go are no part of it.
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("settings", Value::Object(self.as_data()).to_string())
    }

    /// Everything that changes what is measured, as data under the keys of the file, with the defaults of
    /// keys that are not written. Edits of the settings are found by comparing this data.
    fn as_data(&self) -> Map<String, Value>;

    /// The files that say what is measured, apart from those of single items: the name of each kind of file,
    /// and its path relative to the folder of the configuration.
    fn files(&self) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// The folders in which every file says what is measured, in the same form as [`files`](Self::files).
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

    /// The judges that grade for the probe, each with its place in the configuration: `grading.judge`.
    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        Vec::new()
    }

    /// Whether a metric depends on the grades of the judge at this place. A pipeline that gives no answer fails without a
    /// judge; every other metric of a probe with a judge depends on it, unless the probe knows better.
    fn is_graded(&self, place: &str, metric: &str) -> bool {
        let _ = place;
        !metric.ends_with(".failure_rate")
    }

    /// How often each invocation has to be made for a figure of the probe; none where it does not say.
    fn live_runs(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Rules of the gate for single metrics that the section of the probe gives, by the id of the metric. What
    /// `gate.metrics` says of the same metric counts before them.
    fn rules(&self) -> Vec<(String, MetricRule)> {
        Vec::new()
    }

    /// How the pipeline of the probe is reached; none where the probe runs nothing of its own.
    fn target(&self) -> Option<&Address>;
}

/// A kind of probe by its name, with the keys that it owns.
#[derive(Clone, Copy)]
pub struct Owner {
    /// The name of the kind, which is unique.
    pub name: &'static str,
    /// Its keys.
    pub kind: &'static dyn Configure,
    /// The names of its metrics, which the rules of the gate may name; empty where users name them.
    pub metrics: &'static [(&'static str, &'static str)],
}

/// What a file says under the keys of one kind of probe, with the place of everything.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// A mapping of these keys alone.
    pub node: Node,
    /// The text of the file.
    pub source: &'a str,
    /// Whether the file configures this kind. Its keys may be those of another kind too.
    pub is_configured: bool,
    /// The file as it was named, for messages.
    file: &'a Path,
}

impl Part<'_> {
    /// The values, without places. The type is the one that the schema was made from, and the file
    /// is without problems.
    ///
    /// # Errors
    ///
    /// Where the schema allows what the type does not. That is a bug, and the user sees it as an error
    /// instead of a panic.
    pub fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_value(self.node.to_json())
            .map_err(|error| self.misuse(Problem::new(0..0, error.to_string())).into())
    }

    /// A problem that shows only when the settings are made, as an error.
    pub fn misuse(&self, mut problem: Problem) -> Misuse {
        problem.key = problem.key.or_else(|| self.node.key_at(&problem.at));
        diagnostic::misuse(self.file, self.source, vec![problem])
    }
}

/// A slip for which a kind of probe may know the cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip<'a> {
    /// A key that is not known where it stands.
    UnknownKey(&'a str),
    /// A required key that is missing.
    MissingKey(&'a str),
    /// A word that is not among the allowed ones.
    UnknownWord(&'a str, &'a [&'a str]),
}

/// The schema of a type, without references. It is made once: a command reads the configurations of several commits, and
/// making the schemas was most of what reading each of them cost.
pub fn schema_of<T: JsonSchema + 'static>() -> &'static Schema {
    static MADE: Mutex<BTreeMap<TypeId, &'static Schema>> = Mutex::new(BTreeMap::new());
    let made = || MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // A test may add kinds for its own thread.
    let is_for_all = !targets::has_added();
    if is_for_all && let Some(schema) = made().get(&TypeId::of::<T>()) {
        return schema;
    }
    // The lock is free meanwhile: the schema of a type may ask for that of another.
    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let schema: &'static Schema = Box::leak(Box::new(schema));
    if is_for_all {
        made().insert(TypeId::of::<T>(), schema);
    }
    schema
}

/// The schema of the whole file: the general keys and those of every kind of probe. It is made once for the same kinds.
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

/// The general keys and those of every kind of probe, and which of them need others.
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

/// Tells for each kind whether the file configures it: the file has a key that marks the kind, or a key that
/// the kind is the first to need and that no kind with a mark uses. So a file with nothing but a
/// shared key is told what is missing, and no key is ignored.
///
/// `meant` are keys that the file misspells. They count as present, so that a slip is reported once and not
/// followed by everything that another kind would need.
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
