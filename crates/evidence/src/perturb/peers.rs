//! The units of the corpus, indexed once per run so that no case has to search all of them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::render;
use super::ring::Ring;
use crate::EvidenceSettings;
use crate::cases::{Case, Corpus, Slot, Unit};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::threads;

/// The position of a unit: the index of its case, then the index of the unit in the case. The plan of a run contains
/// hundreds of thousands of positions, so they are 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitPlace {
    case: u32,
    unit: u32,
}

impl UnitPlace {
    /// The position of a unit, from the index of its case in the corpus and its own index in the case.
    pub(super) fn of(case: usize, unit: usize) -> Self {
        let small = |at| u32::try_from(at).expect("memory holds fewer than 2^32 units");
        Self {
            case: small(case),
            unit: small(unit),
        }
    }

    /// Where the unit is in the document of its record; none in a Markdown file.
    pub(super) fn slot(self, corpus: &Corpus) -> Option<&Slot> {
        let case = &corpus.cases[self.case as usize];
        case.record()?.slots.get(self.unit as usize)
    }

    /// The positions of all elements in the array of the unit; only its own position if it is in no array, or if it
    /// keeps its order.
    pub(super) fn with_its_list(self, corpus: &Corpus) -> Vec<Self> {
        let units = &corpus.cases[self.case as usize].units;
        let whole = whole_list(units, self.unit as usize);
        whole
            .map(|unit| Self::of(self.case as usize, unit))
            .collect()
    }

    /// The case and the unit.
    pub(super) fn find(self, corpus: &Corpus) -> (&Case, &Unit) {
        let case = &corpus.cases[self.case as usize];
        (case, &case.units[self.unit as usize])
    }
}

/// A unit that can replace a governing unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRule {
    /// The digest of the text below the heading, without regard to white space.
    pub(super) sense: Digest,
    /// The first position of a unit with this text; the cases are sorted by name.
    pub(super) place: UnitPlace,
}

/// The units of the corpus, by content and by type.
///
/// Each content is on a ring once, together with the first case that contains it. A case never draws one of its own
/// contents, so the drawn content always comes from another case.
pub struct Peers {
    /// The units from which `pad_content` draws, by content: those of Markdown files under the empty name, and the
    /// elements of arrays under their type, since they are inserted only into arrays of that type.
    pub(super) padding: BTreeMap<Arc<str>, Ring<UnitPlace>>,
    /// The units from which `swap` draws, for each governing type.
    pub(super) rules: BTreeMap<Arc<str>, Ring<PeerRule>>,
    /// The indices of the usable filler sections.
    pub(super) filler: Vec<usize>,
    /// The governing units of each case: their indices, with the digests of their texts.
    senses: Vec<Vec<(usize, Digest)>>,
    derived: Mutex<BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>>,
}

