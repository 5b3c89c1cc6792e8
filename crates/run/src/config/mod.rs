//! `kelvin.yaml` as a whole: the general keys, all problems at once, and for each kind of probe the
//! settings that it makes of its own keys. The written form of the general keys is in `raw`.

mod around;
mod branch;
pub mod check;
pub mod configure;
pub mod diagnostic;
mod edits;
mod harmless;
pub mod hints;
pub mod load;
mod measuring;
mod models;
pub mod placeholder;
mod raw;
pub mod shape;
mod wanted;
pub mod yaml;

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::judge::JudgeSettings;
use crate::targets::{Address, ModelSettings};
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::settings::{BaselineSettings, BaselineSource, GateSettings, OnSuspected};

pub use around::{Around, lasts};
pub use configure::{Configure, Owner, Part, ProbeSettings, Slip, schema_of};
pub use diagnostic::Problem;
pub use edits::{Edit, Edited, edits, is_same_data};
pub use harmless::{Harmless, NamedPaths, always_affects};
pub use hints::nearest;
pub use load::name;
pub use measuring::measuring_as;
pub use yaml::quote;

/// Everything a check needs to know, read and checked up front.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file as it was named, for messages.
    pub file: PathBuf,
    /// The folder of the file: the working directory of the pipeline, and the base of every path.
    pub root: PathBuf,
    /// The folder from which a check takes everything that it reads or runs, where that is not `root`.
    rules: Option<PathBuf>,
    /// Seeds the choice of perturbations, never the pipeline.
    pub seed: u64,
    /// How often every invocation is made; each repeat is scored by itself.
    pub repeats: NonZeroUsize,
    /// The repeats without those that are added for a base, so that figures of one item rest on as many runs on
    /// both sides.
    pub replicas: NonZeroUsize,
    /// How many invocations run at the same time; how many processes there are, where each has several at once.
    pub jobs: NonZeroUsize,
    /// What bounds one invocation and their rate.
    pub limits: Limits,
    /// Whether a failed invocation is tried again.
    pub retry: Retry,
    /// The cache of answers; none unless asked for.
    pub cache: Option<CacheSettings>,
    /// Globs of the files that make up the pipeline; empty means what git knows.
    pub fingerprint: Vec<String>,
    /// Patterns of the files that change no answer: a change that touches nothing else needs no run.
    pub harmless: Vec<String>,
    /// The environment of the job, where there is one; part of the cache key.
    pub around: Option<Around>,
    /// Environment variables that change the answers; part of the cache key.
    pub env: Vec<String>,
    /// The models that are declared, by name.
    models: BTreeMap<String, ModelSettings>,
    /// The name of this configuration among several in a repository.
    pub name: Option<String>,
    /// Where the report that a change is compared with comes from.
    pub baseline: BaselineSettings,
    /// When a change does not pass.
    pub gate: GateSettings,
    /// The settings of the kinds of probes, in the order of their registry.
    probes: Vec<ProbeConfig>,
}

/// The settings of one kind of probe.
#[derive(Clone, Debug)]
struct ProbeConfig {
    name: &'static str,
    /// Whether the file configures the kind; otherwise its settings are only a part of the digest.
    is_configured: bool,
    settings: Arc<dyn ProbeSettings>,
}

/// The limits of one invocation, and of the rate of invocations.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The time after which the process group of an invocation is killed.
    pub timeout: Duration,
    /// The limit of an output file. A larger output is a failed invocation.
    pub max_output_bytes: u64,
    /// The number of invocations that may start within a minute.
    pub max_per_minute: Option<NonZeroUsize>,
}

/// When and how a failed invocation is tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in all; 1 means no retry.
    pub max_attempts: NonZeroUsize,
    /// The delay before the second attempt.
    pub initial_delay: Duration,
    /// The factor from each delay to the next; at least 1.
    pub backoff_factor: f64,
    /// The most that is added to each delay at random.
    pub jitter_max: Duration,
    /// Exit codes that are worth another attempt.
    pub transient_exit_codes: Vec<i32>,
    /// Whether an invocation that timed out is tried again.
    pub retry_on_timeout: bool,
    /// Attempts in all where the server of a model is busy or in trouble, or the connection breaks.
    pub model_attempts: NonZeroUsize,
}

/// Where answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// The folder; absolute.
    pub dir: PathBuf,
}

/// What the command line changes in the configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The configuration file; `kelvin.yaml` in the working directory unless given.
    pub file: Option<PathBuf>,
    /// The text of the configuration, which replaces that of the file.
    pub text: Option<String>,
    /// The folder from which a check takes everything that it reads or runs, instead of the folder of the file.
    pub rules: Option<PathBuf>,
    /// Replaces `name`.
    pub name: Option<String>,
    /// Replaces `seed`.
    pub seed: Option<u64>,
    /// Replaces `jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// Replaces `repeats`.
    pub repeats: Option<NonZeroUsize>,
    /// Turns the cache off, whatever the file says.
    pub no_cache: bool,
    /// The folder of the cache, where the file asks for one.
    pub cache_dir: Option<PathBuf>,
    /// Turns the cache on where the file does not say whether there is one.
    pub cache: bool,
    /// The environment of the job, where there is one.
    pub around: Option<Around>,
    /// Changes of `gate` and `baseline`.
    pub gate: GateOverrides,
    /// Whether what is measured is a base, so that `baseline.repeats` holds for it.
    pub is_base: bool,
}

