//! `kelvin.yaml` as written. The JSON schema made from these types is what the file is checked
//! against, what editors use, and what the reference in the documentation is compared with.

pub(crate) mod gate;

use std::num::NonZeroUsize;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::retrieval::SpanRule;
use crate::judge::Choice;
use crate::target::Address;

/// Settings of a Kelvin check.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "kelvin.yaml", extend("dependentRequired" = dependent()))]
pub(crate) struct RawConfig {
    /// The command that runs the pipeline once, with the placeholders `{input}` and `{output}`.
    #[serde(default, skip_serializing_if = "Address::is_empty")]
    pub(crate) run: Address,
    /// The folder of the cases, one Markdown file each, or a glob such as `cases/**/*.md`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub(crate) cases: String,
    /// The key of the decision in the output, or a JSON pointer such as `/result/decision`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub(crate) decision_field: String,
    /// The types of the units that should govern the decision, e.g. `gate_rule` or `Gate Rule`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) governing_types: Vec<String>,
    /// What the retrieval probe runs, and on what; `run`, `cases`, `decision_field` and
    /// `governing_types` are needed for the evidence probe only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retrieval: Option<RawRetrieval>,
    /// Seeds the choice of perturbations, never the pipeline.
    #[serde(default)]
    #[schemars(range(max = 18_446_744_073_709_551_615_u64))]
    pub(crate) seed: u64,
    /// How often every invocation is made; each repeat is a sample of its own.
    #[serde(default = "one")]
    #[schemars(range(max = 1000))]
    pub(crate) repeats: NonZeroUsize,
    /// How many invocations run at the same time. Without it: the number of cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Seconds after which an invocation is stopped, with every process it started.
    #[serde(default = "timeout_s")]
    #[schemars(range(max = 604_800), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
    /// An output file larger than this is a failed invocation.
    #[serde(default = "max_output_bytes")]
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub(crate) max_output_bytes: u64,
    /// At most so many invocations start within a minute. Without it: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) max_per_minute: Option<NonZeroUsize>,
    /// When a failed invocation is tried again.
    #[serde(default)]
    pub(crate) retry: RawRetry,
    /// Whether answers are kept and used again: `true`, `false`, or the folder to keep them in.
    #[serde(default)]
    pub(crate) cache: RawCache,
    /// Names of environment variables that change the answers; they become part of the cache key.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    /// Globs of the files that make up the pipeline. Without them: everything that git knows,
    /// apart from the cases and the output folder.
    #[serde(default)]
    pub(crate) fingerprint: Vec<String>,
    /// How many variants per case the default kinds of perturbation aim for.
    #[serde(default)]
    pub(crate) variants: RawVariants,
    /// Perturbations that are made on request only.
    #[serde(default)]
    pub(crate) perturbations: RawPerturbations,
    /// Whether `pad_content` may insert units of a governing type.
    #[serde(default)]
    pub(crate) pad_include_governing: bool,
    /// A YAML file with your own neutral sections for `pad_length`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) filler: Option<String>,
    /// Perturbation packs: names of packs that ship with Kelvin, or folders of your own.
    #[serde(default)]
    pub(crate) packs: Vec<String>,
    /// Replays of the baselines that measure how much the pipeline varies by itself.
    #[serde(default)]
    pub(crate) noise_floor: RawNoiseFloor,
    /// How two decisions are compared: `exact`, `set`, or ordered levels.
    #[serde(default)]
    pub(crate) scorer: Choice,
    /// The name of this configuration among several in a repository. Without it: its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) name: Option<String>,
    /// Where the report that a change is compared with comes from.
    #[serde(default)]
    pub(crate) baseline: gate::RawBaseline,
    /// When a change does not pass.
    #[serde(default)]
    pub(crate) gate: gate::RawGate,
}

/// What the retrieval probe runs, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRetrieval {
    /// The command that answers one query, with the placeholders `{input}` and `{output}`.
    pub(crate) run: Address,
    /// The golden set: a YAML list of queries with what is known of each.
    #[schemars(length(min = 1))]
    pub(crate) golden: String,
    /// Which documents and chunks exist: JSON lines with `doc_id` and, for a chunk, `chunk_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) corpus: Option<String>,
    /// How many hits the measures look at.
    #[serde(default = "ks")]
    #[schemars(length(min = 1), inner(range(min = 1, max = 1000)))]
    pub(crate) k: Vec<usize>,
    /// A first expected chunk behind this rank has a reciprocal rank of 0.
    #[serde(default = "cut_off")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) cut_off: usize,
    /// The version of the chunker, where the outputs do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) chunker_version: Option<String>,
    /// When an expected span counts as found in a comparison of runs with other chunks: when hits
    /// have half of it together, or when one hit has half of it alone.
    #[serde(default)]
    pub(crate) span_rule: SpanRule,
}

/// The keys of the evidence probe: with any of them, all are needed.
pub(super) const EVIDENCE: [&str; 4] = ["run", "cases", "decision_field", "governing_types"];

