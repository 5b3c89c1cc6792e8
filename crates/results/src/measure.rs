//! The suites of a configuration and their runs. Suites are planned and run; their cases are only known after a run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::config::{ResultsSettings, Suite};
use super::evaluator::{Asked, Evaluator, RunReader};
use super::flaky::{self, FlakySince};
use super::gather::SuiteRun;
use super::record::{
    ResultRecord, ResultSample, ResultsBasis, ResultsSection, SuiteBasis, id, nouns_of_tool, parts,
};
use super::written::{starred, state_of_file};
use super::{figures, plugin};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};
use kelvin_page::counted;
use kelvin_probe::{Items, Planned, Probe};
use kelvin_record::{
    Ending, Findings, KeptText, Listing, Nouns, RUNS_OF_THE_SUITE, SectionFingerprint, Shard,
    SharedMap, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::targets::{Target, TargetSite};
use kelvin_run::{Outcome, Program, Runner, Step, Task};

/// The name of the calls in the progress display.
const PHASE: &str = "suites";

/// The configured suites.
pub(super) struct Suites<'c> {
    config: &'c Config,
    settings: &'c ResultsSettings,
    /// The pattern for the ids in each suite.
    patterns: Vec<String>,
    /// The suites that are run, each with its requested cases; none for all.
    chosen: Vec<(&'c Suite, Option<BTreeSet<String>>)>,
    readers: Vec<RunReader<'c>>,
}

impl<'c> Suites<'c> {
    pub(super) fn new(config: &'c Config, settings: &'c ResultsSettings) -> Self {
        let mut suites = Self {
            config,
            settings,
            patterns: settings
                .suites
                .iter()
                .map(|suite| id(&suite.keys.name, "*"))
                .collect(),
            chosen: Vec::new(),
            readers: Vec::new(),
        };
        suites.take(settings.suites.iter().map(|suite| (suite, None)).collect());
        suites
    }

    fn take(&mut self, chosen: Vec<(&'c Suite, Option<BTreeSet<String>>)>) {
        self.readers = chosen
            .iter()
            .map(|(suite, _)| RunReader { suite })
            .collect();
        self.chosen = chosen;
    }

    /// How often a suite is run: a file that an earlier step has made is read once.
    fn runs(&self, suite: &Suite) -> usize {
        match suite.keys.run {
            Some(_) => self.config.repeats.get(),
            None => 1,
        }
    }
}

impl Items for Suites<'_> {
    fn ids(&self) -> Vec<&str> {
        self.patterns.iter().map(String::as_str).collect()
    }

    fn has(&self, id: &str) -> bool {
        let (suite, case) = parts(id);
        let mut suites = self.settings.suites.iter();
        !case.is_empty() && suites.any(|one| one.keys.name == suite)
    }

    fn files(&self) -> Vec<PathBuf> {
        let suites = self.settings.suites.iter();
        let files = suites.filter_map(|suite| suite.keys.file.as_ref());
        let files = files.filter_map(|file| match starred(file) {
            Some(("", ..)) => None,
            Some((folder, ..)) => Some(self.config.root.join(folder)),
            None => Some(self.config.root.join(file)),
        });
        files.collect()
    }

    fn services(&self) -> Vec<(String, Result<String, String>)> {
        let suites = self.settings.suites.iter();
        let lacking = suites.filter(|suite| plugin::is_lacked(suite, self.config));
        let told = |suite: &Suite| (suite.keys.name.clone(), Err(plugin::LACKED.to_owned()));
        lacking.map(told).collect()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let suites = self.settings.suites.iter();
        let fields = suites.fold(Fields::of("kelvin/results/commands/v1"), |fields, suite| {
            let program = program(suite).digest(self.config);
            fields
                .field("suite", &suite.keys.name)
                .field("command", program.bytes())
        });
        SectionFingerprint {
            // The items are only known to the evaluator.
            items: None,
            command: Some(fields.digest()),
        }
    }

    fn unknown(&self) -> Option<String> {
        let suites = counted(self.patterns.len(), "suite");
        Some(format!("{suites} of an evaluator, which knows the cases"))
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let mut wanted: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for one in only.iter().filter(|one| self.has(one)) {
            let (suite, case) = parts(one);
            wanted.entry(suite).or_default().insert(case.to_owned());
        }
        let all = self.settings.suites.iter();
        let named: Vec<(&Suite, Option<BTreeSet<String>>)> = all
            .filter_map(|suite| match wanted.remove(suite.keys.name.as_str()) {
                None if !only.is_empty() => None,
                cases => Some((suite, cases)),
            })
            .collect();
        let count = named.len();
        let ours = named.into_iter();
        let ours =
            ours.filter(|(suite, _)| shard.is_none_or(|shard| shard.takes(&suite.keys.name)));
        self.take(ours.collect());
        count
    }

    fn list(&self, _with_digests: bool) -> Listing {
        let runs = self.chosen.iter().map(|(suite, _)| self.runs(suite));
        let runs = runs.sum();
        Listing {
            invocations: BTreeMap::from([("suite", runs)]),
            more_reruns: RUNS_OF_THE_SUITE * runs,
            ..Listing::default()
        }
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(PlannedSuites(self))
    }
}

/// The program that a runner calls for a suite.
fn program(suite: &Suite) -> Program<'_> {
    Program {
        turns: None,
        target: &suite.address,
        decision_field: "",
        input_name: "input.json",
        inputs: suite.keys.file.as_deref().unwrap_or("."),
    }
}

