//! The knowledge of a kind of probe about its measurements: how a section is read, compared and shown. A program that
//! has a report also has the kinds of its sections, and calls them; no other code knows a kind by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kelvin_page::{AnswersView, Chapter, FigureTable, Headword, ItemPage, PartView, Phrase};
use serde_json::{Map, Value};

use crate::aligned::{AlignedSections, ComparisonForm, Surroundings, Viewpoint};
use crate::answered::{Flip, RankedHits, SectionAnswers};
use crate::findings::{Findings, RunView, SettingDiffers};
use crate::metric::Metric;
use crate::scored::{CheckSaid, GradedPair, RivalAnswers, ScoredInvocation};
use crate::section::{AnySection, SectionForm};
use crate::{Nouns, estimate, family};

/// The fields of a JSON object.
pub type JsonFields = Map<String, Value>;

/// How sections of one kind of probe are used, no matter which program has measured them.
pub trait SectionKind: Send + Sync {
    /// The name: the key under `probes` in a report, and the first part of the ids of the metrics.
    fn name(&self) -> &'static str;

    /// The question of the probe, in a sentence.
    fn question(&self) -> &'static str;

    /// The parts of its metric ids after its name, up to the next `.` or `@`, each with plain words for it. Empty if
    /// users choose the names of the metrics, as they do for checks.
    fn metric_names(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The words for one item and for several items.
    fn nouns(&self) -> (&'static str, &'static str);

    /// The nouns for the items of a section, if the program that made the section has its own nouns.
    fn nouns_of(&self, section: &dyn AnySection) -> Nouns {
        let _ = section;
        self.nouns().into()
    }

    /// The folder of its files within the output folder; none for the only kind whose items have folders at the top
    /// level.
    fn folder(&self) -> Option<&'static str> {
        Some(self.name())
    }

