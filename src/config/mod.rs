//! `kelvin.yaml` in its checked form. What the file says as written is in [`raw`]; the word lists
//! that perturbations use are in [`words`].

mod around;
mod check;
mod diagnostic;
mod edits;
pub(crate) mod golden;
mod hints;
mod identity;
mod load;
mod placeholder;
mod quote;
pub(crate) mod raw;
mod retrieval;
mod shape;
mod shard;
pub(crate) mod words;
mod yaml;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::judge::Choice;
use crate::target::Address;
pub(crate) use around::Around;
pub(crate) use edits::{Edited, edits, is_same_data};
pub(crate) use quote::quote;
pub(crate) use raw::gate::{
    RawBaseline as BaselineSettings, RawBudget as Budget, RawFailOrWarn as FailOrWarn,
    RawGate as GateSettings, RawMetricRule as MetricRule, RawOnSuspected as OnSuspected,
    RawPolicy as MetricPolicy, RawRule as GateRule, RawSource as BaselineSource,
};
pub(crate) use retrieval::{Retrieval, SpanRule};
pub(crate) use shard::Shard;
use unicode_normalization::UnicodeNormalization as _;
use words::Words;

/// Everything a check needs to know, read and checked up front.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file as it was named, for messages.
    pub(crate) file: PathBuf,
    /// The folder of the file: the working directory of the pipeline, and the base of every path.
    pub(crate) root: PathBuf,
    /// Whether the evidence probe is configured; without it `run`, `cases`, `decision_field` and
    /// `governing_types` are empty.
    pub(crate) evidence: bool,
    /// What the retrieval probe needs, where it is configured.
    pub(crate) retrieval: Option<Retrieval>,
    /// How the pipeline is reached.
    pub(crate) run: Address,
    /// A folder, or a glob such as `cases/**/*.md`; relative to the root.
    pub(crate) cases: String,
    /// Where the decision stands in the output.
    pub(crate) decision_field: DecisionField,
    /// The unit types that should govern the decision; normalised, distinct, in the order given.
    pub(crate) governing_types: Vec<String>,
    /// Seeds the choice of perturbations, never the pipeline.
    pub(crate) seed: u64,
    /// How often every invocation is made; each repeat is scored by itself.
    pub(crate) repeats: NonZeroUsize,
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
    /// Which perturbations are made, and how many.
    pub(crate) perturbations: Perturbations,
    /// Replays of each baseline, the first invocation included; none when the floor is off.
    pub(crate) noise_floor: Option<NonZeroUsize>,
    /// How two decisions are compared.
    pub(crate) scorer: Choice,
    /// The name of this configuration among several in a repository.
    pub(crate) name: Option<String>,
    /// Where the report that a change is compared with comes from.
    pub(crate) baseline: BaselineSettings,
    /// When a change does not pass.
    pub(crate) gate: GateSettings,
}

/// Where the decision stands in the JSON object that the pipeline writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecisionField {
    /// A key at the top level, taken literally.
    Key(String),
    /// A JSON pointer (RFC 6901), beginning with `/`.
    Pointer(String),
}

impl DecisionField {
    /// As the user wrote it.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Key(text) | Self::Pointer(text) => text,
        }
    }
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
}

/// Where answers are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheSettings {
    /// The folder; absolute.
    pub(crate) dir: PathBuf,
}

/// Which perturbations are made, and how many.
#[derive(Clone, Debug)]
pub(crate) struct Perturbations {
    /// Names of the opt-in kinds that were enabled, in the order of the registry.
    pub(crate) enable: Vec<String>,
    /// Whether `drop` counts into invariance.
    pub(crate) count_drop: bool,
    /// How many variants per case of the default kinds.
    pub(crate) variants: Counts,
    /// Whether `pad_content` may insert units of a governing type.
    pub(crate) pad_include_governing: bool,
    /// The filler sections and word lists, packs and replacements applied.
    pub(crate) words: Words,
}

/// How many variants per case each default kind aims for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Different orders of the units.
    pub(crate) reorder: usize,
    /// Variants with neutral sections.
    pub(crate) pad_length: usize,
    /// Variants with units of other cases.
    pub(crate) pad_content: usize,
    /// Swaps per governing type.
    pub(crate) swap: SwapCount,
}

/// How many swaps per governing type and case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwapCount {
    /// Up to so many.
    UpTo(usize),
    /// Every (unit, peer) pair.
    All,
}

/// What the command line changes in the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// The configuration file; `kelvin.yaml` in the working directory unless given.
    pub(crate) file: Option<PathBuf>,
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
    fn apply(&self, baseline: &mut BaselineSettings, gate: &mut GateSettings) {
        match &self.baseline {
            None => {}
            Some(BaselineOverride::From(source)) => {
                baseline.from = *source;
                baseline.file = None;
                baseline.compute |= *source == BaselineSource::Compute;
            }
            Some(BaselineOverride::File(file)) => baseline.file = Some(file.clone()),
        }
        gate.max_drop = self.max_drop.unwrap_or(gate.max_drop);
        gate.budget.calls = self.calls.or(gate.budget.calls);
        gate.budget.minutes = self.minutes.or(gate.budget.minutes);
        gate.on_suspected = self.on_suspected.unwrap_or(gate.on_suspected);
    }
}

impl Config {
    /// Reads and checks the configuration.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](crate::exit::Misuse) that shows every problem at once, each with its line, a
    /// caret and what to do.
    pub(crate) fn load(overrides: &Overrides) -> anyhow::Result<Self> {
        load::load(overrides)
    }

    /// Checks a text that is to become `file`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub(crate) fn parse(text: &str, file: &Path) -> anyhow::Result<Self> {
        load::parse(text, file, &Overrides::default())
    }
}

/// The `name` in the text of a configuration, also where the rest of it cannot be read.
pub(crate) fn name(text: &str) -> Option<String> {
    load::name(text)
}

/// The type of the units under a heading: trimmed, in lower case, runs of white space as `_`.
/// Composed and decomposed letters (Unicode NFC and NFD) make the same type.
pub(crate) fn unit_type(heading: &str) -> String {
    // Nothing in ASCII is composed of anything, and most headings are.
    if heading.is_ascii() {
        let mut name = String::with_capacity(heading.len());
        for word in heading.split_whitespace() {
            if !name.is_empty() {
                name.push('_');
            }
            name.extend(
                word.bytes()
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
        }
        return name;
    }
    let composed: String = heading.nfc().collect();
    let words: Vec<String> = composed.split_whitespace().map(str::to_lowercase).collect();
    words.join("_")
}
