//! Perturbations: rewrites of a case after which the decision should either stay the same or change.
//!
//! Each kind is one file with one entry in [`ALL`]. A kind proposes drafts; [`Planner`] names them, leaves out
//! drafts without any effect on the text, and records the changes of each one.

mod bullet_reformat;
mod comparator_flip;
mod condition;
mod discourse_marker_injection;
mod drop;
mod duplicate;
mod hedge_injection;
mod meta_commentary_injection;
mod non_governing_duplication;
mod numbers;
mod numeric_magnitude;
mod pad_content;
mod pad_length;
mod pads;
mod peers;
mod phrase;
mod plan;
mod polarity_flip;
mod politeness_injection;
mod position;
mod punctuation_normalize;
mod render;
mod reorder;
mod rewrite;
mod ring;
mod sentence;
mod sites;
mod swap;
mod swap_condition;
mod whitespace_jitter;

use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cases::{Case, Corpus, RecordList};
use crate::{EvidenceSettings, cases};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::draw::Draw;
use kelvin_base::notice::{Code, Notice};
pub use peers::Peers;
use peers::UnitPlace;
pub use plan::Planner;
pub(crate) use position::{Sweep, sweeps};

/// Every kind, in the order of the reports.
pub static ALL: &[&Perturbation] = &[
    &reorder::KIND,
    &pad_length::KIND,
    &pad_content::KIND,
    &swap::KIND,
    &swap_condition::KIND,
    &numeric_magnitude::KIND,
    &comparator_flip::KIND,
    &polarity_flip::KIND,
    &whitespace_jitter::KIND,
    &punctuation_normalize::KIND,
    &bullet_reformat::KIND,
    &non_governing_duplication::KIND,
    &hedge_injection::KIND,
    &politeness_injection::KIND,
    &discourse_marker_injection::KIND,
    &meta_commentary_injection::KIND,
    &drop::KIND,
    &duplicate::KIND,
    &position::KIND,
];

/// The name of the kind that tests positions in lists.
pub(crate) const POSITION: &str = "position";

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Perturbation> {
    ALL.iter().copied().find(|kind| kind.name == name)
}

/// Whether variants of a kind are made.
pub(crate) fn is_enabled(kind: &Perturbation, settings: &EvidenceSettings) -> bool {
    is_among(kind, &settings.perturbations.enable)
}

/// Whether variants of a kind are made if exactly these optional kinds are enabled.
pub(crate) fn is_among(kind: &Perturbation, enabled: &[String]) -> bool {
    kind.is_default || enabled.iter().any(|name| name == kind.name)
}

/// What the decision ought to do under a perturbation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The evidence is the same, so the decision ought to be the same.
    Invariance,
    /// The governing evidence has changed, so the decision ought to change.
    Sensitivity,
    /// It is not known whether the decision ought to change; whether it changes shows which evidence the pipeline
    /// reads.
    Observation,
}

impl Relation {
    /// The name of the relation in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invariance => "invariance",
            Self::Sensitivity => "sensitivity",
            Self::Observation => "observation",
        }
    }
}

/// The figure to which the samples of a kind contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// `evidence.invariance`.
    Invariance,
    /// `evidence.sensitivity`.
    Sensitivity,
    /// `evidence.sensitivity_condition`: only the conditions of a rule were exchanged.
    Condition,
    /// `evidence.mechanical_sensitivity`: numbers, comparators or words of opposite meaning were changed.
    Mechanical,
    /// `evidence.hedge_invariance`: hedges were inserted, which can change the meaning of an opinion.
    Hedge,
    /// `evidence.drop.<type>`: one unit was left out; contributes to invariance only on request.
    Drop,
    /// `evidence.position.<place>`: at which positions of a list evidence is still used.
    Position,
}

impl Figure {
    /// The expected effect on the decision in the variants of this figure.
    pub const fn relation(self) -> Relation {
        match self {
            Self::Invariance | Self::Hedge | Self::Drop => Relation::Invariance,
            Self::Sensitivity | Self::Condition | Self::Mechanical => Relation::Sensitivity,
            Self::Position => Relation::Observation,
        }
    }
}

