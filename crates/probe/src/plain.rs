//! A probe of the plain kind: each of its items is one text that is asked as often as the configuration says, and one
//! record is made from the answers. A probe with variants, a judge or a second step implements [`Items`] instead.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{
    AnySection as _, Findings, Forecast, Item, Listing, Section, SectionFingerprint, Shard,
    WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::targets::Address;
use kelvin_run::{Outcome, Program, Reader, Runner, Step};

use crate::{ChosenItems, Items, Kind, Planned, Probe, RepeatedItems};

/// The questions of such a probe, and how it uses the answers.
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
    fn run(&mut self, _: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()> {
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
