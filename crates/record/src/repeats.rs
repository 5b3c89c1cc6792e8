//! How often an item is run: its own input, and its variants.

use std::collections::BTreeMap;

/// How often the inputs of an item are run. An item without variants has the same number twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The input of the item itself.
    pub input: usize,
    /// Each of its variants.
    pub variants: usize,
}

/// How often an item is to be run in all: its own input, each of its variants, and single variants that are run more
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

/// How often some items are to be run in all, by id.
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

    /// The most that any input is wanted.
    pub fn most(&self) -> usize {
        let single = self.single.values().copied();
        single.fold(self.input.max(self.variants), usize::max)
    }

    /// Asks for as much as another does, too.
    pub fn raise(&mut self, other: &Self) {
        self.input = self.input.max(other.input);
        self.variants = self.variants.max(other.variants);
        for (name, runs) in &other.single {
            let single = self.single.entry(name.clone()).or_default();
            *single = (*single).max(*runs);
        }
    }

    /// The same with at most so many runs of each input.
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

    /// How many calls are missing to this, from what there is, for an item with so many variants. `made`: how often a
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
    /// Every input as often.
    pub const fn of_all(runs: usize) -> Self {
        Self {
            input: runs,
            variants: runs,
        }
    }

    /// Each as often as in either.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            variants: self.variants.max(other.variants),
        }
    }

    /// How many calls are missing to this, from what there is, for an item with so many variants.
    pub const fn missing(self, there: Self, variants: usize) -> usize {
        self.input.saturating_sub(there.input)
            + variants * self.variants.saturating_sub(there.variants)
    }
}
