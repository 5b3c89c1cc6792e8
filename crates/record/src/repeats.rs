//! How often an item is run: its own input, and its variants.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use kelvin_base::digest::Digest;
use kelvin_base::notice::Notice;

/// How often the inputs of an item are run. An item without variants has the same number twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// How often the input of the item itself is run.
    pub input: usize,
    /// How often each of its variants is run.
    pub variants: usize,
}

/// How often an item should be run in total: its own input, each of its variants, and single variants that are run more
/// often than the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// How often the input of the item itself is run.
    pub input: usize,
    /// How often each of its variants is run.
    pub variants: usize,
    /// How often single variants are run, by name.
    pub single: BTreeMap<String, usize>,
}

/// How often some items should be run in total, by id.
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
    /// How often a variant should be run.
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

    /// The number of calls that an item with this many variants still needs after it was run as often as `there` says.
    /// `made`: how often a single variant was run.
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
    /// Repeats with the same number of runs for the item itself and for its variants.
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

    /// The number of calls that an item with this many variants still needs after it was run as often as `there` says.
    pub const fn missing(self, there: Self, variants: usize) -> usize {
        self.input.saturating_sub(there.input)
            + variants * self.variants.saturating_sub(there.variants)
    }
}

/// The default limit for all re-runs of a side together, in runs of the whole suite. Together with its first run, a
/// gate costs at most four runs of each side that it can run.
pub const RUNS_OF_THE_SUITE: usize = 3;

/// The planned invocations of a probe.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    /// The number of invocations, by their purpose.
    pub invocations: BTreeMap<&'static str, usize>,
    /// How many more invocations the re-runs of a side may make, in addition to [`RUNS_OF_THE_SUITE`] times all listed
    /// invocations.
    #[serde(skip)]
    pub more_reruns: usize,
    /// The turns of conversations after the first turn of each invocation: the rate limit counts every turn as a start.
    #[serde(skip)]
    pub further_turns: usize,
    /// The calls that find out whether the answers depend on the order of the calls, in addition to the invocations.
    #[serde(skip)]
    pub of_the_order: usize,
    /// The variants of the items, in the order in which they are planned.
    pub variants: Vec<ListedVariant>,
    /// Notices about limits and skips.
    pub notices: Vec<Notice>,
    /// The cost of testing a judge in a gate, in addition to the invocations; none if no judge is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_trial: Option<JudgeTrialCost>,
}

/// The grades that a gate requests for answers whose order is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JudgeTrialCost {
    /// The number of grades for a judge that was not tested before.
    pub new: usize,
    /// The number of grades for a judge that passed in the run of the base.
    pub known: usize,
    /// The number of calls for one grade.
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
    /// The digest of its input, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
}
