//! Connects the checks with the rest of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::added::{self, NewInvariants};
use super::config::{ChecksSettings, ScenarioSource};
use super::figures::figures;
use super::judging::{JudgedCheck, Judging};
use super::record::{ChecksBasis, ChecksSection, ScenarioAnswer, ScenarioReader};
use super::rule_files::RuleFiles;
use super::scenario::{self, Scenario};
use super::scenarios::{self, Scenarios};
use super::services::Trouble;
use super::target::ScenarioTarget;
use super::{ChecksKind, answers, measure, page, scoring};
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{Chapter, in_one_line};
use kelvin_probe::{ChosenItems, Items, Kind, Planned, Probe, Rejudging, RepeatedItems};
use kelvin_record::{
    AlignedSections, AnySection, CheckSaid, ComparisonForm, Ending, Findings, JsonFields, Listing,
    Metric, RunView, SectionAnswers, SectionFingerprint, SectionForm, SectionKind, SettingDiffers,
    Shard, Surroundings, Viewpoint, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::judge::model_names;
use kelvin_run::targets::{Target, TargetSite};
use kelvin_run::{Runner, Step};
use kelvin_system::signal::Interrupt;

impl Kind for ChecksKind {
    fn how_to_configure(&self) -> &'static str {
        "add `run` and `invariants`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings: &ChecksSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        let rules = match &settings.source {
            ScenarioSource::File(name) => scenario::of_the_rules(config, name),
            ScenarioSource::Cases(_) | ScenarioSource::Alone => None,
        };
        let scenarios = scenarios::read((&config.root, rules.as_deref()), settings)?;
        Ok(Box::new(ScenariosToRun {
            config,
            settings,
            places: (0..scenarios.all.len()).collect(),
            scenarios,
        }))
    }

    /// Refuses to grade again: a judge has seen texts that scenarios have made, and a report does not store them.
    fn rejudging(
        &self,
        section: &dyn AnySection,
        _: &Config,
    ) -> anyhow::Result<Option<Box<dyn Rejudging>>> {
        let invariants = own(section).basis.invariants.iter();
        let mut judged = invariants.filter(|(_, invariant)| invariant.judge.is_some());
        match judged.next() {
            None => Ok(None),
            Some((name, _)) => {
                let what = format!(
                    "what the judge of the invariant `{name}` has seen is not in the report, so it cannot be \
                     graded anew"
                );
                let help = "run `kelvin check`: scenarios that the cache knows are not run again, and the judge \
                            of today's configuration is asked about what they left";
                Err(Misuse::new(what).help(help).into())
            }
        }
    }
}