struct PlannedSuites<'a>(&'a Suites<'a>);

impl Planned for PlannedSuites<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        let readers = self.0.readers.iter();
        readers
            .map(|reader| Step {
                folder: Some(reader.suite.keys.name.clone()),
                program: program(reader.suite),
                reader,
            })
            .collect()
    }

    /// An evaluator runs once and remembers nothing.
    fn stays(&self, _step: usize) -> bool {
        false
    }

    fn open(&self, step: usize, site: &TargetSite) -> Result<Box<dyn Target + '_>, Misuse> {
        let suite = self.0.readers[step].suite;
        let mut site = site.clone();
        site.timeout = std::time::Duration::from_secs(suite.keys.timeout_s.into());
        if !suite.address.is_empty() {
            suite.address.open(&site)?;
        }
        let rules = self.0.config.other_rules().map(Path::to_path_buf);
        Ok(Box::new(Evaluator { suite, site, rules }))
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let chosen = self.0.chosen.iter().zip(runners);
        let begun = chosen.map(|((suite, wanted), runner)| BegunSuite {
            suite,
            wanted: wanted.as_ref(),
            runner,
            root: &self.0.config.root,
            repeats: self.0.config.repeats,
            by_other_rules: self.0.config.other_rules().is_some(),
            flaky_since: flaky::since(
                &self
                    .0
                    .config
                    .root
                    .join(self.0.config.file.file_name().unwrap_or_default()),
                &suite.keys.name,
                &suite.keys.flaky,
            ),
            runs: Vec::new(),
            whole_again: 0,
        });
        Box::new(AtWork {
            suites: self.0,
            begun: begun.collect(),
            ending: Ending::Interrupted,
        })
    }
}

/// A suite during a run.
struct BegunSuite<'a> {
    suite: &'a Suite,
    /// The requested cases; none for all.
    wanted: Option<&'a BTreeSet<String>>,
    runner: &'a Runner<'a>,
    /// The folder of the configuration.
    root: &'a Path,
    /// How often each suite is to be run.
    repeats: NonZeroUsize,
    /// Whether the scoring of another checkout is used.
    by_other_rules: bool,
    /// Since when each flaky case is declared as flaky.
    flaky_since: BTreeMap<String, FlakySince>,
    runs: Vec<OneRun>,
    /// How often the whole suite was run again because of some cases.
    whole_again: usize,
}

/// One run of a suite.
struct OneRun {
    /// The cases that it should run; none for all.
    cases: Option<Vec<String>>,
    result: Result<SuiteRun, Box<Failure>>,
}

