//! `kelvin.yaml` as written. The file is checked against the JSON schema of these types; editors use this schema too,
//! and the reference in the documentation is compared with it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::targets::Endpoint;
use kelvin_record::settings::{BaselineSettings, GateSettings};

/// Settings of a Kelvin check.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "kelvin.yaml")]
pub(super) struct RawConfig {
    /// Seeds the choice of perturbations, never the pipeline.
    #[serde(default)]
    #[schemars(range(max = 18_446_744_073_709_551_615_u64))]
    pub seed: u64,
    /// How often every invocation is made; each repeat is a sample of its own.
    #[serde(default = "one")]
    #[schemars(range(max = 1000))]
    pub repeats: NonZeroUsize,
    /// How many invocations run at the same time, each in a process of its own; with `concurrency` or `batch` the number of
    /// processes. Without it: the number of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub jobs: Option<NonZeroUsize>,
    /// Seconds after which an invocation is stopped, with every process it started.
    #[serde(default = "timeout_s")]
    #[schemars(range(max = 604_800), extend("exclusiveMinimum" = 0))]
    pub timeout_s: f64,
    /// An output file larger than this is a failed invocation.
    #[serde(default = "max_output_bytes")]
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub max_output_bytes: u64,
    /// At most this many invocations start within a minute. Without it: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_per_minute: Option<NonZeroUsize>,
    /// When a failed invocation is tried again.
    #[serde(default)]
    pub retry: RawRetry,
    /// Whether answers are kept and used again: `true`, `false`, or the folder to keep them in.
    #[serde(default)]
    pub cache: RawCache,
    /// Language models by a name of your own, which `run: {model: NAME}` and judges call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Endpoint>,
    /// Names of environment variables that change the answers; they become part of the cache key.
    #[serde(default)]
    pub env: Vec<String>,
    /// Globs of the files that make up the pipeline. Without them: everything that git knows,
    /// apart from the cases and the output folder.
    #[serde(default)]
    pub fingerprint: Vec<String>,
    /// Patterns of files that change no answer, such as `docs/**`, relative to the folder of `kelvin.yaml`. A change
    /// that touches nothing else is `unaffected`: nothing is run for it. The list of the base counts.
    #[serde(default)]
    pub harmless: Vec<String>,
    /// The name of this configuration among several in a repository. Without it: its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// Where the report that a change is compared with comes from.
    #[serde(default)]
    pub baseline: BaselineSettings,
    /// When a change does not pass.
    #[serde(default)]
    pub gate: GateSettings,
}

/// When a failed invocation is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawRetry {
    /// Attempts in all; 1 means that nothing is tried again.
    #[schemars(range(max = 100))]
    pub max_attempts: NonZeroUsize,
    /// Seconds before the second attempt.
    #[schemars(range(min = 0, max = 3600))]
    pub initial_delay_s: f64,
    /// Each further delay is this many times the one before.
    #[schemars(range(min = 1, max = 100))]
    pub backoff_factor: f64,
    /// Up to this many seconds are added to each delay, at random.
    #[schemars(range(min = 0, max = 3600))]
    pub jitter_max_s: f64,
    /// Exit codes of the pipeline that are worth another attempt.
    #[schemars(inner(range(min = 1, max = 255)))]
    pub transient_exit_codes: Vec<i32>,
    /// Whether a timeout is worth another attempt.
    pub retry_on_timeout: bool,
    /// Attempts in all if the server of a model, or a service, is busy or in trouble, or the connection breaks.
    #[schemars(range(max = 100))]
    pub model_attempts: NonZeroUsize,
}

impl Default for RawRetry {
    fn default() -> Self {
        Self {
            max_attempts: NonZeroUsize::MIN,
            initial_delay_s: 1.0,
            backoff_factor: 2.0,
            jitter_max_s: 0.3,
            transient_exit_codes: Vec::new(),
            retry_on_timeout: false,
            model_attempts: NonZeroUsize::new(4).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// Whether answers are kept and used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum RawCache {
    /// On, in `.kelvin-cache`, or off.
    Switch(bool),
    /// On, in a folder of your choice.
    Folder(RawCacheFolder),
}

impl Default for RawCache {
    fn default() -> Self {
        Self::Switch(false)
    }
}

/// Where answers are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCacheFolder {
    /// The folder, relative to the one of `kelvin.yaml`.
    #[serde(default = "cache_dir")]
    #[schemars(length(min = 1))]
    pub dir: String,
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

const fn timeout_s() -> f64 {
    150.0
}

const fn max_output_bytes() -> u64 {
    16 << 20
}

/// The default folder for answers.
pub(super) fn cache_dir() -> String {
    ".kelvin-cache".to_owned()
}