impl SectionKind for ChecksKind {
    fn name(&self) -> &'static str {
        "checks"
    }

    fn question(&self) -> &'static str {
        "After the pipeline has run, is everything as it must be?"
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("scenario", "scenarios")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Scenarios", "Command of the scenarios")
    }

    /// The task of the agent and its answer. Expected values and results of the checks are left out: the agent did not
    /// get them, and they are not part of its answer.
    fn example(
        &self,
        mut input: JsonFields,
        output: JsonFields,
    ) -> Option<(JsonFields, JsonFields)> {
        input.retain(|key, _| ["prompt", "params"].contains(&key.as_str()));
        let answer: ScenarioAnswer = serde_json::from_value(Value::Object(output)).ok()?;
        if answer.is_output_cut {
            return None;
        }
        let fields = match serde_json::from_str(&answer.agent_output) {
            Ok(Value::Object(fields)) => fields,
            _ => JsonFields::from_iter([("output".to_owned(), Value::from(answer.agent_output))]),
        };
        Some((input, fields))
    }

    fn said_of(&self, section: &dyn AnySection, item: &str) -> Vec<BTreeMap<String, CheckSaid>> {
        let runs = own(section).items.get(item);
        let runs = runs.map_or(&[][..], |item| &item.runs).iter();
        let said = runs.map(|run| {
            let checks = run.checks.iter();
            let said = checks.map(|(name, check)| {
                let said = CheckSaid {
                    outcome: check.outcome.as_str(),
                    score: check.score,
                };
                (name.clone(), said)
            });
            said.collect()
        });
        said.collect()
    }

    fn score_of_examples(&self) -> Option<&'static str> {
        Some("checks.composite")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<ChecksSection>()
    }

    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        let (Some(base), Some(head)) = (basis(base), basis(head)) else {
            return Vec::new();
        };
        let settings = [
            ("weights of the invariants", weights(base), weights(head)),
            ("rules of the scoring", rules(base), rules(head)),
            ("judges of the invariants", judges(base), judges(head)),
        ];
        let differing = settings.into_iter().filter(|(_, base, head)| base != head);
        let differing = differing.map(|(name, base, head)| SettingDiffers { name, base, head });
        differing.collect()
    }

    fn served(&self, section: &dyn AnySection, place: &str) -> BTreeSet<String> {
        let name = place.strip_prefix("invariants.").unwrap_or(place);
        served(own(section), name).unwrap_or_default()
    }

    /// If the server reports another model name than on the base, the judge counts as another judge, so its grades of
    /// the head cannot be compared.
    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        let (base, head) = (own(base), own(head));
        let judged = head
            .basis
            .invariants
            .iter()
            .filter(|(_, one)| one.judge.is_some());
        for (name, _) in judged {
            let (Some(old), Some(new)) = (served(base, name), served(head, name)) else {
                continue;
            };
            if old == new {
                continue;
            }
            let why = format!(
                "the judge of `{name}` is another one: the base was graded by {}, as the server names it, and the head \
                 by {}: measure the base again",
                model_names(&old),
                model_names(&new)
            );
            for figure in [name.as_str(), "composite", "pass_rate"] {
                if let Some(metric) = metrics.get_mut(&format!("checks.{figure}")) {
                    metric.withdraw(&why);
                }
            }
        }
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        _: Surroundings,
        _: Viewpoint,
    ) -> Option<AlignedSections> {
        let [old, new] = [base, head].map(|side| side.as_kind::<ChecksSection>());
        added::align(old?, new?)
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        let meaning = "The new invariants of the checks probe, where the change brings some.";
        Some(ComparisonForm::of::<NewInvariants>(meaning))
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        page::chapter(own(section), run.metrics)
    }

    fn why(&self, section: &dyn AnySection, item: &str, metric: &str) -> Option<String> {
        page::why(own(section), item, metric)
    }

    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let runs = &own(section).items.get(item)?.runs;
        let mut failures = runs.iter().filter_map(|run| run.failure.as_deref());
        Some(in_one_line(failures.next()?))
    }

    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<SectionAnswers<'a>> {
        Some(answers::section_answers(own(section)))
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<ChecksSection>();
        findings(*section)
    }
}

fn own(section: &dyn AnySection) -> &ChecksSection {
    section.own()
}

/// The names of the models that graded the scenarios' texts for an invariant, as reported by their servers; none if
/// there are no grades.
fn served(section: &ChecksSection, invariant: &str) -> Option<BTreeSet<String>> {
    let runs = section.items.values().flat_map(|item| &item.runs);
    let judged = runs.filter_map(|run| run.checks.get(invariant)?.judged.as_ref());
    let mut grades = judged.filter_map(|judged| judged.grade.as_ref()).peekable();
    grades.peek()?;
    Some(grades.flat_map(|grade| grade.served()).cloned().collect())
}

fn basis(section: &dyn AnySection) -> Option<&ChecksBasis> {
    let section = section.as_kind::<ChecksSection>()?;
    Some(&section.basis)
}

/// The weight of each invariant in the composite.
fn weights(basis: &ChecksBasis) -> Vec<String> {
    let invariants = basis.invariants.iter();
    invariants
        .map(|(name, invariant)| {
            let gate = if invariant.gate { ", a gate" } else { "" };
            format!("{name} {}{gate}", invariant.weight)
        })
        .collect()
}