/// A kind of perturbation, which changes a case in one way.
pub struct Perturbation {
    /// The name in the configuration, in the reports and in the folder names, e.g. `reorder`.
    pub name: &'static str,
    /// One sentence for a person: the change that is made to the case.
    pub description: &'static str,
    /// The figure to which the samples of this kind contribute.
    pub figure: Figure,
    /// Whether the kind is made by default.
    pub is_default: bool,
    /// Proposes variants of the case, with a notice for every limit and skip.
    propose: fn(&PerturbedCase<'_>) -> Proposal,
}

/// The case to perturb, and the data that a kind may use for its proposal.
pub(crate) struct PerturbedCase<'a> {
    /// Every case of the run.
    corpus: &'a Corpus,
    /// The index of the case in the corpus.
    at: usize,
    /// The checked configuration.
    settings: &'a EvidenceSettings,
    /// The units of the corpus, prepared for drawing.
    peers: &'a Peers,
    /// The beginning of every key of the case.
    key: Fields,
}

impl<'a> PerturbedCase<'a> {
    /// The subject for the case at an index of a corpus.
    fn new(
        corpus: &'a Corpus,
        at: usize,
        settings: &'a EvidenceSettings,
        peers: &'a Peers,
    ) -> Self {
        Self {
            corpus,
            at,
            settings,
            peers,
            key: Fields::of("kelvin/variant/v1")
                .field("seed", settings.seed.to_be_bytes())
                .field("case", &*corpus.cases[at].name),
        }
    }

    /// The case to perturb.
    pub(crate) fn case(&self) -> &'a Case {
        &self.corpus.cases[self.at]
    }

    /// Whether a unit type governs the decision.
    pub(crate) fn governs(&self, unit_type: &str) -> bool {
        self.settings
            .governing_types
            .iter()
            .any(|name| name == unit_type)
    }

    /// The ranges of units that may exchange positions, and among which units may be inserted. In a Markdown file this
    /// is one range, before the first unit that keeps its order: a chat with an inserted section between its turns, or
    /// at its end, is another chat. In a record these are the arrays, each before the first element that keeps its
    /// order.
    fn free_runs(&self) -> Vec<Range<usize>> {
        let units = &self.case().units;
        let before_kept = |run: Range<usize>| {
            let mut places = run.clone();
            let kept = places.find(|at| self.settings.keeps_order(&units[*at].unit_type));
            run.start..kept.unwrap_or(run.end)
        };
        if self.case().record().is_none() {
            return vec![before_kept(0..units.len())];
        }
        let mut runs = Vec::new();
        let mut start = 0;
        for run in units.chunk_by(|one, two| one.list == two.list && !one.fixed && !two.fixed) {
            let end = start + run.len();
            let run = before_kept(start..end);
            if !units[start].fixed && !run.is_empty() {
                runs.push(run);
            }
            start = end;
        }
        runs
    }

    /// The list of a record in which a unit is an element.
    fn list(&self, unit: usize) -> Option<&'a RecordList> {
        list_of(self.case(), unit)
    }

    /// Replaces `text` by the text of some pieces.
    fn render(&self, text: &mut String, pieces: &[Piece]) {
        text.clear();
        render::render(text, self.corpus, self.at, self.settings, pieces);
    }

    /// The random draws for one variant: they depend only on the seed, the case, the kind and the number.
    pub(crate) fn draw(&self, kind: &str, number: usize) -> Draw {
        Draw::of(self.key(kind, number))
    }

    /// The key from which the draws for one variant start.
    pub(crate) fn key(&self, kind: &str, number: usize) -> Digest {
        self.key
            .clone()
            .field("kind", kind)
            .field("number", (number as u64).to_be_bytes())
            .digest()
    }
}

/// A part of a variant, after the preamble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A unit of the case, unchanged.
    Own(usize),
    /// A rewritten unit of the case. A run has hundreds of thousands of pieces, and only a few are rewritten: the box
    /// halves the size of the others.
    Edited(Box<EditedUnit>),
    /// A unit of another case, and a unit of this case: the first one replaces the second, or is inserted beside it in
    /// an array. The second is used only for records.
    Peer(UnitPlace, u32),
    /// A section of the filler bank, and a unit of the array in which it is inserted, as for a unit of another case.
    Filler(usize, u32),
}