fn dependent() -> serde_json::Value {
    let others = |key: &str| -> serde_json::Value {
        let others = EVIDENCE.into_iter().filter(|other| *other != key);
        others.collect()
    };
    let entries = EVIDENCE.into_iter();
    entries.map(|key| (key.to_owned(), others(key))).collect()
}

fn ks() -> Vec<usize> {
    vec![1, 3, 5, 10]
}

const fn cut_off() -> usize {
    10
}

/// When a failed invocation is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawRetry {
    /// Attempts in all; 1 means that nothing is tried again.
    #[schemars(range(max = 100))]
    pub(crate) max_attempts: NonZeroUsize,
    /// Seconds before the second attempt.
    #[schemars(range(min = 0, max = 3600))]
    pub(crate) initial_delay_s: f64,
    /// Each further delay is this many times the one before.
    #[schemars(range(min = 1, max = 100))]
    pub(crate) backoff_factor: f64,
    /// Up to so many seconds are added to each delay, by chance.
    #[schemars(range(min = 0, max = 3600))]
    pub(crate) jitter_max_s: f64,
    /// Exit codes of the pipeline that are worth another attempt.
    #[schemars(inner(range(min = 1, max = 255)))]
    pub(crate) transient_exit_codes: Vec<i32>,
    /// Whether a timeout is worth another attempt.
    pub(crate) retry_on_timeout: bool,
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
        }
    }
}

/// Whether answers are kept and used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RawCache {
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
pub(crate) struct RawCacheFolder {
    /// The folder, relative to the one of `kelvin.yaml`.
    #[serde(default = "cache_dir")]
    #[schemars(length(min = 1))]
    pub(crate) dir: String,
}

/// How many variants per case the default kinds aim for; 0 turns a kind off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawVariants {
    /// Other orders of the units.
    #[schemars(range(max = 1000))]
    pub(crate) reorder: usize,
    /// Variants with neutral sections put in.
    #[schemars(range(max = 1000))]
    pub(crate) pad_length: usize,
    /// Variants with units of other cases put in.
    #[schemars(range(max = 1000))]
    pub(crate) pad_content: usize,
    /// Governing units exchanged for those of other cases, per type; `all` makes every exchange.
    pub(crate) swap: RawSwap,
}

impl Default for RawVariants {
    fn default() -> Self {
        Self {
            reorder: 3,
            pad_length: 3,
            pad_content: 3,
            swap: RawSwap::UpTo(3),
        }
    }
}

/// How many swaps per governing type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RawSwap {
    /// Up to so many.
    UpTo(#[schemars(range(max = 1000))] usize),
    /// One for every pair of a unit and a peer.
    Every(RawAll),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RawAll {
    /// All of them.
    All,
}

/// Perturbations that are made on request only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawPerturbations {
    /// The kinds to add to the default ones.
    pub(crate) enable: Vec<OptIn>,
    /// Whether variants of `drop` count into invariance.
    pub(crate) count_drop: bool,
}

/// The kinds of perturbation that are made on request only, in the order of the reports.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum OptIn {
    SwapCondition,
    NumericMagnitude,
    ComparatorFlip,
    PolarityFlip,
    WhitespaceJitter,
    PunctuationNormalize,
    BulletReformat,
    NonGoverningDuplication,
    HedgeInjection,
    PolitenessInjection,
    DiscourseMarkerInjection,
    MetaCommentaryInjection,
    Drop,
}

impl OptIn {
    /// The name in the file, in the reports and in the registry.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SwapCondition => "swap_condition",
            Self::NumericMagnitude => "numeric_magnitude",
            Self::ComparatorFlip => "comparator_flip",
            Self::PolarityFlip => "polarity_flip",
            Self::WhitespaceJitter => "whitespace_jitter",
            Self::PunctuationNormalize => "punctuation_normalize",
            Self::BulletReformat => "bullet_reformat",
            Self::NonGoverningDuplication => "non_governing_duplication",
            Self::HedgeInjection => "hedge_injection",
            Self::PolitenessInjection => "politeness_injection",
            Self::DiscourseMarkerInjection => "discourse_marker_injection",
            Self::MetaCommentaryInjection => "meta_commentary_injection",
            Self::Drop => "drop",
        }
    }
}

/// Replays of the baselines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNoiseFloor {
    /// Whether it is measured; once the section is there, it is unless this says `false`.
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    /// Invocations of each baseline, the first one included.
    #[serde(default = "replications")]
    #[schemars(range(min = 2, max = 1000))]
    pub(crate) replications: usize,
}

impl Default for RawNoiseFloor {
    fn default() -> Self {
        Self {
            enabled: false,
            replications: replications(),
        }
    }
}

const fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

const fn yes() -> bool {
    true
}

const fn replications() -> usize {
    10
}

const fn timeout_s() -> f64 {
    150.0
}

const fn max_output_bytes() -> u64 {
    16 << 20
}

/// Where answers are kept unless a folder is named.
pub(super) fn cache_dir() -> String {
    ".kelvin-cache".to_owned()
}

/// The JSON schema of the file, without references.
pub(crate) fn schema() -> Schema {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<RawConfig>()
}

#[cfg(test)]
mod tests;