    /// The names in a table for the fingerprint of the items, and for that of the command.
    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Items", "Command")
    }

    /// Whether the kind runs no pipeline and observes the other probes: it has their items, under the same ids. At most
    /// one kind does so.
    fn observes(&self) -> bool {
        false
    }

    /// The scored invocations of all probes, with the score and its parts; empty for a kind without scores.
    fn scored(&self, section: &dyn AnySection) -> Vec<ScoredInvocation> {
        let _ = section;
        Vec::new()
    }

    /// The parts of an invocation's files that form an example: the input of the pipeline, and its answer. None if the
    /// answer was not stored completely.
    fn example(&self, input: JsonFields, output: JsonFields) -> Option<(JsonFields, JsonFields)> {
        Some((input, output))
    }

    /// The results of the checks for each repeat of an item, by name; empty for a kind without checks.
    fn said_of(&self, section: &dyn AnySection, item: &str) -> Vec<BTreeMap<String, CheckSaid>> {
        let _ = (section, item);
        Vec::new()
    }

    /// The metric that is the default score of an example; none for a kind whose examples use the quality score.
    fn score_of_examples(&self) -> Option<&'static str> {
        None
    }

    /// The names of the models that graded for a section, for the judge at a place of the configuration, as reported by
    /// their servers; empty if no model graded, or no server reports a name.
    fn served(&self, section: &dyn AnySection, place: &str) -> BTreeSet<String> {
        let _ = (section, place);
        BTreeSet::new()
    }

    /// The type of the sections of this kind.
    fn form(&self) -> SectionForm;

    /// The settings that differ between two sections whose figures can still be compared. The names are plural.
    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        let _ = (base, head);
        Vec::new()
    }

    /// The setting that makes the figures of two sections incomparable; none if they can be compared. The name is
    /// singular.
    fn incomparable(&self, base: &dyn AnySection, head: &dyn AnySection) -> Option<SettingDiffers> {
        let _ = (base, head);
        None
    }

    /// The items of the base that a change edits and that have other ids on the head, since the ids are made of their
    /// texts: the id on the head by the one on the base.
    fn renamed(&self, base: &dyn AnySection, head: &dyn AnySection) -> BTreeMap<String, String> {
        let _ = (base, head);
        BTreeMap::new()
    }

    /// Prepares two sections for a comparison from a viewpoint, and compares their items; none if they are compared
    /// unchanged.
    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        around: Surroundings,
        reading: Viewpoint,
    ) -> Option<AlignedSections> {
        let _ = (base, head, around, reading);
        None
    }

    /// The type of the comparisons of this kind; none if the kind does not align its sections.
    fn comparison_form(&self) -> Option<ComparisonForm> {
        None
    }

    /// Adds figures to the base with which a head must be compared, if the base has not measured them itself: a head
    /// that was measured together with the base has the figures of both sides.
    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        let _ = (base, head, metrics);
    }

    /// The answers that a judge has graded, for the ledger. `seconds` contains the time of the pipeline for each repeat
    /// of an item, if it is known.
    fn graded_pairs(
        &self,
        section: &dyn AnySection,
        seconds: &BTreeMap<String, Vec<f64>>,
    ) -> Vec<GradedPair> {
        let _ = (section, seconds);
        Vec::new()
    }

    /// The pairs of two different answers to one prompt, for people who choose the better one.
    fn rival_answers(&self, section: &dyn AnySection) -> Vec<RivalAnswers> {
        let _ = section;
        Vec::new()
    }

    /// The chapter of a section on the page of a run; by default it contains only the figures.
    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        let (word, title) = (self.name(), self.name());
        let mut chapter = Chapter::new(Headword {
            word,
            title,
            meaning: self.question(),
            is_judgement: false,
        });
        chapter.scope = vec![self.nouns_of(section).counted(section.ids().len())];
        chapter.notices = section.notices();
        let rows = family(run.metrics, word).into_iter();
        let rows = rows.map(|(name, metric)| (Phrase::text(name), estimate(Some(metric))));
        chapter.measures = Some(FigureTable {
            in_bars: false,
            title,
            note: "",
            rows: rows.collect(),
        });
        chapter
    }

    /// The pages of all items that have a page, each with its folder. They are made one by one, since there may be
    /// thousands.
    fn item_pages<'a>(
        &self,
        section: &'a dyn AnySection,
        run: RunView<'a>,
    ) -> Box<dyn Iterator<Item = (&'a str, ItemPage<'a>)> + 'a> {
        let _ = (section, run);
        Box::new(std::iter::empty())
    }

    /// One part of an item, compared with the unchanged item; none if the item has no such part.
    fn part(&self, section: &dyn AnySection, item: &str, part: &str) -> Option<PartView> {
        let _ = (section, item, part);
        None
    }

    /// Why an item has a bad result in a metric, in the words of its record and at most a line long; none if the record
    /// does not say it. The words come from outside and may be harmful.
    fn why(&self, section: &dyn AnySection, item: &str, metric: &str) -> Option<String> {
        let _ = (section, item, metric);
        None
    }

    /// Why the pipeline failed on an item, in the words of its first failed run and in one line; none if no run of the
    /// item failed, or if the probe runs no pipeline. The words come from outside and may be harmful.
    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let _ = (section, item);
        None
    }

    /// The ids of the items that the run has skipped on purpose, as it says itself, and that therefore have no record.
    fn skipped(&self, section: &dyn AnySection) -> BTreeSet<String> {
        let _ = section;
        BTreeSet::new()
    }

    /// The answers of an item that became wrong from one section to the other, in a metric that dropped; none if the
    /// records do not show which ones.
    fn flip(
        &self,
        (base, head): (&dyn AnySection, &dyn AnySection),
        item: &str,
        metric: &str,
    ) -> Option<Flip> {
        let _ = (base, head, item, metric);
        None
    }

    /// The answers of both sides to an item; none if the probe stores no answers for people.
    fn answers(&self, section: &dyn AnySection, item: &str) -> Option<AnswersView> {
        let _ = (section, item);
        None
    }

    /// The answers to the items, for the comparison of two sides; none if the probe stores no answers, or if only a
    /// judge could say which of them are equal.
    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<SectionAnswers<'a>> {
        let _ = section;
        None
    }

    /// The ranked hits of both sections for an item; none if the probe has none for this item.
    fn ranked_hits(
        &self,
        (base, head): (&dyn AnySection, &dyn AnySection),
        item: &str,
    ) -> Option<RankedHits> {
        let _ = (base, head, item);
        None
    }

    /// Computes the figures of a section again from its records.
    fn recompute(&self, section: Box<dyn AnySection>) -> Findings;
}

/// Every kind of probe that this program knows, in the order in which they are run and reported.
#[derive(Clone, Default)]
pub struct Kinds(Arc<[&'static dyn SectionKind]>);

impl Kinds {
    /// The kind with this name; none if this program does not know it.
    pub fn kind(&self, name: &str) -> Option<&'static dyn SectionKind> {
        self.iter().find(|kind| kind.name() == name)
    }

    /// Every kind, in order.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn SectionKind> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<&'static dyn SectionKind> for Kinds {
    fn from_iter<I: IntoIterator<Item = &'static dyn SectionKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().collect())
    }
}

/// The part of a metric's id that [`metric_names`](SectionKind::metric_names) lists.
pub fn metric_name(id: &str) -> &str {
    let own = id.split_once('.').map_or("", |(_, own)| own);
    own.split(['.', '@']).next().unwrap_or_default()
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(SectionKind::name))
            .finish()
    }
}