impl BegunSuite<'_> {
    /// Runs the suite again, or some of its cases. Returns whether it was run, which is not the case after a stop.
    fn run(&mut self, cases: Option<Vec<String>>) -> anyhow::Result<bool> {
        let keys = &self.suite.keys;
        let (command, cases) = match (self.suite.rerun(), cases) {
            (Some(rerun), Some(cases)) => (Some(rerun), Some(cases)),
            _ => (keys.run.as_deref(), None),
        };
        let asked = Asked {
            command: command.map(str::to_owned),
            cases: cases.clone(),
            state: match command {
                Some(_) => None,
                None => Some(state_of_file(self.suite.keys.file.as_deref(), self.root)),
            },
            rescored: keys.rescore.clone().filter(|_| self.by_other_rules),
        };
        let text = serde_json::to_string(&asked)?;
        let task = Task {
            case: keys.name.as_str().into(),
            variant: None,
            repeat: self.runs.len() + 1,
        };
        let done = self
            .runner
            .run_all(PHASE, &[task], &|_: &Task| Cow::Borrowed(text.as_str()))?;
        let Some(outcome) = done.into_iter().next().flatten() else {
            return Ok(false);
        };
        self.runs.push(OneRun {
            cases,
            result: found(outcome),
        });
        Ok(true)
    }

    /// The words of the evaluator for its cases.
    fn nouns(&self) -> Nouns {
        nouns_of_tool(self.first().map_or("", |run| &run.tool))
    }

    /// The first run with results.
    fn first(&self) -> Option<&SuiteRun> {
        self.runs.iter().find_map(|run| run.result.as_ref().ok())
    }

    /// The records of the cases by name. A case that is missing in a run that should contain it counts as an error: an
    /// evaluator that stops early must not hide cases that would have failed.
    fn records(&self) -> BTreeMap<String, ResultRecord> {
        let mut records: BTreeMap<String, ResultRecord> = BTreeMap::new();
        for run in self.runs.iter().filter_map(|run| run.result.as_ref().ok()) {
            for (name, case) in &run.cases {
                records.entry(name.clone()).or_insert_with(|| ResultRecord {
                    samples: Vec::new(),
                    ..case.clone()
                });
            }
        }
        let wanted = self.wanted.into_iter().flatten();
        for name in wanted {
            records.entry(name.clone()).or_default();
        }
        for (at, run) in (1..).zip(&self.runs) {
            for (name, record) in &mut records {
                let is_asked = |cases: &Vec<String>| cases.contains(name);
                let here = match &run.result {
                    Ok(found) => found.cases.get(name),
                    Err(_) => None,
                };
                match here {
                    Some(here) if here.digests() == record.digests() => {
                        record.samples.extend(here.samples.iter().cloned());
                    }
                    Some(_) => record.samples.push(missing(format!(
                        "run {at} of the suite has another input under this name, or scores it in another way"
                    ))),
                    None if run.cases.as_ref().is_none_or(is_asked) => {
                        record.samples.push(missing(match &run.result {
                            Ok(_) => format!("run {at} of the suite has no result for it"),
                            Err(failure) => {
                                format!("run {at} of the suite failed: {}", failure.message)
                            }
                        }));
                    }
                    None => {}
                }
            }
        }
        if let Some(wanted) = self.wanted {
            records.retain(|name, _| wanted.contains(name));
        }
        records
    }

    fn basis(&self) -> SuiteBasis {
        let mut basis = SuiteBasis {
            is_part: self.wanted.is_some(),
            flaky_since: self.flaky_since.clone(),
            ..SuiteBasis::of(&self.suite.keys)
        };
        match (self.first(), self.runs.first()) {
            (Some(run), _) => {
                basis.tool.clone_from(&run.tool);
                basis.tool_version.clone_from(&run.tool_version);
                basis.settings.clone_from(&run.settings);
                basis.skipped.clone_from(&run.skipped);
                basis.metrics.clone_from(&run.metrics);
                let mut runs = self.runs.iter().filter_map(|run| run.result.as_ref().ok());
                basis.ended = runs.find_map(|run| run.ended.clone());
            }
            (None, Some(run)) => basis.failure = run.result.as_ref().err().cloned(),
            (None, None) => {}
        }
        basis
    }

    /// Remarks for a person about the runs.
    fn notices(&self) -> Vec<Notice> {
        let name = &self.suite.keys.name;
        let mut notices = Vec::new();
        let mut told = BTreeSet::new();
        let found = self.runs.iter().filter_map(|run| run.result.as_ref().ok());
        for text in found.flat_map(|run| &run.notices) {
            if told.insert(text) {
                let text = format!("the suite `{name}`: {text}");
                notices.push(Notice::new(Code::own("read_with_care"), text).minor());
            }
        }
        let wanted = self.repeats.get();
        if self.suite.keys.run.is_none() && wanted > 1 {
            let text = format!(
                "the suite `{name}` is read once, not {wanted} times: it has no `run`, and the file of an earlier step \
                 stays as it is. The repeats in that file are its repeats; a `run` lets kelvin repeat it"
            );
            notices.push(Notice::new(Code::own("read_once"), text));
        }
        let failed = self.runs.iter().filter(|run| run.result.is_err()).count();
        if failed > 0 && self.first().is_some() {
            let all = self.runs.len();
            let text = format!(
                "{failed} of {all} runs of the suite `{name}` failed: each is an error in the cases that it was to run, which say \
                 why"
            );
            notices.push(Notice::new(Code::VariantsFailed, text).counts(all, all - failed));
        }
        if self.whole_again > 0 {
            let cases = self.first().map_or(0, |run| run.cases.len());
            let times = match self.whole_again {
                1 => "once".to_owned(),
                more => format!("{more} times"),
            };
            let text = format!(
                "the whole suite `{name}` ({}) was run again {times} to look at the cases in doubt: a `rerun` with \
                 `{{cases_regex}}` or `{{cases_file}}` runs those alone",
                self.nouns().counted(cases)
            );
            notices.push(Notice::new(Code::own("whole_suite_again"), text).minor());
        }
        notices
    }
}

