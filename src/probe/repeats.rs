//! How often an item is run: its own input, and its variants.

use std::collections::BTreeMap;

/// How often the inputs of an item are run. An item without variants has the same number twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repeats {
    /// The input of the item itself.
    pub(crate) input: usize,
    /// Each of its variants.
    pub(crate) variants: usize,
}

/// How often some items are to be run in all, by id.
pub(crate) type WantedRepeats = BTreeMap<String, Repeats>;

impl Repeats {
    /// Every input as often.
    pub(crate) const fn of_all(runs: usize) -> Self {
        Self {
            input: runs,
            variants: runs,
        }
    }

    /// Each as often as in either.
    #[must_use]
    pub(crate) fn or_more(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            variants: self.variants.max(other.variants),
        }
    }

    /// How many calls are missing to this, from what there is, for an item with so many variants.
    pub(crate) const fn missing(self, there: Self, variants: usize) -> usize {
        self.input.saturating_sub(there.input)
            + variants * self.variants.saturating_sub(there.variants)
    }
}
