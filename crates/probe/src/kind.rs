//! What every kind of probe brings along. The rest of the program knows probes by these traits alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;
use kelvin_record::{
    AnySection, Findings, Forecast, Listing, SectionFingerprint, SectionKind, Shard, WantedRepeats,
};
use kelvin_run::config::{Config, Configure};
use kelvin_run::targets::{Site, Target};
use kelvin_run::{OutputObserver, Runner, Step};

use crate::rescoring::Rescoring;

/// A kind of probe: a way to run the system under test, and what is made of its answers.
pub trait Kind: Configure + SectionKind {
    /// Where its files are within the output folder; none for the one kind whose items have folders
    /// at its top.
    fn folder(&self) -> Option<&'static str> {
        Some(self.name())
    }

    /// What has to be added to a configuration that does not ask for it, for a message.
    fn how_to_configure(&self) -> &'static str;

    /// Reads the items that a configuration names.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with everything that is wrong with them.
    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>>;

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
    /// scores of stored factors. The figures are made of it by [`recompute`](SectionKind::recompute).
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
}

/// The items of one probe: first all that are configured, then those that were chosen.
pub trait Items: Sync {
    /// The ids of all items that are configured, in order.
    fn ids(&self) -> Vec<&str>;

    /// What reading them had to say.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The files that they were read from: these are no code of the pipeline.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

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
pub trait Planned: Sync {
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
pub trait Probe {
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
pub trait Rejudging {
    /// What the judge calls.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Grades every answer; the runners are in the order of the steps.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn run(&self, runners: &[Runner<'_>]) -> anyhow::Result<Findings>;
}
