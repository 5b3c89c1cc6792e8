//! `kelvin.yaml` as a whole: the keys that are general, every problem at once, and for each kind of
//! probe the settings that the kind makes of its own keys. What the general keys say as written is
//! in [`raw`].

mod approval;
mod around;
mod branch;
pub(crate) mod check;
pub(crate) mod configure;
pub(crate) mod diagnostic;
mod edits;
mod gate;
pub(crate) mod hints;
mod identity;
pub(crate) mod load;
mod measuring;
mod models;
pub(crate) mod placeholder;
mod quote;
mod raw;
pub(crate) mod shape;
mod shard;
mod wanted;
pub(crate) mod yaml;

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::target::{Address, ModelSettings};
pub(crate) use approval::{ApprovalSettings, ApprovalWay, WRITERS};
pub(crate) use around::{Around, lasts};
pub(crate) use configure::{Configure, Owner, Part, ProbeSettings, Slip, schema_of};
pub(crate) use diagnostic::Problem;
pub(crate) use edits::{Edited, edits, is_same_data};
pub(crate) use gate::{
    Anchor, BaselineSettings, BaselineSource, Budget, FailOrWarn, GateRule, GateSettings,
    MetricPolicy, MetricRule, OnSuspected,
};
pub(crate) use hints::nearest;
pub(crate) use measuring::measuring_as;
pub(crate) use quote::quote;
pub(crate) use shard::Shard;

/// Everything a check needs to know, read and checked up front.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file as it was named, for messages.
    pub(crate) file: PathBuf,
    /// The folder of the file: the working directory of the pipeline, and the base of every path.
    pub(crate) root: PathBuf,
    /// The folder that everything a check reads or runs is taken from, where that is another one.
    rules: Option<PathBuf>,
    /// Seeds the choice of perturbations, never the pipeline.
    pub(crate) seed: u64,
    /// How often every invocation is made; each repeat is scored by itself.
    pub(crate) repeats: NonZeroUsize,
    /// The same without what is added for a base, so that what is said of one item rests on as many runs on both
    /// sides.
    pub(crate) replicas: NonZeroUsize,
    /// How many invocations run at the same time.
    pub(crate) jobs: NonZeroUsize,
    /// What bounds one invocation and their rate.
    pub(crate) limits: Limits,
    /// Whether a failed invocation is tried again.
    pub(crate) retry: Retry,
    /// The cache of answers; none unless asked for.
    pub(crate) cache: Option<CacheSettings>,
    /// Globs of the files that make up the pipeline; empty means what git knows.
    pub(crate) fingerprint: Vec<String>,
    /// The environment of the job, where there is one; part of the cache key.
    pub(crate) around: Option<Around>,
    /// Environment variables that change the answers; part of the cache key.
    pub(crate) env: Vec<String>,
    /// The models that are declared, by name.
    models: BTreeMap<String, ModelSettings>,
    /// The name of this configuration among several in a repository.
    pub(crate) name: Option<String>,
    /// Where the report that a change is compared with comes from.
    pub(crate) baseline: BaselineSettings,
    /// When a change does not pass.
    pub(crate) gate: GateSettings,
    /// The settings of the kinds of probes, in the order of their registry.
    probes: Vec<ProbeConfig>,
}

/// The settings of one kind of probe.
#[derive(Clone, Debug)]
struct ProbeConfig {
    name: &'static str,
    /// Whether the file configures the kind, or its settings only are a part of the digest.
    is_configured: bool,
    settings: Arc<dyn ProbeSettings>,
}

/// What bounds one invocation and their rate.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// After this long the process group of an invocation is killed.
    pub(crate) timeout: Duration,
    /// A larger output file is a failed invocation.
    pub(crate) max_output_bytes: u64,
    /// At most so many invocations start within a minute.
    pub(crate) max_per_minute: Option<NonZeroUsize>,
}

/// When and how a failed invocation is tried again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Retry {
    /// Attempts in all; 1 means no retry.
    pub(crate) max_attempts: NonZeroUsize,
    /// Before the second attempt.
    pub(crate) initial_delay: Duration,
    /// Each further delay is this many times the one before; at least 1.
    pub(crate) backoff_factor: f64,
    /// Up to this much is added to each delay.
    pub(crate) jitter_max: Duration,
    /// Exit codes that are worth another attempt.
    pub(crate) transient_exit_codes: Vec<i32>,
    /// Whether a timeout is.
    pub(crate) retry_on_timeout: bool,
    /// Attempts in all where the server of a model is busy or in trouble, or the connection breaks.
    pub(crate) model_attempts: NonZeroUsize,
}

/// Where answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheSettings {
    /// The folder; absolute.
    pub(crate) dir: PathBuf,
}

/// What the command line changes in the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// The configuration file; `kelvin.yaml` in the working directory unless given.
    pub(crate) file: Option<PathBuf>,
    /// Instead of what the file holds.
    pub(crate) text: Option<String>,
    /// The folder that everything a check reads or runs is taken from, instead of that of the file.
    pub(crate) rules: Option<PathBuf>,
    /// Instead of `name`.
    pub(crate) name: Option<String>,
    /// Instead of `seed`.
    pub(crate) seed: Option<u64>,
    /// Instead of `jobs`.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Instead of `repeats`.
    pub(crate) repeats: Option<NonZeroUsize>,
    /// No cache, whatever the file says.
    pub(crate) no_cache: bool,
    /// The folder of the cache, where the file asks for one.
    pub(crate) cache_dir: Option<PathBuf>,
    /// A cache where the file does not say whether there is one.
    pub(crate) cache: bool,
    /// The environment of the job, where there is one.
    pub(crate) around: Option<Around>,
    /// Changes of `gate` and `baseline`.
    pub(crate) gate: GateOverrides,
    /// Whether what is measured is a base, so that `baseline.repeats` holds for it.
    pub(crate) is_base: bool,
}