/// The judge of each invariant, and its lowest passing score.
fn judges(basis: &ChecksBasis) -> Vec<String> {
    let judged = basis
        .invariants
        .iter()
        .filter_map(|(name, invariant)| Some((name, invariant.judge.as_ref()?)));
    judged
        .map(|(name, judge)| {
            let (id, threshold) = (&judge.grader_id, judge.pass_threshold);
            format!("{name} {id} from {threshold}")
        })
        .collect()
}

/// The rules by which a run passes.
fn rules(basis: &ChecksBasis) -> Vec<String> {
    let threshold = match basis.pass_threshold {
        Some(threshold) => format!("from a composite of {threshold}"),
        None => "where every check passes".to_owned(),
    };
    let strict = basis
        .gate_strict
        .then(|| "gates need a score of 1".to_owned());
    std::iter::once(threshold).chain(strict).collect()
}

/// The figures of a section.
fn findings(mut section: ChecksSection) -> Findings {
    for scenario in section.items.values_mut() {
        for run in &mut scenario.runs {
            scoring::settle(run, &section.basis);
        }
    }
    Findings {
        metrics: figures(&section.items, &section.basis),
        notices: page::notices(&section),
        section: Box::new(section),
        of_the_run: Vec::new(),
        compared: true,
    }
}

/// The scenarios of a configuration.
struct ScenariosToRun<'c> {
    config: &'c Config,
    settings: &'c ChecksSettings,
    scenarios: Scenarios,
    /// The indices of the scenarios that are run.
    places: Vec<usize>,
}

impl ScenariosToRun<'_> {
    fn chosen(&self) -> Vec<&Scenario> {
        let places = self.places.iter();
        places.map(|place| &self.scenarios.all[*place]).collect()
    }
}

impl Items for ScenariosToRun<'_> {
    fn ids(&self) -> Vec<&str> {
        let all = self.scenarios.all.iter();
        all.map(|scenario| scenario.id.as_str()).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        let mut notices = self.scenarios.notices.clone();
        notices.extend(script_notices(self.config.rules_root(), self.settings));
        notices
    }

    fn files(&self) -> Vec<PathBuf> {
        self.scenarios.files.clone()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let all = self.scenarios.all.iter();
        let fields = all.fold(Fields::of("kelvin/scenarios/v1"), |fields, scenario| {
            fields.field(&scenario.id, scenario.digest().bytes())
        });
        SectionFingerprint {
            items: Some(fields.digest()),
            command: Some(self.settings.program().digest(self.config)),
        }
    }

    fn services(&self) -> Vec<(String, Result<String, String>)> {
        let Ok(interrupt) = Interrupt::of_process() else {
            return Vec::new();
        };
        let services = self.settings.services.iter();
        let tried = services.filter_map(|(name, service)| {
            let said = service.attempt(name, &interrupt)?;
            let said = said.map_err(|trouble| match trouble {
                Trouble::Failed(why) | Trouble::Unreached(why) => {
                    self.settings.without_values(&why)
                }
                Trouble::TimedOut(time) => format!("no answer within {} s", time.as_secs_f64()),
                Trouble::Stopped => "it was not waited for".to_owned(),
            });
            Some((name.clone(), said))
        });
        tried.collect()
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let ids = self.scenarios.all.iter().map(|one| one.id.as_str());
        let chosen = ChosenItems::of(ids, only, shard);
        self.places = chosen.ours;
        chosen.all.len()
    }

    fn list(&self, _with_digests: bool) -> Listing {
        let mut listing = Listing::default();
        let runs = self.places.len() * self.settings.runs;
        listing.invocations.insert("scenario", runs);
        listing
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(PlannedScenarios {
            scenarios: self,
            reader: ScenarioReader {
                digest: self.settings.reader_digest(),
            },
        })
    }
}

