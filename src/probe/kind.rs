//! What every kind of probe brings along. The rest of the program knows probes by these traits alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::aligned::{AlignedSections, ItemComparison, Surroundings, Viewpoint};
use super::answered::Answered;
use super::findings::{Findings, RunView, SettingDiffers};
use super::flip::Flip;
use super::listing::{Forecast, Listing};
use super::rescoring::Rescoring;
use super::scored::{CheckSaid, ScoredInvocation};
use super::section::{AnySection, SectionFingerprint};
use super::{GradedPair, Metric, WantedRepeats};
use crate::config::{Config, Configure, Shard};
use crate::exit::Misuse;
use crate::judge::JudgeSettings;
use crate::notice::Notice;
use crate::page::{AnswersView, Chapter, ItemPage, PartView};
use crate::run::{OutputObserver, Runner, Step};
use crate::target::{Site, Target};

/// The fields of an object of JSON.
pub(crate) type JsonFields = Map<String, Value>;

/// A kind of probe: a way to run the system under test, and what is made of its answers.
pub(crate) trait Kind: Configure {
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

    /// Where its files are within the output folder; none for the one kind whose items have folders
    /// at its top.
    fn folder(&self) -> Option<&'static str>;

    /// What has to be added to a configuration that does not ask for it, for a message.
    fn how_to_configure(&self) -> &'static str;

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

    /// The judges that grade for this probe, each with its place in the configuration: `grading.judge`.
    fn judges<'c>(&self, config: &'c Config) -> Vec<(String, &'c JudgeSettings)> {
        let _ = config;
        Vec::new()
    }

    /// Reads the items that a configuration names.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with everything that is wrong with them.
    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>>;

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

    /// The answers of a section, to be graded anew by the judge of a configuration; none where the probe keeps no
    /// answers that were graded.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the answers cannot be graded so.
    fn rejudging(
        &self,
        section: &dyn AnySection,
        config: &Config,
    ) -> anyhow::Result<Option<Box<dyn Rejudging>>> {
        let _ = (section, config);
        Ok(None)
    }

    /// A section whose scores are to be made by other rules, of what it has stored; none where the probe makes no
    /// scores of stored factors. The figures are made of it by [`recompute`](Self::recompute).
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the rules cannot be followed with what is stored.
    fn rescored(
        &self,
        section: &dyn AnySection,
        rules: &Rescoring<'_>,
    ) -> Result<Option<Box<dyn AnySection>>, Misuse> {
        let _ = (section, rules);
        Ok(None)
    }

    /// What the page of a run says of a section.
    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a>;

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

/// The items of one probe: first all that are configured, then those that were chosen.
pub(crate) trait Items: Sync {
    /// The ids of all items that are configured, in order.
    fn ids(&self) -> Vec<&str>;

    /// What reading them had to say.
    fn notices(&self) -> Vec<Notice>;

    /// The files that they were read from: these are no code of the pipeline.
    fn files(&self) -> Vec<PathBuf>;

    /// What is configured, whatever was chosen of it.
    fn fingerprint(&self) -> SectionFingerprint;

    /// How large they are beside their number, e.g. "with 20 units"; none where the number says it all.
    fn size(&self) -> Option<String> {
        None
    }

    /// Why so few of them tell less than they could; none where they are enough.
    fn too_few(&self) -> Option<&'static str> {
        None
    }

    /// Tries each service that the items use beside the pipeline, without changing anything: its name, and what it
    /// says of itself or why it cannot be used.
    fn services(&self) -> Vec<(String, Result<String, String>)> {
        Vec::new()
    }

    /// Restricts them to those of these ids, where the list is not empty, and to a share of these.
    /// Returns how many were chosen before they were shared out.
    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize;

    /// What would be run; nothing is written. The digests of the inputs take about as long as all the
    /// rest, and are left out unless they are wanted.
    fn list(&self, with_digests: bool) -> Listing;

    /// Plans every input of the chosen items.
    fn plan(&self) -> Box<dyn Planned + '_>;

    /// Who looks at the invocations of the other probes, where the kind observes.
    fn observer(&self) -> Option<&dyn OutputObserver> {
        None
    }
}

/// Inputs that are planned, and not yet run.
pub(crate) trait Planned: Sync {
    /// What is called: the pipeline first, and then whatever else the probe needs, e.g. a judge. Each
    /// step gets a runner.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Opens what a step calls. A kind that does something around each call of the pipeline opens a
    /// target of its own, which calls that of the step.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the settings of the target cannot be used.
    fn open(&self, step: usize, site: &Site) -> Result<Box<dyn Target + '_>, Misuse> {
        self.steps()[step].program.target.open(site)
    }

    /// Begins with the runners, which are in the order of the steps; nothing has been run yet.
    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r>;
}

/// A probe at work.
pub(crate) trait Probe {
    /// Runs everything. `proceed` is asked at most once, when it is known what is still to be paid;
    /// where it says no, nothing more is run.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on, and where its first answer shows that every further one would be
    /// paid for nothing.
    fn run(&mut self, proceed: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()>;

    /// Writes every input once and runs nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    fn rehearse(&mut self) -> anyhow::Result<()>;

    /// Runs items again until each has so many repeats; an item without variants as often as its own input
    /// is to be run. Ids of other probes are passed over.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()>;

    /// Measures next to what the base of a comparison has stored, where the figures need both. It is
    /// asked once, after [`run`](Self::run) and before the figures are compared.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn against(&mut self, base: &dyn AnySection) -> anyhow::Result<()> {
        let _ = base;
        Ok(())
    }

    /// What has been measured so far.
    fn findings(&self) -> Findings;

    /// How long the pipeline took for each repeat of each item, in seconds, where others need that.
    fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        BTreeMap::new()
    }

    /// The text of an input: of an item, or of one of its variants; none where there is no such input
    /// or it is no text for people.
    fn text(&self, item: &str, variant: Option<&str>) -> Option<Cow<'_, str>> {
        let _ = (item, variant);
        None
    }
}

/// The answers of a section with another judge; no pipeline is run.
pub(crate) trait Rejudging {
    /// What the judge calls.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Grades every answer; the runners are in the order of the steps.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn run(&self, runners: &[Runner<'_>]) -> anyhow::Result<Findings>;
}