/// What the command line changes in `gate` and `baseline`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateOverrides {
    /// Replaces `gate.max_drop`; at least 0, at most 2.
    pub max_drop: Option<f64>,
    /// Replaces `baseline.from` or `baseline.file`.
    pub baseline: Option<BaselineOverride>,
    /// Replaces `gate.budget.calls`.
    pub calls: Option<usize>,
    /// Replaces `gate.budget.minutes`.
    pub minutes: Option<f64>,
    /// Replaces `gate.on_suspected`.
    pub on_suspected: Option<OnSuspected>,
    /// Replaces `baseline.repeats`.
    pub base_repeats: Option<NonZeroUsize>,
    /// Replaces `gate.budget.head_repeats`; at most 100.
    pub head_repeats: Option<NonZeroUsize>,
}

/// Where the baseline comes from, as the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineOverride {
    /// One of the sources.
    From(BaselineSource),
    /// A file, relative to the configuration.
    File(String),
}

impl BaselineOverride {
    /// A source by its name; anything else is a file.
    pub fn read(text: &str) -> Self {
        let name = serde_json::Value::String(text.to_owned());
        match serde_json::from_value(name) {
            Ok(source) => Self::From(source),
            Err(_) => Self::File(text.to_owned()),
        }
    }
}

impl GateOverrides {
    /// Applies these changes to the settings of the file.
    pub fn apply(&self, baseline: &mut BaselineSettings, gate: &mut GateSettings) {
        match &self.baseline {
            None => {}
            Some(BaselineOverride::From(source)) => {
                baseline.from = *source;
                baseline.file = None;
            }
            Some(BaselineOverride::File(file)) => baseline.file = Some(file.clone()),
        }
        // Naming `compute` as the source on the command line also allows it.
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
    /// The folder from which a check takes everything that it reads or runs: scripts, schemas, SQL, the template of a
    /// workspace. It is the folder of the file unless a change is judged by the files of its base.
    pub fn rules_root(&self) -> &Path {
        self.rules.as_deref().unwrap_or(&self.root)
    }

    /// The [`rules_root`](Self::rules_root) where it is not the folder of the file.
    pub fn other_rules(&self) -> Option<&Path> {
        self.rules.as_deref()
    }

    /// The settings of the kind of probe that has settings of this type; none where the file does
    /// not configure the kind.
    pub fn settings<T: ProbeSettings>(&self) -> Option<&T> {
        let mut settings = self.configured().map(|probe| &*probe.settings as &dyn Any);
        settings.find_map(|settings| settings.downcast_ref())
    }

    /// The addresses of the pipelines of all kinds of probes that the file configures.
    pub fn targets(&self) -> impl Iterator<Item = &Address> {
        self.configured()
            .filter_map(|probe| probe.settings.target())
    }

    /// How many invocations of the pipeline run at the same time: of every kind of probe at least so many.
    pub fn at_once(&self) -> usize {
        let of_a_job = self.targets().map(Address::at_once).min().unwrap_or(1);
        self.jobs.get().saturating_mul(of_a_job)
    }

    /// The address of the pipeline of one kind of probe, where the file configures it.
    pub fn target_of(&self, name: &str) -> Option<&Address> {
        let probe = self.configured().find(|probe| probe.name == name)?;
        probe.settings.target()
    }

    /// The judges of all kinds of probes that the file configures: the name of the probe, the place of the judge, and
    /// its settings.
    pub fn judges(&self) -> impl Iterator<Item = (&'static str, String, &JudgeSettings)> {
        self.configured().flat_map(|probe| {
            let judges = probe.settings.judges().into_iter();
            judges.map(|(place, settings)| (probe.name, place, settings))
        })
    }

    /// Whether a metric depends on the grades of the judge at a place, of the probe of this name.
    pub fn is_graded(&self, probe: &str, place: &str, metric: &str) -> bool {
        let is_of_probe = metric.split_once('.').is_some_and(|(of, _)| of == probe);
        let graded =
            |found: &ProbeConfig| found.name == probe && found.settings.is_graded(place, metric);
        is_of_probe && self.configured().any(graded)
    }

    /// How often each invocation has to be made so that every probe has its figures; none where no probe says.
    pub fn live_runs(&self) -> Option<NonZeroUsize> {
        let runs = self
            .configured()
            .filter_map(|probe| probe.settings.live_runs());
        runs.max()
    }

    /// Whether the file configures the kind of probe of this name.
    pub fn configures(&self, name: &str) -> bool {
        self.configured().any(|probe| probe.name == name)
    }

    /// The kinds of probes that the file configures.
    fn configured(&self) -> impl Iterator<Item = &ProbeConfig> {
        self.probes.iter().filter(|probe| probe.is_configured)
    }
}

impl Config {
    /// The digest of everything that changes what is measured, as each kind of probe says. The commands, the
    /// jobs, the limits and the places of files are not part of it.
    ///
    /// The digest of a kind is a field in the digest of the next kind, so that a kind that a file
    /// does not configure leaves no trace: the digests of reports from before there was such a kind
    /// stay the same.
    pub fn measured(&self) -> Digest {
        let mut before: Option<(&str, Digest)> = None;
        for probe in &self.probes {
            let fields = match before {
                None => Fields::of("kelvin/config/v1"),
                Some((name, digest)) => {
                    let domain = format!("kelvin/config/{}/v1", probe.name);
                    Fields::of(&domain).field(name, digest.bytes())
                }
            };
            before = Some((probe.name, probe.settings.measured(fields).digest()));
        }
        before.map_or_else(
            || Fields::of("kelvin/config/v1").digest(),
            |(_, digest)| digest,
        )
    }
}