/// The planned scenarios: everything is known that is needed to run them.
struct PlannedScenarios<'a> {
    scenarios: &'a ScenariosToRun<'a>,
    reader: ScenarioReader,
}

impl Planned for PlannedScenarios<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        let scenarios = Step {
            folder: None,
            program: self.scenarios.settings.program(),
            reader: &self.reader,
        };
        let judged = self.scenarios.settings.judged.iter();
        let judges = judged.flat_map(JudgedCheck::steps);
        std::iter::once(scenarios).chain(judges).collect()
    }

    /// Each scenario has a pipeline of its own, which remembers nothing of the others.
    fn stays(&self, step: usize) -> bool {
        step > 0 && self.steps()[step].program.target.stays()
    }

    /// Opens the pipeline in a workspace with the checks after it, or, in a later step, the target that a judge calls.
    fn open(&self, step: usize, site: &TargetSite) -> Result<Box<dyn Target + '_>, Misuse> {
        if step > 0 {
            return self.steps()[step].program.target.open(site);
        }
        let settings = self.scenarios.settings;
        let rules = match self.scenarios.config.other_rules() {
            Some(rules) => rules.to_path_buf(),
            None => site.root.clone(),
        };
        let files = settings.invariants.iter().flat_map(|one| &one.runs);
        Ok(Box::new(ScenarioTarget {
            settings,
            pipeline: settings.program().target.open(site)?,
            site: site.clone(),
            rule_files: RuleFiles::read(&rules, files),
            rules,
        }))
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let [pipeline, judges @ ..] = runners else {
            unreachable!("there is a runner for each step")
        };
        let settings = self.scenarios.settings;
        let scenarios = self.scenarios.chosen();
        let texts = scenarios
            .iter()
            .map(|one| (one.id.as_str(), one.text().into()));
        Box::new(ChecksAtWork {
            called: RepeatedItems::new(pipeline, "scenarios", settings.runs, texts),
            scenarios,
            settings,
            judging: Judging::new(&settings.judged, judges),
            fingerprint: self.scenarios.fingerprint(),
        })
    }
}

/// The probe while it runs.
struct ChecksAtWork<'a> {
    scenarios: Vec<&'a Scenario>,
    settings: &'a ChecksSettings,
    called: RepeatedItems<'a>,
    judging: Judging<'a>,
    fingerprint: SectionFingerprint,
}

impl Probe for ChecksAtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.called.run()?;
        self.judging.ask(&self.scenarios, &self.called)
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.called.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.called.repeat(wanted)?;
        self.judging.ask(&self.scenarios, &self.called)
    }

    fn findings(&self) -> Findings {
        findings(ChecksSection {
            ending: match self.judging.stopped() {
                true => Ending::Interrupted,
                false => self.called.ending(),
            },
            fingerprint: self.fingerprint,
            basis: self.settings.basis.clone(),
            items: measure::records(
                &self.scenarios,
                self.settings,
                (&self.called, &self.judging),
            )
            .into(),
        })
    }
}

/// Notices about the scripts, one for each. A missing script may still be created before the run.
fn script_notices(root: &Path, settings: &ChecksSettings) -> Vec<Notice> {
    let scripts = settings.invariants.iter();
    let scripts = scripts.filter_map(|one| Some((&one.name, one.script.as_deref()?)));
    let lame = scripts.filter(|(_, script)| is_lame(&root.join(script)));
    lame.map(|(name, script)| {
        // The path may contain the value of a variable.
        let script = settings.without_values(&script.display().to_string());
        let text = format!(
            "the invariant `{name}` runs `{script}`, which is not executable, so it will be an error in every \
             scenario; run `chmod +x {script}`, and commit that"
        );
        Notice::new(Code::own("check_errors"), text)
    })
    .collect()
}

/// Whether the path is a file that nobody may execute.
fn is_lame(path: &Path) -> bool {
    let data = std::fs::metadata(path);
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 == 0)
}
