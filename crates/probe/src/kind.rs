//! The traits of every kind of probe. The rest of the program knows probes only by these traits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;
use kelvin_record::{
    AnySection, Findings, Listing, SectionFingerprint, SectionKind, Shard, WantedRepeats,
};
use kelvin_run::config::{Config, Configure, Overrides, Owner, configure};
use kelvin_run::targets::{Target, TargetSite};
use kelvin_run::{OutputObserver, Runner, Step};

/// A kind of probe: a way to run the system under test and to use its answers.
pub trait Kind: Configure + SectionKind {
    /// The lines that add this probe to a configuration, for a message.
    fn how_to_configure(&self) -> &'static str;

    /// Reads the items that a configuration names.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with every problem of the items.
    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>>;

    /// The answers of a section, for grading them again with the judge of a configuration; none if the probe stores no
    /// graded answers.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if this judge cannot grade the answers.
    fn rejudging(
        &self,
        section: &dyn AnySection,
        config: &Config,
    ) -> anyhow::Result<Option<Box<dyn Rejudging>>> {
        let _ = (section, config);
        Ok(None)
    }

    /// A section whose scores will be computed by other rules from its stored factors; none if the probe does not
    /// compute scores from stored factors. [`rescore figures`](SectionKind::recompute) then computes the figures from
    /// it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if the stored data is not enough for the rules.
    fn rescored(
        &self,
        section: &dyn AnySection,
        rules: &Rescoring<'_>,
    ) -> Result<Option<Box<dyn AnySection>>, Misuse> {
        let _ = (section, rules);
        Ok(None)
    }

    /// The content of a file that another program has written, for a comparison of two such files; none if this kind
    /// clearly does not read such a file. `config`: the configuration in the same folder, if there is one.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the file cannot be used.
    fn foreign(&self, file: &Path, config: Option<&Config>) -> Option<anyhow::Result<Findings>> {
        let _ = (file, config);
        None
    }
}

/// The items of one probe: at first all configured items, and after [`choose`](Self::choose) the chosen ones.
pub trait Items: Sync {
    /// The ids of all items that are configured, in order.
    fn ids(&self) -> Vec<&str>;

    /// Whether there is, or may be, an item with this id. A kind that knows its items only after a run has patterns
    /// instead, and accepts any matching id.
    fn has(&self, id: &str) -> bool {
        self.ids().contains(&id)
    }

    /// The notices from reading the items.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// How the items were interpreted, for a person who checks a configuration; a run does not repeat this.
    fn remarks(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The files with the items, which do not belong to the code of the pipeline.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The fingerprint of all configured items, whichever of them were chosen.
    fn fingerprint(&self) -> SectionFingerprint;

    /// The size of the items besides their number, e.g. "with 20 units"; none if the number is enough.
    fn size(&self) -> Option<String> {
        None
    }

    /// A description of items that are known only after a run, e.g. "2 suites"; none if the items are known.
    fn unknown(&self) -> Option<String> {
        None
    }

    /// Why there are too few items for a conclusion; none if there are enough.
    fn too_few(&self) -> Option<&'static str> {
        None
    }

    /// Tests each service that the items use besides the pipeline, without changing any data. Returns its name, and
    /// either its description of itself or why it cannot be used.
    fn services(&self) -> Vec<(String, Result<String, String>)> {
        Vec::new()
    }

    /// Restricts the items to those with these ids, if the list is not empty, and then to a shard. Returns how many
    /// were chosen before they were divided among shards.
    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize;

    /// The planned invocations; no file is written. Computing the digests of the inputs doubles the time, so it is only
    /// done on request.
    fn list(&self, with_digests: bool) -> Listing;

    /// Plans every input of the chosen items.
    fn plan(&self) -> Box<dyn Planned + '_>;

    /// The observer of the other probes' invocations, if this kind observes.
    fn observer(&self) -> Option<&dyn OutputObserver> {
        None
    }
}

