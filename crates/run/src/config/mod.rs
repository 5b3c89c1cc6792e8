//! The whole of `kelvin.yaml`: the general keys, all problems at once, and the settings that each kind of probe makes
//! from its own keys. The written form of the general keys is in `raw`.

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
mod missing_file;
mod models;
pub mod placeholder;
mod raw;
pub mod shape;
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
pub use measuring::{measuring_as, on_items_of};
pub use yaml::quote;

/// The data that a check needs, read and checked before the run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The path of the file as it was given, for messages.
    pub file: PathBuf,
    /// The folder of the file: the working directory of the pipeline, and the base of every path.
    pub root: PathBuf,
    /// The folder from which a check reads and runs everything, if that is not `root`.
    rules: Option<PathBuf>,
    /// The seed for the choice of perturbations; it does not affect the pipeline.
    pub seed: u64,
    /// How often every invocation is made; each repeat is scored separately.
    pub repeats: NonZeroUsize,
    /// The number of repeats without the additional repeats for a base, so that the figures of an item are based on
    /// equally many runs on both sides.
    pub replicas: NonZeroUsize,
    /// How many invocations run at the same time; the number of processes, if each process runs several at once.
    pub jobs: NonZeroUsize,
    /// The limits of one invocation, and of the rate of invocations.
    pub limits: Limits,
    /// Whether a failed invocation is tried again.
    pub retry: Retry,
    /// The settings of the answer cache; none if it is not used.
    pub cache: Option<CacheSettings>,
    /// Globs of the files that make up the pipeline; if empty, the files that git knows.
    pub fingerprint: Vec<String>,
    /// Patterns of the files that change no answer: a change that touches only such files needs no run.
    pub harmless: Vec<String>,
    /// The environment of the job, if there is one; part of the cache key.
    pub around: Option<Around>,
    /// Environment variables that change the answers; part of the cache key.
    pub env: Vec<String>,
    /// The models that are declared, by name.
    models: BTreeMap<String, ModelSettings>,
    /// The name of this configuration among several in a repository.
    pub name: Option<String>,
    /// The source of the report with which a change is compared.
    pub baseline: BaselineSettings,
    /// The conditions under which a change does not pass.
    pub gate: GateSettings,
    /// The settings of the kinds of probes, in the order of their registry.
    probes: Vec<ProbeConfig>,
}

/// The settings of one kind of probe.
#[derive(Clone, Debug)]
struct ProbeConfig {
    name: &'static str,
    /// Whether the file configures the kind; if not, its settings only contribute to the digest.
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
    /// The number of attempts in total; 1 means no retry.
    pub max_attempts: NonZeroUsize,
    /// The delay before the second attempt.
    pub initial_delay: Duration,
    /// The factor between one delay and the next; at least 1.
    pub backoff_factor: f64,
    /// The maximum of the random addition to each delay.
    pub jitter_max: Duration,
    /// Exit codes after which another attempt is made.
    pub transient_exit_codes: Vec<i32>,
    /// Whether an invocation that timed out is tried again.
    pub retry_on_timeout: bool,
    /// The number of attempts in total if the server of a model is busy or has an error, or if the connection breaks.
    pub model_attempts: NonZeroUsize,
}

/// Where answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// The folder; absolute.
    pub dir: PathBuf,
}

/// The changes that the command line makes to the configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The configuration file; `kelvin.yaml` in the working directory unless given.
    pub file: Option<PathBuf>,
    /// The text of the configuration, which replaces the text of the file.
    pub text: Option<String>,
    /// The folder from which a check reads and runs everything, instead of the folder of the file.
    pub rules: Option<PathBuf>,
    /// Replaces `name`.
    pub name: Option<String>,
    /// Replaces `seed`.
    pub seed: Option<u64>,
    /// Replaces `jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// Replaces `repeats`.
    pub repeats: Option<NonZeroUsize>,
    /// Turns the cache off, whatever the file sets.
    pub no_cache: bool,
    /// The folder of the cache, if the file uses one.
    pub cache_dir: Option<PathBuf>,
    /// Turns the cache on if the file does not say whether it is used.
    pub cache: bool,
    /// The environment of the job, if there is one.
    pub around: Option<Around>,
    /// Changes of `gate` and `baseline`.
    pub gate: GateOverrides,
    /// Whether a base is measured, so that `baseline.repeats` applies.
    pub is_base: bool,
}

/// The changes that the command line makes to `gate` and `baseline`.
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

/// The source of the baseline according to the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaselineOverride {
    /// One of the sources.
    From(BaselineSource),
    /// A file, relative to the configuration.
    File(String),
}

impl BaselineOverride {
    /// The source with this name; any other text is a file.
    pub fn read(text: &str) -> Self {
        let name = serde_json::Value::String(text.to_owned());
        match serde_json::from_value(name) {
            Ok(source) => Self::From(source),
            Err(_) => Self::File(text.to_owned()),
        }
    }
}

impl GateOverrides {
    /// Applies the changes of the command line to the settings of the file.
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
    /// The folder from which a check reads and runs everything: scripts, schemas, SQL, the template of a workspace. It
    /// is the folder of the file unless a change is judged by the files of its base.
    pub fn rules_root(&self) -> &Path {
        self.rules.as_deref().unwrap_or(&self.root)
    }

    /// The [`rules_root`](Self::rules_root), if it is not the folder of the file.
    pub fn other_rules(&self) -> Option<&Path> {
        self.rules.as_deref()
    }

    /// The settings of this type; none if the file does not configure that kind of probe.
    pub fn settings<T: ProbeSettings>(&self) -> Option<&T> {
        let mut settings = self.configured().map(|probe| &*probe.settings as &dyn Any);
        settings.find_map(|settings| settings.downcast_ref())
    }

    /// The addresses of the pipelines of all kinds of probes that the file configures.
    pub fn targets(&self) -> impl Iterator<Item = &Address> {
        self.configured()
            .filter_map(|probe| probe.settings.target())
    }

    /// How many invocations of the pipeline run at the same time in every kind of probe, at least.
    pub fn at_once(&self) -> usize {
        let of_a_job = self.targets().map(Address::at_once).min().unwrap_or(1);
        self.jobs.get().saturating_mul(of_a_job)
    }

    /// The address of the pipeline of one kind of probe, if the file configures it.
    pub fn target_of(&self, name: &str) -> Option<&Address> {
        let probe = self.configured().find(|probe| probe.name == name)?;
        probe.settings.target()
    }

    /// The judges of all configured probes: the name of the probe, the place of the judge, and its settings.
    pub fn judges(&self) -> impl Iterator<Item = (&'static str, String, &JudgeSettings)> {
        self.configured().flat_map(|probe| {
            let judges = probe.settings.judges().into_iter();
            judges.map(|(place, settings)| (probe.name, place, settings))
        })
    }

    /// Whether a metric of a probe depends on the grades of the judge at a place.
    pub fn is_graded(&self, probe: &str, place: &str, metric: &str) -> bool {
        let is_of_probe = metric.split_once('.').is_some_and(|(of, _)| of == probe);
        let graded =
            |found: &ProbeConfig| found.name == probe && found.settings.is_graded(place, metric);
        is_of_probe && self.configured().any(graded)
    }

    /// How often each invocation has to be made so that every probe has its figures; none if no probe says.
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
    /// The digest of everything that defines what is measured, according to each kind of probe. The commands, the jobs,
    /// the limits and the paths of files are not included.
    ///
    /// The digest of a kind becomes a field in the digest of the next kind. A kind that a file does not configure adds
    /// nothing, so the digests of reports from before that kind existed stay the same.
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