/// The list of a record in which a unit of a case is an element.
fn list_of(case: &Case, unit: usize) -> Option<&RecordList> {
    let list = case.units.get(unit)?.list?;
    case.record()?.lists.get(list as usize)
}

/// A unit of the case with another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedUnit {
    /// The index of the unit in the case.
    pub unit: usize,
    /// The new text of the unit, with its heading line and without white space at its end.
    pub text: String,
}

impl Piece {
    /// The index of the unit in the case, if the piece is a unit of the case, rewritten or not.
    pub const fn own(&self) -> Option<usize> {
        match self {
            Self::Own(unit) => Some(*unit),
            Self::Edited(edited) => Some(edited.unit),
            Self::Peer(..) | Self::Filler(..) => None,
        }
    }

    /// A unit of another case that replaces a unit of this case or is inserted beside it in an array.
    fn peer(place: UnitPlace, beside: usize) -> Self {
        Self::Peer(place, narrow(beside))
    }

    /// A section of the filler bank that is inserted beside a unit of this case in an array.
    fn filler(section: usize, beside: usize) -> Self {
        Self::Filler(section, narrow(beside))
    }

    /// The unit of the case that the piece is or replaces, or beside which the piece is inserted.
    const fn beside(&self) -> usize {
        match self {
            Self::Own(unit) => *unit,
            Self::Edited(edited) => edited.unit,
            Self::Peer(_, beside) | Self::Filler(_, beside) => *beside as usize,
        }
    }
}

/// The index of a unit in the small form for a piece, of which a run has hundreds of thousands.
fn narrow(unit: usize) -> u32 {
    u32::try_from(unit).expect("a case has fewer than 2^32 units")
}

/// A variant that a kind proposes.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The unit type of the draft, if it concerns one; the variant is then named after it.
    pub unit_type: Option<Arc<str>>,
    /// The pieces after the preamble.
    pub pieces: Vec<Piece>,
    /// Details that the pieces do not show, e.g. ("multiplier", "5").
    pub detail: Vec<(&'static str, String)>,
}

impl Draft {
    /// A draft that concerns no type, and without details.
    const fn plain(pieces: Vec<Piece>) -> Self {
        Self {
            unit_type: None,
            pieces,
            detail: Vec::new(),
        }
    }
}

/// The variants that a kind proposes for a case.
#[derive(Debug, Default)]
pub(crate) struct Proposal {
    /// The drafts, sorted by their numbers.
    pub drafts: Vec<Draft>,
    /// A notice for every limit and skip; [`Planner`] adds the case and the kind.
    pub notices: Vec<Notice>,
}

impl Proposal {
    /// A proposal without variants, with a notice that gives the reason.
    fn skipped(wanted: usize, reason: impl Into<String>) -> Self {
        let mut proposal = Self::default();
        proposal.falls_short(wanted, 0, reason);
        proposal
    }

    /// Records why fewer variants were made than wanted, or none.
    fn falls_short(&mut self, wanted: usize, made: usize, reason: impl Into<String>) {
        let code = if made == 0 { Code::Skip } else { Code::Cap };
        let notice = Notice::new(code, reason).counts(wanted, made);
        self.notices.push(notice);
    }
}

/// A variant that will be run. It contains the pieces but not the text; [`Variant::render`] makes the text.
#[derive(Debug)]
pub struct Variant {
    /// The id of the variant, unique within the case; it is also the name of its folder: `reorder-01`,
    /// `swap-gate_rule-02`.
    pub id: Arc<str>,
    /// The name of the kind.
    pub kind: &'static str,
    /// The figure to which the variant contributes.
    pub figure: Figure,
    /// The governing type of the variant, if it concerns one.
    pub unit_type: Option<Arc<str>>,
    /// The pieces after the preamble.
    pub pieces: Vec<Piece>,
    /// Details that the pieces do not show.
    pub detail: Vec<(&'static str, String)>,
}

/// What a variant changed, with units counted from 0 in the order of the case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notes {
    /// The units of the case in their new order, if it is not the old one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<usize>,
    /// The units that were inserted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<Added>,
    /// The units that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<usize>,
    /// The units that were rewritten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<usize>,
    /// Further details of this kind of perturbation.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub detail: std::collections::BTreeMap<String, String>,
}