/// Planned inputs that were not run yet.
pub trait Planned: Sync {
    /// The steps of the probe: first the pipeline, and then everything else that the probe calls, e.g. a judge. Each
    /// step gets a runner.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Opens the target of a step. If a kind does some work before or after each call of the pipeline, it opens its own
    /// target, which wraps the target of the step.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if the settings of the target cannot be used.
    fn open(&self, step: usize, site: &TargetSite) -> Result<Box<dyn Target + '_>, Misuse> {
        self.steps()[step].program.target.open(site)
    }

    /// Whether the target of a step is a process that stays in memory from call to call, so that its first inputs are also
    /// called in other orders. A kind that opens its own target around each call answers for that target.
    fn stays(&self, step: usize) -> bool {
        self.steps()[step].program.target.stays()
    }

    /// Creates the probe with the runners, which are in the order of the steps. No call has been made yet.
    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r>;
}

/// A running probe.
pub trait Probe {
    /// Runs everything.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue, or if its first answer shows that all other calls would be useless.
    fn run(&mut self) -> anyhow::Result<()>;

    /// Writes every input once, without running the pipeline.
    ///
    /// # Errors
    ///
    /// Fails if an input cannot be written.
    fn rehearse(&mut self) -> anyhow::Result<()>;

    /// Runs items again until each has this many repeats; for an item without variants, the number for its own input
    /// counts. Ids of other probes are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue.
    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()>;

    /// Measures against the stored answers of a comparison's base, if the figures need both. It is called once, after
    /// [`run`](Self::run) and before the figures are compared.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue.
    fn against(&mut self, base: &dyn AnySection) -> anyhow::Result<()> {
        let _ = base;
        Ok(())
    }

    /// The results so far.
    fn findings(&self) -> Findings;

    /// The time of the pipeline for each repeat of each item, in seconds, if other probes need it.
    fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        BTreeMap::new()
    }

    /// The text of the input of an item, or of one of its variants; none if there is no such input or if it is not a
    /// text for people.
    fn text(&self, item: &str, variant: Option<&str>) -> Option<Cow<'_, str>> {
        let _ = (item, variant);
        None
    }
}

/// The answers of a section, for grading them with another judge; no pipeline is run.
pub trait Rejudging {
    /// The steps of the judge.
    fn steps(&self) -> Vec<Step<'_>>;

    /// Grades every answer; the runners are in the order of the steps.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot continue.
    fn run(&self, runners: &[Runner<'_>]) -> anyhow::Result<Findings>;
}

/// Reads and checks the configuration.
///
/// # Errors
///
/// Fails like [`Config::load`].
pub fn configured(overrides: &Overrides, kinds: &[&'static dyn Kind]) -> anyhow::Result<Config> {
    Config::load(overrides, &owners(kinds))
}

/// The JSON schema of the file, with the keys of every kind of probe, in the form for the repository.
///
/// # Errors
///
/// Fails if the library cannot write the schema, which should not happen.
pub fn schema(kinds: &[&'static dyn Kind]) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(configure::schema(&owners(kinds)))?;
    Ok(text + "\n")
}

/// Checks a text that will be written to `file`.
///
/// # Errors
///
/// Fails like [`Config::load`].
pub fn configured_by(
    text: &str,
    file: &Path,
    kinds: &[&'static dyn Kind],
) -> anyhow::Result<Config> {
    Config::parse(text, file, &owners(kinds))
}

/// Every kind of probe with its keys.
pub fn owners(kinds: &[&'static dyn Kind]) -> Vec<Owner> {
    let owner = |kind: &&'static dyn Kind| Owner {
        name: kind.name(),
        kind: *kind,
        metrics: kind.metric_names(),
    };
    kinds.iter().map(owner).collect()
}

/// The rules by which scores are computed again. A missing rule is taken from the configuration, or stays as stored.
#[derive(Clone, Copy, Default)]
pub struct Rescoring<'a> {
    /// The configuration whose rules are used.
    pub config: Option<&'a Config>,
    /// The weights of the factors, as written on the command line.
    pub weights: Option<&'a str>,
    /// The name of the scorer.
    pub scorer: Option<&'a str>,
}
