//! How often an item is run: its own input, and its variants.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use kelvin_base::digest::Digest;
use kelvin_base::notice::Notice;

/// How often the inputs of an item are run. An item without variants has the same number twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The input of the item itself.
    pub input: usize,
    /// Each of its variants.
    pub variants: usize,
}

/// How often an item should be run in all: its own input, each of its variants, and single variants that are run more
/// often than the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The input of the item itself.
    pub input: usize,
    /// Each of its variants.
    pub variants: usize,
    /// Single variants, by name.
    pub single: BTreeMap<String, usize>,
}

/// How often some items should be run in all, by id.
pub type WantedRepeats = BTreeMap<String, Wanted>;

impl From<Repeats> for Wanted {
    fn from(Repeats { input, variants }: Repeats) -> Self {
        Self {
            input,
            variants,
            single: BTreeMap::new(),
        }
    }
}

impl Wanted {
    /// How often a variant is wanted.
    pub fn of_variant(&self, name: &str) -> usize {
        let single = self.single.get(name).copied();
        self.variants.max(single.unwrap_or(0))
    }

    /// The highest number for any input.
    pub fn most(&self) -> usize {
        let single = self.single.values().copied();
        single.fold(self.input.max(self.variants), usize::max)
    }

    /// Raises the numbers to at least those of another request.
    pub fn raise(&mut self, other: &Self) {
        self.input = self.input.max(other.input);
        self.variants = self.variants.max(other.variants);
        for (name, runs) in &other.single {
            let single = self.single.entry(name.clone()).or_default();
            *single = (*single).max(*runs);
        }
    }

    /// The same request with at most this many runs of each input.
    pub fn at_most(&self, runs: usize) -> Self {
        let single = self.single.iter();
        Self {
            input: self.input.min(runs),
            variants: self.variants.min(runs),
            single: single
                .map(|(name, wanted)| (name.clone(), runs.min(*wanted)))
                .collect(),
        }
    }

    /// The number of missing calls compared with `there`, for an item with this many variants. `made`: how often a
    /// single variant was run.
    pub fn missing(&self, there: Repeats, variants: usize, made: impl Fn(&str) -> usize) -> usize {
        let single = self.single.iter().map(|(name, wanted)| {
            let made = made(name).max(self.variants);
            wanted.saturating_sub(made)
        });
        let each = Repeats {
            input: self.input,
            variants: self.variants,
        };
        each.missing(there, variants) + single.sum::<usize>()
    }
}

impl Repeats {
    /// The same number for every input.
    pub const fn of_all(runs: usize) -> Self {
        Self {
            input: runs,
            variants: runs,
        }
    }

    /// The larger number of both for each input.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            variants: self.variants.max(other.variants),
        }
    }

    /// The number of missing calls compared with `there`, for an item with this many variants.
    pub const fn missing(self, there: Self, variants: usize) -> usize {
        self.input.saturating_sub(there.input)
            + variants * self.variants.saturating_sub(there.variants)
    }
}

/// How many calls all re-runs of a side may take together unless the configuration says so, in runs of everything. Together
/// with its first run, a gate costs at most four runs of each side that it can run.
pub const RUNS_OF_THE_SUITE: usize = 3;

/// The planned invocations of a probe.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    /// The number of invocations, by their purpose.
    pub invocations: BTreeMap<&'static str, usize>,
    /// How many more invocations the re-runs of a side may take than [`RUNS_OF_THE_SUITE`] times all of these.
    #[serde(skip)]
    pub more_reruns: usize,
    /// The turns of conversations beyond the first of each invocation: every turn is a start of its own for the rate limit.
    #[serde(skip)]
    pub further_turns: usize,
    /// The variants of the items, in the order in which they are planned.
    pub variants: Vec<ListedVariant>,
    /// The caps and skips.
    pub notices: Vec<Notice>,
    /// The cost of trying a judge in a gate, on top of the invocations; none where no judge is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_trial: Option<JudgeTrialCost>,
}

/// What a gate asks a judge about answers whose order is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JudgeTrialCost {
    /// The grades of a judge that nobody has tried yet.
    pub new: usize,
    /// The grades of a judge that proved itself in the run of the base.
    pub known: usize,
    /// The calls that one grade takes.
    pub calls_each: usize,
}

/// One variant that would be run.
#[derive(Debug, Serialize)]
pub struct ListedVariant {
    /// The item of the variant.
    pub case: Arc<str>,
    /// Its name within the item.
    pub variant: Arc<str>,
    /// The expected effect on the answer.
    pub relation: &'static str,
    /// The digest of its input, where it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
}

/// The remaining cost at some point of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Invocations to come.
    pub invocations: usize,
    /// Seconds they will take, from the calls so far and the number of jobs.
    pub seconds: f64,
}
