//! A simple kind of probe: each of its items is one text that is sent to the pipeline as often as the configuration
//! says, and one record is made from the answers. A probe with variants, a judge or a second step implements [`Items`]
//! instead.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::{Items, Kind, Planned, Probe, RepeatedItems};
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{
    AnySection as _, Findings, Item, Listing, Section, SectionFingerprint, Shard, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::targets::Address;
use kelvin_run::{Outcome, Program, Reader, Runner, Step};

/// The items of a probe without variants, and how the probe uses the answers.
pub struct PlainItems<'c, I> {
    /// The configuration, which sets the number of repeats.
    pub config: &'c Config,
    /// The kind, which computes the figures from the records. Its section is a [`Section`] without a basis.
    pub kind: &'static dyn Kind,
    /// The pipeline.
    pub target: &'c Address,
    /// Reads the needed value from an answer.
    pub reader: &'static dyn Reader,
    /// The text of each item with its id.
    pub texts: Vec<(&'c str, &'c str)>,
    /// The record of an item: its id, its text, and the outcome of each repeat.
    pub record: fn(&str, &str, &[&Outcome]) -> I,
}

impl<'c, I: Item> PlainItems<'c, I> {
    /// The items as a trait object, for [`Kind::read`].
    pub fn boxed(self) -> Box<dyn Items + 'c> {
        let chosen = self.texts.clone();
        Box::new(Chosen { of: self, chosen })
    }
}

struct Chosen<'c, I> {
    of: PlainItems<'c, I>,
    chosen: Vec<(&'c str, &'c str)>,
}

impl<I: Item> Items for Chosen<'_, I> {
    fn ids(&self) -> Vec<&str> {
        self.of.texts.iter().map(|(id, _)| *id).collect()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let texts = self.of.texts.iter();
        let items = texts.fold(Fields::of("kelvin/plain/v1"), |fields, (id, text)| {
            fields.field(id, text)
        });
        SectionFingerprint {
            items: Some(items.digest()),
            command: Some(Digest::of(self.of.target.text().as_bytes())),
        }
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let ids = self.of.texts.iter().map(|(id, _)| *id);
        let chosen = ChosenItems::of(ids, only, shard);
        let ours = chosen.ours.iter();
        self.chosen = ours.map(|place| self.of.texts[*place]).collect();
        chosen.all.len()
    }

    fn list(&self, _: bool) -> Listing {
        let calls = self.chosen.len() * self.of.config.repeats.get();
        Listing {
            invocations: BTreeMap::from([(self.of.kind.nouns().0, calls)]),
            ..Listing::default()
        }
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(PlannedPlain(self))
    }
}

struct PlannedPlain<'a, 'c, I>(&'a Chosen<'c, I>);

impl<I: Item> Planned for PlannedPlain<'_, '_, I> {
    fn steps(&self) -> Vec<Step<'_>> {
        let program = Program {
            turns: None,
            target: self.0.of.target,
            decision_field: "",
            input_name: "input.txt",
            inputs: self.0.of.kind.nouns().1,
        };
        vec![Step {
            folder: None,
            program,
            reader: self.0.of.reader,
        }]
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let texts = self.0.chosen.iter();
        let texts = texts.map(|(id, text)| (*id, Cow::Borrowed(*text)));
        let (phase, repeats) = (self.0.of.kind.nouns().1, self.0.of.config.repeats.get());
        Box::new(PlainAtWork {
            items: self.0,
            asked: RepeatedItems::new(&runners[0], phase, repeats, texts),
        })
    }
}

struct PlainAtWork<'a, 'c, I> {
    items: &'a Chosen<'c, I>,
    asked: RepeatedItems<'a>,
}

impl<I: Item> Probe for PlainAtWork<'_, '_, I> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.asked.run()
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.asked.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.asked.repeat(wanted)
    }

    fn findings(&self) -> Findings {
        let record = |(id, text): &(&str, &str)| {
            let outcomes: Vec<&Outcome> = self.asked.outcomes(id).collect();
            (
                (*id).to_owned(),
                (self.items.of.record)(id, text, &outcomes),
            )
        };
        let section = Section {
            ending: self.asked.ending(),
            fingerprint: self.items.fingerprint(),
            basis: (),
            items: self.items.chosen.iter().map(record).collect(),
        };
        self.items.of.kind.recompute(section.boxed())
    }
}

/// The items that are run, by their indices among all items.
#[derive(Debug, PartialEq, Eq)]
pub struct ChosenItems {
    /// The named items, or all items if none is named; ascending.
    pub all: Vec<usize>,
    /// The indices of the items that this shard runs; ascending.
    pub ours: Vec<usize>,
}

impl ChosenItems {
    /// Chooses among items with the given ids.
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