/// What the command line changes in `gate` and `baseline`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GateOverrides {
    /// Instead of `gate.max_drop`; at least 0, at most 2.
    pub(crate) max_drop: Option<f64>,
    /// Instead of `baseline.from` or `baseline.file`.
    pub(crate) baseline: Option<BaselineOverride>,
    /// Instead of `gate.budget.calls`.
    pub(crate) calls: Option<usize>,
    /// Instead of `gate.budget.minutes`.
    pub(crate) minutes: Option<f64>,
    /// Instead of `gate.on_suspected`.
    pub(crate) on_suspected: Option<OnSuspected>,
    /// Instead of `baseline.repeats`.
    pub(crate) base_repeats: Option<NonZeroUsize>,
    /// Instead of `gate.budget.head_repeats`; at most 100.
    pub(crate) head_repeats: Option<NonZeroUsize>,
}

/// Where the baseline comes from, as the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaselineOverride {
    /// One of the sources.
    From(BaselineSource),
    /// A file, relative to the configuration.
    File(String),
}

impl BaselineOverride {
    /// A source by its name; anything else is a file.
    pub(crate) fn read(text: &str) -> Self {
        let name = serde_json::Value::String(text.to_owned());
        match serde_json::from_value(name) {
            Ok(source) => Self::From(source),
            Err(_) => Self::File(text.to_owned()),
        }
    }
}

impl GateOverrides {
    /// Puts what was given in the place of what is written.
    pub(crate) fn apply(&self, baseline: &mut BaselineSettings, gate: &mut GateSettings) {
        match &self.baseline {
            None => {}
            Some(BaselineOverride::From(source)) => {
                baseline.from = *source;
                baseline.file = None;
            }
            Some(BaselineOverride::File(file)) => baseline.file = Some(file.clone()),
        }
        // Whoever names it as the source allows it.
        baseline.compute |= baseline.from == BaselineSource::Compute;
        baseline.repeats = self.base_repeats.unwrap_or(baseline.repeats);
        gate.budget.head_repeats = self.head_repeats.unwrap_or(gate.budget.head_repeats);
        gate.max_drop = self.max_drop.unwrap_or(gate.max_drop);
        gate.budget.calls = self.calls.or(gate.budget.calls);
        gate.budget.minutes = self.minutes.or(gate.budget.minutes);
        gate.on_suspected = self.on_suspected.unwrap_or(gate.on_suspected);
    }
}

impl Config {
    /// Reads and checks the configuration, of which each owner knows its keys.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](crate::exit::Misuse) that shows every problem at once, each with its line, a
    /// caret and what to do.
    pub(crate) fn load(overrides: &Overrides, owners: &[Owner]) -> anyhow::Result<Self> {
        load::load(overrides, owners)
    }

    /// Checks a text that is to become `file`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub(crate) fn parse(text: &str, file: &Path, owners: &[Owner]) -> anyhow::Result<Self> {
        load::parse(text, file, &Overrides::default(), owners)
    }

    /// The folder that everything a check reads or runs is taken from: scripts, schemas, SQL, the template of a
    /// workspace. It is the folder of the file unless a change is judged by what its base has there.
    pub(crate) fn rules_root(&self) -> &Path {
        self.rules.as_deref().unwrap_or(&self.root)
    }

    /// The same, where it is not the folder of the file.
    pub(crate) fn other_rules(&self) -> Option<&Path> {
        self.rules.as_deref()
    }

    /// The settings of the kind of probe that has settings of this type; none where the file does
    /// not configure the kind.
    pub(crate) fn settings<T: ProbeSettings>(&self) -> Option<&T> {
        let configured = self.probes.iter().filter(|probe| probe.is_configured);
        let mut settings = configured.map(|probe| &*probe.settings as &dyn Any);
        settings.find_map(|settings| settings.downcast_ref())
    }

    /// How the pipelines of all kinds of probes are reached that the file configures.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Address> {
        let configured = self.probes.iter().filter(|probe| probe.is_configured);
        configured.filter_map(|probe| probe.settings.target())
    }

    /// How the pipeline of one kind of probe is reached, where the file configures it.
    pub(crate) fn target_of(&self, name: &str) -> Option<&Address> {
        let mut configured = self.probes.iter().filter(|probe| probe.is_configured);
        let probe = configured.find(|probe| probe.name == name)?;
        probe.settings.target()
    }

    /// How often each invocation has to be made so that every probe has its figures; none where none says.
    pub(crate) fn live_runs(&self) -> Option<NonZeroUsize> {
        let configured = self.probes.iter().filter(|probe| probe.is_configured);
        configured
            .filter_map(|probe| probe.settings.live_runs())
            .max()
    }

    /// Whether the file configures the kind of probe of this name.
    pub(crate) fn configures(&self, name: &str) -> bool {
        let mut probes = self.probes.iter();
        probes.any(|probe| probe.is_configured && probe.name == name)
    }
}

/// The `name` in the text of a configuration, also where the rest of it cannot be read.
pub(crate) fn name(text: &str) -> Option<String> {
    load::name(text)
}
