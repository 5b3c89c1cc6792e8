//! What a kind of probe knows of what it has measured: how a section is read, compared and shown. Whoever has a
//! report has the kinds of its sections with it, and asks them; no other place knows a kind by its name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kelvin_page::{AnswersView, Chapter, FigureTable, Headword, ItemPage, PartView, Phrase};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::aligned::{AlignedSections, ItemComparison, Surroundings, Viewpoint};
use crate::answered::Answered;
use crate::findings::{Findings, RunView, SettingDiffers};
use crate::flip::Flip;
use crate::graded::GradedPair;
use crate::metric::Metric;
use crate::scored::{CheckSaid, ScoredInvocation};
use crate::section::AnySection;
use crate::{Nouns, estimate, family};

/// The fields of an object of JSON.
pub type JsonFields = Map<String, Value>;

/// What is made of the sections of one kind of probe, whoever has measured them.
pub trait SectionKind: Send + Sync {
    /// Its name: its key under `probes` in a report, and the first part of the ids of its metrics.
    fn name(&self) -> &'static str;

    /// What it asks, in a sentence.
    fn question(&self) -> &'static str;

    /// What one of its items is called, and several of them.
    fn nouns(&self) -> (&'static str, &'static str);

    /// What a table calls the fingerprint of its items, and that of its command.
    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Items", "Command")
    }

    /// Whether it runs nothing and looks at what the other probes run: its items are theirs, under the same
    /// ids. At most one kind does so.
    fn observes(&self) -> bool {
        false
    }

    /// The invocations of all probes that it has scored, with the score and what that is made of; empty for a
    /// kind that looks at none.
    fn scored(&self, section: &dyn AnySection) -> Vec<ScoredInvocation> {
        let _ = section;
        Vec::new()
    }

    /// What of the files of an invocation is an example: what the pipeline was given, and what it answered. None
    /// where the answer was not kept whole.
    fn example(&self, input: JsonFields, output: JsonFields) -> Option<(JsonFields, JsonFields)> {
        Some((input, output))
    }

    /// What the checks have said of each repeat of an item, by name; empty for a kind without checks.
    fn said_of(&self, section: &dyn AnySection, item: &str) -> Vec<BTreeMap<String, CheckSaid>> {
        let _ = (section, item);
        Vec::new()
    }

    /// The metric that is the score of an example where nothing else is named; none for a kind whose examples
    /// have the quality score.
    fn score_of_examples(&self) -> Option<&'static str> {
        None
    }

    /// Reads a section that a report has stored.
    ///
    /// # Errors
    ///
    /// Where the text is no section of this kind.
    fn stored(
        &self,
        text: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<Box<dyn AnySection>, erased_serde::Error>;

    /// The JSON schema of such a section.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;

    /// The settings that differ between two sections whose figures can be compared all the same. The
    /// names are plural.
    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        let _ = (base, head);
        Vec::new()
    }

    /// The setting that makes the figures of two sections incomparable; none where they can be
    /// compared. The name is singular.
    fn incomparable(&self, base: &dyn AnySection, head: &dyn AnySection) -> Option<SettingDiffers> {
        let _ = (base, head);
        None
    }

    /// Brings two sections into the form in which they can be compared by a reading, and tells what became of each
    /// item; none where they are compared as they are.
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

    /// Reads the comparison of items that a verdict has stored.
    ///
    /// # Errors
    ///
    /// Where the value is no comparison of this kind.
    fn stored_comparison(&self, stored: Value) -> serde_json::Result<Arc<dyn ItemComparison>> {
        Ok(Arc::new(stored))
    }

    /// The JSON schema of such a comparison; none where the kind does not align its sections.
    fn comparison_schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        let _ = generator;
        None
    }

    /// Puts into the figures of the base what a head must be compared with, where that is not what the base
    /// has measured for itself: a head that was measured next to the base brings along both sides.
    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        let _ = (base, head, metrics);
    }

    /// The answers that a judge has graded, for the ledger. `seconds` tells how long the pipeline took for
    /// each repeat of an item, where that is known.
    fn graded_pairs(
        &self,
        section: &dyn AnySection,
        seconds: &BTreeMap<String, Vec<f64>>,
    ) -> Vec<GradedPair> {
        let _ = (section, seconds);
        Vec::new()
    }

    /// What the page of a run says of a section: its figures, where a kind has no more to say.
    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        let (word, title) = (self.name(), self.name());
        let mut chapter = Chapter::new(Headword {
            word,
            title,
            meaning: self.question(),
            is_judgement: false,
        });
        chapter.scope = vec![Nouns::from(self.nouns()).counted(section.ids().len())];
        chapter.notices = section.notices();
        let rows = family(run.metrics, word).into_iter();
        let rows = rows.map(|(name, metric)| (Phrase::text(name), estimate(Some(metric))));
        chapter.measures = Some(FigureTable {
            title,
            note: "",
            rows: rows.collect(),
        });
        chapter
    }

    /// The pages of the items that have one, each with the folder that it belongs in. They are made
    /// one by one, since there may be thousands.
    fn item_pages<'a>(
        &self,
        section: &'a dyn AnySection,
        run: RunView<'a>,
    ) -> Box<dyn Iterator<Item = (&'a str, ItemPage<'a>)> + 'a> {
        let _ = (section, run);
        Box::new(std::iter::empty())
    }

    /// One part of an item next to the item as it is; none where the item has no such part.
    fn part(&self, section: &dyn AnySection, item: &str, part: &str) -> Option<PartView> {
        let _ = (section, item, part);
        None
    }

    /// Why an item came out badly in a metric, in the words of its record and at most a line long; none
    /// where the record does not tell. The words are not ours, and nothing has made them harmless.
    fn why(&self, section: &dyn AnySection, item: &str, metric: &str) -> Option<String> {
        let _ = (section, item, metric);
        None
    }

    /// Which answers of an item went wrong from one section to the other, in a metric that dropped; none
    /// where the records do not tell.
    fn flip(
        &self,
        (base, head): (&dyn AnySection, &dyn AnySection),
        item: &str,
        metric: &str,
    ) -> Option<Flip> {
        let _ = (base, head, item, metric);
        None
    }

    /// What both sides answered to an item; none where the probe keeps no answers for people.
    fn answers(&self, section: &dyn AnySection, item: &str) -> Option<AnswersView> {
        let _ = (section, item);
        None
    }

    /// What the items were answered, for the comparison of two sides; none where the probe keeps no answers, or where
    /// only a judge could say which of them are the same.
    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<Answered<'a>> {
        let _ = section;
        None
    }

    /// Makes the figures of a section anew from its records.
    fn recompute(&self, section: Box<dyn AnySection>) -> Findings;
}

/// Every kind of probe that this program knows, in the order in which they are run and reported.
#[derive(Clone, Default)]
pub struct Kinds(Arc<[&'static dyn SectionKind]>);

impl Kinds {
    /// The kind of a name; none where this program knows no such kind.
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

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(SectionKind::name))
            .finish()
    }
}