impl Peers {
    /// Indexes the units of a corpus. O(n log n) in the number of units.
    pub fn of(corpus: &Corpus, settings: &EvidenceSettings) -> Self {
        let governing: BTreeSet<&str> = settings
            .governing_types
            .iter()
            .map(String::as_str)
            .collect();
        let governs = |unit: &Unit| governing.contains(&*unit.unit_type);
        let senses = threads::map(&corpus.cases, |case| {
            let units = case.units.iter().enumerate();
            units
                .filter(|(at, unit)| governs(unit) && whole_list(&case.units, *at).start == *at)
                .map(|(at, unit)| match whole_list(&case.units, at) {
                    whole if whole.len() > 1 => (at, sense_of_list(case, whole)),
                    _ => (at, sense(case, unit)),
                })
                .collect::<Vec<_>>()
        });
        let units = corpus.cases.iter().map(|case| case.units.len()).sum();
        let mut pads: BTreeMap<Arc<str>, Vec<(Digest, UnitPlace)>> = BTreeMap::new();
        let sections: Arc<str> = Arc::from("");
        pads.insert(Arc::clone(&sections), Vec::with_capacity(units));
        let mut rules: BTreeMap<Arc<str>, Vec<(Digest, PeerRule)>> = BTreeMap::new();
        for (case, (document, senses)) in corpus.cases.iter().zip(&senses).enumerate() {
            let mut governing = senses.iter().peekable();
            for (unit, cut) in document.units.iter().enumerate() {
                let place = UnitPlace::of(case, unit);
                let sense = governing.next_if(|(at, _)| *at == unit);
                let may_govern = settings.perturbations.pad_include_governing || !governs(cut);
                // A turn of another conversation cannot pad this conversation.
                if may_govern && !settings.keeps_order(&cut.unit_type) && !cut.fixed {
                    let name = match cut.list {
                        Some(_) => &cut.unit_type,
                        None => &sections,
                    };
                    if !pads.contains_key(name) {
                        pads.insert(Arc::clone(name), Vec::new());
                    }
                    if let Some(pads) = pads.get_mut(name) {
                        pads.push((cut.content, place));
                    }
                }
                if let Some(&(_, sense)) = sense {
                    let rules = rules.entry(Arc::clone(&cut.unit_type)).or_default();
                    rules.push((sense, PeerRule { sense, place }));
                }
            }
        }
        let padding = pads
            .into_iter()
            .map(|(name, pads)| (name, Ring::of("pad_content", settings.seed, pads)))
            .collect();
        let rules = rules
            .into_iter()
            .map(|(unit_type, rules)| (unit_type, Ring::of("swap", settings.seed, rules)))
            .collect();
        let filler = settings.perturbations.words.filler.iter().enumerate();
        let filler = filler
            .filter(|(_, section)| {
                render::type_of_section(section)
                    .is_some_and(|name| !governing.contains(&*name) && !settings.keeps_order(&name))
            })
            .map(|(at, _)| at)
            .collect();
        Self {
            padding,
            rules,
            filler,
            senses,
            derived: Mutex::default(),
        }
    }

    /// The digests of the texts of some governing units of a case, without regard to white space.
    pub(super) fn senses(&self, case: usize, units: &[usize]) -> BTreeSet<Digest> {
        let known = self.senses[case].iter();
        known
            .filter(|(unit, _)| units.binary_search(unit).is_ok())
            .map(|(_, sense)| *sense)
            .collect()
    }

    /// Data that a kind derives from the whole corpus, e.g. its own ring: they are made for the first case that needs
    /// them, and shared by all others.
    pub(super) fn derived<T: Send + Sync + 'static>(
        &self,
        kind: &'static str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        let made = derived.entry(kind).or_insert_with(|| Arc::new(make()));
        Arc::clone(made)
            .downcast()
            .expect("a kind derives one type of thing")
    }
}

/// The units that are exchanged together with a unit: all elements of an array that may be moved, since the passages
/// retrieved for another case are only useful as a whole. Any other unit is exchanged alone.
pub(super) fn whole_list(units: &[Unit], at: usize) -> Range<usize> {
    let is_in_it = |unit: &&Unit| unit.list == units[at].list && !unit.fixed;
    if units[at].list.is_none() || units[at].fixed {
        return at..at + 1;
    }
    let before = units[..at].iter().rev().take_while(is_in_it).count();
    let behind = units[at..].iter().take_while(is_in_it).count();
    at - before..at + behind
}

/// The digest of the texts of an array.
fn sense_of_list(case: &Case, units: Range<usize>) -> Digest {
    let texts = case.units[units].iter();
    let fields = texts.fold(Fields::of("kelvin/list/v1"), |fields, unit| {
        fields.field("sense", sense(case, unit).bytes())
    });
    fields.digest()
}

/// The digest of the text below the heading of a unit, without regard to white space: replacing a unit by one with the
/// same text would be no test.
fn sense(case: &Case, unit: &Unit) -> Digest {
    let text = &case.text[unit.heading_end..unit.body.end];
    let mut words = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        words.push_str(word);
        words.push(' ');
    }
    Digest::of(words.as_bytes())
}