/// An inserted unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Its place among the units of the variant.
    pub at: usize,
    /// Its type.
    pub unit_type: Arc<str>,
    /// The case it is from; missing for filler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Arc<str>>,
}

/// The variants of one case, with a notice for every limit, every skip and every variant without an effect on the text.
#[derive(Debug, Default)]
pub struct Plan {
    /// The variants, sorted by the registry and by their numbers.
    pub variants: Vec<Variant>,
    /// The notices about this case; each notice names the case.
    pub notices: Vec<Notice>,
}

impl Variant {
    /// The text of the variant, for the case at this index of the corpus.
    pub fn render(&self, corpus: &Corpus, at: usize, settings: &EvidenceSettings) -> String {
        let mut text = String::new();
        render::render(&mut text, corpus, at, settings, &self.pieces);
        text
    }

    /// The digest of the variant as an input. It is computed only for records, since it costs as much as making the
    /// text.
    pub fn digest(&self, corpus: &Corpus, at: usize, settings: &EvidenceSettings) -> Digest {
        corpus.cases[at].digest_of(&self.render(corpus, at, settings))
    }

    /// The changes to the case at this index of the corpus.
    pub fn notes(&self, corpus: &Corpus, at: usize, settings: &EvidenceSettings) -> Notes {
        Notes::of(corpus, at, settings, &self.pieces, &self.detail)
    }
}

impl Notes {
    /// Compares the pieces of a variant with the units of its case.
    fn of(
        corpus: &Corpus,
        at: usize,
        settings: &EvidenceSettings,
        pieces: &[Piece],
        detail: &[(&'static str, String)],
    ) -> Self {
        let mut notes = Self::default();
        let mut order = Vec::with_capacity(pieces.len());
        for (place, piece) in pieces.iter().enumerate() {
            let (unit_type, from) = match piece {
                Piece::Own(unit) => {
                    order.push(*unit);
                    continue;
                }
                Piece::Edited(edited) => {
                    order.push(edited.unit);
                    notes.edited.push(edited.unit);
                    continue;
                }
                Piece::Peer(place, _) => {
                    let (from, unit) = place.find(corpus);
                    let unit_type = Arc::clone(&unit.unit_type);
                    (unit_type, Some(Arc::clone(&from.name)))
                }
                Piece::Filler(section, _) => {
                    let heading = &settings.perturbations.words.filler[*section].heading;
                    (cases::type_of(&format!("## {heading}")).into(), None)
                }
            };
            notes.added.push(Added {
                at: place,
                unit_type,
                from,
            });
        }
        // Unused capacity is released, since every variant of the run has its own notes.
        notes.added.shrink_to_fit();
        let units = corpus.cases[at].units.len();
        let mut stayed = vec![false; units];
        for unit in &order {
            stayed[*unit] = true;
        }
        notes.removed = (0..units).filter(|unit| !stayed[*unit]).collect();
        notes.edited.sort_unstable();
        if !order.is_sorted() {
            notes.order = order;
        }
        for (name, value) in detail {
            notes.detail.insert((*name).to_owned(), value.clone());
        }
        notes
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod registry {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_that_is_a_kind_is_registered_under_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perturb");
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("listed").path();
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
                continue;
            };
            let source = if path.is_dir() {
                path.join("mod.rs")
            } else {
                path.clone()
            };
            let text = fs::read_to_string(source).expect("a source is text");
            let is_kind = text.contains("\npub(super) static KIND: Perturbation");
            if is_kind {
                files.insert(stem.to_owned());
            }
        }
        let names: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
        let distinct: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(files, distinct);
        assert_eq!(names.len(), distinct.len());
        assert_eq!(names[..4], ["reorder", "pad_length", "pad_content", "swap"]);
        for kind in ALL {
            assert_eq!(find(kind.name).map(|found| found.name), Some(kind.name));
            assert!(!kind.description.is_empty());
        }
    }
}
