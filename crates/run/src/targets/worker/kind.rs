//! The kinds of targets whose process stays in memory, as a configuration writes them. The kinds of
//! [`WorkerProgramKind`] differ in how they name the program: by a command line, or by a function in a language that
//! this program can serve.

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;

use super::{InCompany, WorkerBounds, WorkerProgram, WorkerTarget, check};
use crate::targets::{Launch, Target, TargetKind, TargetSite, command};
use kelvin_base::exit::Misuse;

/// How the configuration names a worker, and which program is started.
pub(in crate::targets) trait WorkerProgramKind: Sync {
    /// The key of the target.
    const KEY: &'static str;
    /// The word for what the text under the key names, such as a command or a function, in words that fit after "names
    /// no".
    const NOUN: &'static str;
    /// The key of this text in a mapping, which is used if there are limits for the process.
    const NAMED_BY: &'static str;
    /// The value that a configuration has under the key: the text, or a mapping with more settings. Its schema allows
    /// the same forms that [`WorkerSettings`] can read.
    type Written: JsonSchema;

    /// Rejects a text that cannot name a program or function of this kind, as far as this can be seen before it is
    /// opened. Fails with what is written, and what to write instead.
    fn check(named: &str) -> Result<(), Misuse> {
        let _ = named;
        Ok(())
    }

    /// The program that is started. Fails with a [`Misuse`] that describes the problem of the settings.
    fn program(settings: WorkerSettings, site: &TargetSite) -> Result<WorkerProgram, Misuse>;

    /// Finds out which program would be started, without starting it. Fails like [`program`](Self::program).
    fn look_up(settings: &WorkerSettings, root: &Path) -> Result<Launch, Misuse>;

    /// The command line that is started. By default it is empty; then only the program is known.
    fn line(settings: &WorkerSettings) -> String {
        let _ = settings;
        String::new()
    }
}

/// The settings of a target whose process stays in memory. The schema of each kind says which names it uses for them.
#[derive(Debug, Default, Deserialize)]
pub(in crate::targets) struct WorkerSettings {
    /// The text that names the program or function.
    #[serde(rename = "run", alias = "function")]
    pub(in crate::targets) named: String,
    /// The program that runs a function, if one is set.
    #[serde(alias = "interpreter")]
    pub(in crate::targets) program: Option<String>,
    max_memory_mb: Option<u64>,
    recycle_after: Option<u64>,
    concurrency: Option<usize>,
    batch: Option<usize>,
}

impl WorkerSettings {
    /// The checked settings of a kind, with their limits.
    fn read<K: WorkerProgramKind>(settings: &Value) -> Result<(Self, WorkerBounds), Misuse> {
        let settings = match settings {
            Value::String(named) => Self {
                named: named.clone(),
                ..Self::default()
            },
            settings => Self::deserialize(settings).map_err(|error| {
                Misuse::new(format!("`{}` names no {}: {error}", K::KEY, K::NOUN))
            })?,
        };
        K::check(&settings.named)?;
        let bounds = settings.bounds(K::KEY)?;
        Ok((settings, bounds))
    }

    /// The limits that a configuration sets under a key. Fails with a [`Misuse`] if two of the limits contradict each
    /// other.
    fn bounds(&self, key: &str) -> Result<WorkerBounds, Misuse> {
        let several = |most: &usize| *most > 1;
        let company = match (self.concurrency.filter(several), self.batch.filter(several)) {
            (Some(concurrency), Some(batch)) => {
                return Err(Misuse::new(format!(
                    "`{key}` has `concurrency: {concurrency}` and `batch: {batch}`, and a process gets its calls in one \
                     way: several messages at once, or one message with several inputs"
                ))
                .help("leave one of the two out"));
            }
            (Some(most), None) => Some(InCompany::Concurrent(most)),
            (None, most) => most.map(InCompany::Batch),
        };
        Ok(WorkerBounds {
            max_memory_mb: self.max_memory_mb,
            recycle_after: self.recycle_after,
            company,
        })
    }
}

