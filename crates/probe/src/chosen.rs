//! The items of a probe that are run: those that a person has named, and of these the share of this machine.

use std::collections::BTreeSet;

use kelvin_record::Shard;

/// The items that are run, by their indices among all items.
#[derive(Debug, PartialEq, Eq)]
pub struct ChosenItems {
    /// The named items, or all where none was named; ascending.
    pub all: Vec<usize>,
    /// The part of these items that this shard runs; ascending.
    pub ours: Vec<usize>,
}

impl ChosenItems {
    /// Chooses among items with these ids.
    pub fn of<'i>(
        ids: impl Iterator<Item = &'i str>,
        only: &[String],
        shard: Option<Shard>,
    ) -> Self {
        let named: BTreeSet<&str> = only.iter().map(String::as_str).collect();
        let chosen = ids
            .enumerate()
            .filter(|(_, id)| named.is_empty() || named.contains(id));
        let (mut all, mut ours) = (Vec::new(), Vec::new());
        for (place, id) in chosen {
            all.push(place);
            if shard.is_none_or(|shard| shard.takes(id)) {
                ours.push(place);
            }
        }
        Self { all, ours }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    #[test]
    fn all_are_chosen_unless_some_are_named() {
        let chosen = |only: &[&str]| {
            let only: Vec<String> = only.iter().copied().map(str::to_owned).collect();
            let chosen = ChosenItems::of(IDS.into_iter(), &only, None);
            assert_eq!(chosen.all, chosen.ours);
            chosen.all
        };
        assert_eq!(chosen(&[]), [0, 1, 2, 3, 4, 5]);
        // The result is in the order of the items, each once, whatever the order of the names; an unknown name adds
        // none.
        assert_eq!(chosen(&["e", "b", "e", "x"]), [1, 4]);
        assert_eq!(chosen(&["x"]), [0; 0]);
    }

    #[test]
    fn every_item_that_was_chosen_is_in_one_shard() {
        let only: Vec<String> = ["a", "c", "d", "f"].map(str::to_owned).to_vec();
        let mut ours = Vec::new();
        for index in ["1/3", "2/3", "3/3"] {
            let shard: Shard = index.parse().expect("a shard");
            let chosen = ChosenItems::of(IDS.into_iter(), &only, Some(shard));
            assert_eq!(chosen.all, [0, 2, 3, 5]);
            ours.extend(chosen.ours);
        }
        ours.sort_unstable();
        assert_eq!(ours, [0, 2, 3, 5]);
    }
}