/// A sample of a case that is missing in a run.
fn missing(why: String) -> ResultSample {
    ResultSample {
        error: Some(KeptText::of(&why)),
        ..ResultSample::default()
    }
}

fn found(outcome: Outcome) -> Result<SuiteRun, Box<Failure>> {
    let unusable = |error: serde_json::Error| {
        Box::new(Failure::new(FailureKind::OutputNotJson, error.to_string()))
    };
    serde_json::from_value(outcome.result?).map_err(unusable)
}

/// The probe while it runs.
struct AtWork<'a> {
    suites: &'a Suites<'a>,
    begun: Vec<BegunSuite<'a>>,
    ending: Ending,
}

impl Probe for AtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        for suite in &mut self.begun {
            for _ in 0..self.suites.runs(suite.suite) {
                let cases = suite.wanted.map(|cases| cases.iter().cloned().collect());
                if !suite.run(cases)? {
                    return Ok(());
                }
            }
        }
        // A suite without results has no measurement, even if the others have results.
        self.ending = match self.begun.iter().all(|suite| suite.first().is_some()) {
            true => Ending::Complete,
            false => Ending::Failed,
        };
        Ok(())
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.ending = Ending::DryRun;
        Ok(())
    }

    /// Every run adds a sample to each case that it should run, so this ends after at most the requested number of
    /// runs.
    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        for suite in &mut self.begun {
            // A file that an earlier step has made cannot be made again.
            if suite.suite.keys.run.is_none() {
                continue;
            }
            loop {
                let records = suite.records();
                let name = &suite.suite.keys.name;
                let lacking: Vec<String> = records
                    .iter()
                    .filter(|(case, record)| {
                        let wanted = wanted.get(&id(name, case));
                        wanted.is_some_and(|wanted| record.samples.len() < wanted.input)
                    })
                    .map(|(case, _)| case.clone())
                    .collect();
                if lacking.is_empty() {
                    break;
                }
                if suite.suite.rerun().is_none() {
                    suite.whole_again += 1;
                }
                if !suite.run(Some(lacking))? {
                    self.ending = Ending::Interrupted;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn findings(&self) -> Findings {
        let mut section = ResultsSection {
            ending: self.ending,
            fingerprint: self.suites.fingerprint(),
            basis: ResultsBasis::default(),
            items: SharedMap::default(),
        };
        for suite in &self.begun {
            let name = &suite.suite.keys.name;
            section.basis.suites.insert(name.clone(), suite.basis());
            let records = suite.records().into_iter();
            section
                .items
                .extend(records.map(|(case, record)| (id(name, &case), record)));
        }
        Findings {
            metrics: figures::figures(&section),
            notices: figures::notices(&section),
            section: Box::new(section),
            of_the_run: self.begun.iter().flat_map(BegunSuite::notices).collect(),
            compared: true,
        }
    }
}
