//! The traits of every kind of probe. The rest of the program knows probes only by these traits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;
use kelvin_record::{
    AnySection, Findings, Forecast, Listing, SectionFingerprint, SectionKind, Shard, WantedRepeats,
};
use kelvin_run::config::{Config, Configure, Overrides, Owner, configure};
use kelvin_run::targets::{Target, TargetSite};
use kelvin_run::{OutputObserver, Runner, Step};

/// A kind of probe: a way to run the system under test and to use its answers.
pub trait Kind: Configure + SectionKind {
    /// The lines that a configuration without this probe needs to get it, for a message.
    fn how_to_configure(&self) -> &'static str;

    /// Reads the items that a configuration names.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with every problem of the items.
    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>>;

    /// The answers of a section, to be graded again by the judge of a configuration; none where the probe keeps no
    /// graded answers.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the answers cannot be graded by this judge.
    fn rejudging(
        &self,
        section: &dyn AnySection,
        config: &Config,
    ) -> anyhow::Result<Option<Box<dyn Rejudging>>> {
        let _ = (section, config);
        Ok(None)
    }

    /// A section whose scores will be computed by other rules from its stored factors; none where the probe computes no
    /// scores from stored factors. [`rescore figures`](SectionKind::recompute) then computes the figures from it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the stored data is not enough for the rules.
    fn rescored(
        &self,
        section: &dyn AnySection,
        rules: &Rescoring<'_>,
    ) -> Result<Option<Box<dyn AnySection>>, Misuse> {
        let _ = (section, rules);
        Ok(None)
    }

    /// What a file has that another program has written, for a comparison of two of them; none where it is plainly no
    /// file that this kind reads. `config`: the configuration beside it, where there is one.
    ///
    /// # Errors
    ///
    /// Why the file cannot be used.
    fn foreign(&self, file: &Path, config: Option<&Config>) -> Option<anyhow::Result<Findings>> {
        let _ = (file, config);
        None
    }
}

/// The items of one probe: first all that are configured, and after [`choose`](Self::choose) the chosen ones.
pub trait Items: Sync {
    /// The ids of all items that are configured, in order.
    fn ids(&self) -> Vec<&str>;

    /// Whether there is, or may be, an item of this id. A kind that knows its items only once they were run has
    /// patterns in their place, and takes any id that fits.
    fn has(&self, id: &str) -> bool {
        self.ids().contains(&id)
    }

    /// The notices from reading the items.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// What was taken for what in the items, for somebody who checks a configuration; a run does not say it again.
    fn remarks(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The files with the items, which are not code of the pipeline.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The fingerprint of all configured items, whatever was chosen of them.
    fn fingerprint(&self) -> SectionFingerprint;

    /// The size of the items beside their number, e.g. "with 20 units"; none where the number is enough.
    fn size(&self) -> Option<String> {
        None
    }

    /// What there is in the place of items that are known only once they were run, e.g. "2 suites"; none where the items
    /// are known.
    fn unknown(&self) -> Option<String> {
        None
    }

    /// Why the items are too few to tell much; none where they are enough.
    fn too_few(&self) -> Option<&'static str> {
        None
    }

    /// Tries each service that the items use beside the pipeline, without changing anything. Returns its name, and its
    /// description of itself or why it cannot be used.
    fn services(&self) -> Vec<(String, Result<String, String>)> {
        Vec::new()
    }

    /// Restricts the items to those with these ids, where the list is not empty, and then to a share. Returns how many
    /// were chosen before the share was taken.
    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize;

    /// The planned invocations; nothing is written. Computing the digests of the inputs doubles the time, so they are
    /// left out unless they are requested.
    fn list(&self, with_digests: bool) -> Listing;

    /// Plans every input of the chosen items.
    fn plan(&self) -> Box<dyn Planned + '_>;

    /// The observer of the other probes' invocations, where the kind observes.
    fn observer(&self) -> Option<&dyn OutputObserver> {
        None
    }
}

/// Planned inputs that were not run yet.
pub trait Planned: Sync {
    /// The steps of the probe: first the pipeline, and then everything else that the probe calls, e.g. a judge. Each
    /// step gets a runner.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Opens the target of a step. A kind that does something around each call of the pipeline opens its own target,
    /// which calls that of the step.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the settings of the target cannot be used.
    fn open(&self, step: usize, site: &TargetSite) -> Result<Box<dyn Target + '_>, Misuse> {
        self.steps()[step].program.target.open(site)
    }

    /// Creates the probe with the runners, which are in the order of the steps. Nothing has been run yet.
    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r>;
}

/// A running probe.
pub trait Probe {
    /// Runs everything. `proceed` is asked at most once, when the remaining cost is known; if it says no, nothing more
    /// is run.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on, and where its first answer shows that all further calls would be paid for nothing.
    fn run(&mut self, proceed: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()>;

    /// Writes every input once and runs nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    fn rehearse(&mut self) -> anyhow::Result<()>;

    /// Runs items again until each has this many repeats; an item without variants is run as often as is wanted for its
    /// own input. Ids of other probes are ignored.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()>;

    /// Measures against the stored answers of a comparison's base, where the figures need both. It is called once,
    /// after [`run`](Self::run) and before the figures are compared.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn against(&mut self, base: &dyn AnySection) -> anyhow::Result<()> {
        let _ = base;
        Ok(())
    }

    /// The results so far.
    fn findings(&self) -> Findings;

    /// The time of the pipeline for each repeat of each item, in seconds, where other probes need it.
    fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        BTreeMap::new()
    }

    /// The text of the input of an item, or of one of its variants; none where there is no such input or it is no text
    /// for people.
    fn text(&self, item: &str, variant: Option<&str>) -> Option<Cow<'_, str>> {
        let _ = (item, variant);
        None
    }
}

/// The answers of a section with another judge; no pipeline is run.
pub trait Rejudging {
    /// The steps of the judge.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Grades every answer; the runners are in the order of the steps.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    fn run(&self, runners: &[Runner<'_>]) -> anyhow::Result<Findings>;
}

/// Reads and checks the configuration.
///
/// # Errors
///
/// As [`Config::load`].
pub fn configured(overrides: &Overrides, kinds: &[&'static dyn Kind]) -> anyhow::Result<Config> {
    Config::load(overrides, &owners(kinds))
}

/// The JSON schema of the file, with the keys of every kind of probe, as the repository has it.
///
/// # Errors
///
/// Where the library cannot write the schema, which is not known to happen.
pub fn schema(kinds: &[&'static dyn Kind]) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(configure::schema(&owners(kinds)))?;
    Ok(text + "\n")
}

/// Checks a text that will be written to `file`.
///
/// # Errors
///
/// As [`Config::load`].
pub fn configured_by(
    text: &str,
    file: &Path,
    kinds: &[&'static dyn Kind],
) -> anyhow::Result<Config> {
    Config::parse(text, file, &owners(kinds))
}

/// Every kind of probe with the keys that it owns.
pub fn owners(kinds: &[&'static dyn Kind]) -> Vec<Owner> {
    let owner = |kind: &&'static dyn Kind| Owner {
        name: kind.name(),
        kind: *kind,
        metrics: kind.metric_names(),
    };
    kinds.iter().map(owner).collect()
}

/// The rules by which scores are computed again. A missing rule is that of the configuration, or stays as stored.
#[derive(Clone, Copy, Default)]
pub struct Rescoring<'a> {
    /// The configuration whose rules are used.
    pub config: Option<&'a Config>,
    /// The weights of the factors, as written on the command line.
    pub weights: Option<&'a str>,
    /// The name of the scorer.
    pub scorer: Option<&'a str>,
}