impl<K: WorkerProgramKind> TargetKind for K {
    fn key(&self) -> Option<&'static str> {
        Some(K::KEY)
    }

    fn schema(&self) -> Value {
        schema::<K::Written>()
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let (settings, bounds) = WorkerSettings::read::<K>(settings)?;
        let program = K::program(settings, site)?;
        Ok(Box::new(WorkerTarget::new(program, bounds, site)))
    }

    /// The memory limit of a process changes no answer, so it is left out. The number of calls before it is replaced,
    /// and the number of simultaneous calls, may change an answer if one call affects another. The named program
    /// affects answers by its packages, wherever they are.
    fn identity(&self, settings: &Value) -> Value {
        let (Value::Object(written), Ok(_)) = (settings, WorkerSettings::read::<K>(settings))
        else {
            return settings.clone();
        };
        let mut kept = written.clone();
        kept.retain(|key, value| match &**key {
            "max_memory_mb" => false,
            // Without the key the number is 1 too, so a written 1 changes no answer.
            "concurrency" | "batch" => value.as_u64().is_some_and(|most| most > 1),
            _ => !value.is_null(),
        });
        match kept.len() {
            1 => kept.remove(K::NAMED_BY).unwrap_or_default(),
            _ => Value::Object(kept),
        }
    }

    fn at_once(&self, settings: &Value) -> usize {
        let read = WorkerSettings::read::<K>(settings);
        read.map_or(1, |(_, bounds)| bounds.at_once())
    }

    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse> {
        let (settings, _) = WorkerSettings::read::<K>(settings)?;
        K::look_up(&settings, root)
    }

    fn line(&self, settings: &Value) -> Option<String> {
        let (settings, _) = WorkerSettings::read::<K>(settings).ok()?;
        Some(K::line(&settings))
    }

    fn stays(&self) -> bool {
        true
    }

    fn takes_turns(&self, settings: &Value) -> Result<(), Misuse> {
        let (_, bounds) = WorkerSettings::read::<K>(settings)?;
        bounds.take_turns(K::KEY)
    }

    fn has_workplaces(&self) -> bool {
        false
    }
}

/// The JSON schema of the settings of a target.
pub(in crate::targets) fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// What a configuration writes under the key of this target: a command line, or a mapping of the command line and of
/// what bounds the process.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(in crate::targets) enum WrittenWorker {
    /// The command that starts a worker.
    Line(#[schemars(length(min = 1))] String),
    /// The command that starts a worker, and what bounds the process.
    Bounded(BoundedWorker),
}

/// The command that starts a worker, and what bounds the process.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(in crate::targets) struct BoundedWorker {
    /// The command that starts a worker: a process that answers one input after the other, by messages on its standard
    /// streams.
    #[schemars(length(min = 1))]
    run: String,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux reports how much memory that is.
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After this many calls a worker is replaced; 1 starts a process for each call.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
    /// How many calls a process has under way at the same time, if its worker takes several. There are `jobs`
    /// processes.
    #[schemars(range(min = 1, max = 1000))]
    concurrency: Option<usize>,
    /// The most calls in one message, if the worker takes several calls in a message.
    #[schemars(range(min = 1, max = 1000))]
    batch: Option<usize>,
}

/// The kind of target whose settings are the command line of a worker.
pub(in crate::targets) struct WorkerKind;

impl WorkerProgramKind for WorkerKind {
    const KEY: &'static str = "worker";
    const NOUN: &'static str = "command";
    const NAMED_BY: &'static str = "run";
    type Written = WrittenWorker;

    fn program(settings: WorkerSettings, site: &TargetSite) -> Result<WorkerProgram, Misuse> {
        WorkerProgram::of_line(&settings.named, Self::KEY, site)
    }

    fn look_up(settings: &WorkerSettings, root: &Path) -> Result<Launch, Misuse> {
        check(&settings.named, Self::KEY)?;
        command::look_up(&settings.named, root)
    }

    fn line(settings: &WorkerSettings) -> String {
        settings.named.clone()
    }
}
