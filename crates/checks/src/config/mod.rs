//! The settings of this probe in their checked form, made from the keys that it owns in `kelvin.yaml`.

mod check;
mod nodes;
mod own;
mod services;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobSet};
use schemars::Schema;
use serde_json::{Map, Value};

use super::forbidden::{self, Forbidden};
use super::judging::JudgedCheck;
use super::keys::{self, CheckKeys, ChecksKeys, LlmAsJudgeKeys, Parameter};
use super::own_check::{InvariantCheck, OwnCheck};
use super::record::{ChecksBasis, InvariantBasis, JudgeBasis};
use super::scenario::Scenario;
use super::services::Service;
use super::template::WorkspaceTemplate;
use super::{ChecksKind, interpolate, kinds, rule_files};
use kelvin_base::digest::{Digest, Fields};
use kelvin_run::config::{Config, Configure, Part, ProbeSettings, Problem, Slip};
use kelvin_run::judge::JudgeSettings;
use kelvin_run::targets::Address;
use kelvin_run::{Program, config};

/// Shorter values occur in too many texts by accident.
const SHORTEST_VALUE: usize = 4;

/// The settings that this probe needs, checked before the run.
#[derive(Debug)]
pub(crate) struct ChecksSettings {
    /// The address of the pipeline.
    pub(super) run: Address,
    /// The source of the scenarios.
    pub(super) source: ScenarioSource,
    /// The parameters whose combinations are applied to every scenario.
    pub(super) matrix: BTreeMap<String, Vec<Parameter>>,
    /// The folder from which every workspace is copied, relative to the root.
    pub(super) template: Option<WorkspaceTemplate>,
    /// The templates of single scenarios, by their text in the file.
    templates: BTreeMap<String, WorkspaceTemplate>,
    /// The invariants, i.e. the conditions that must hold; first those of all scenarios.
    pub(super) invariants: Vec<Invariant>,
    /// The invariants that a judge grades.
    pub(super) judged: Vec<JudgedCheck>,
    /// The settings besides the records from which the figures are computed.
    pub(super) basis: ChecksBasis,
    /// How often every scenario is run: more often than there are replicas if the scenario belongs to a base.
    pub(super) runs: usize,
    /// The services that scenarios use besides their workspace, by name.
    pub(super) services: BTreeMap<String, Box<dyn Service>>,
    /// The rules about actions that are forbidden in every scenario.
    pub(super) forbidden: Forbidden,
    /// The values that replace `${NAME}`, by name.
    values: BTreeMap<String, String>,
    /// The command lines that the checks and services run.
    commands: Vec<String>,
    /// The files that define what is measured.
    files: Vec<(&'static str, PathBuf)>,
    /// The keys that define what is measured, in the form of the file, with defaults.
    written: Map<String, Value>,
    /// The digest of everything in the services on which the answer of a scenario depends.
    of_services: Digest,
}

/// The source of scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScenarioSource {
    /// A folder of cases, or a glob.
    Cases(String),
    /// A file with one scenario in every line.
    File(String),
    /// There is one scenario, which is the run itself.
    Alone,
}

/// One condition that must hold.
#[derive(Debug)]
pub(super) struct Invariant {
    /// Its name.
    pub(super) name: String,
    /// The text of the invariant in the scenarios that define it; none if it applies to all scenarios.
    pub(super) own: Option<Value>,
    /// The check that tests it.
    pub(super) check: InvariantCheck,
    /// The key of the value for the comparison, if the scenario's `expected` is used as this value.
    pub(super) compares: Option<&'static str>,
    /// Whether the opposite must hold.
    pub(super) is_negated: bool,
    /// The script that the check runs, relative to the root, if it runs one.
    pub(super) script: Option<PathBuf>,
    /// The files that the check runs or names, relative to the root.
    pub(super) runs: BTreeSet<PathBuf>,
}

impl ChecksSettings {
    /// The program that a runner calls for the scenarios.
    pub(super) fn program(&self) -> Program<'_> {
        Program {
            turns: None,
            target: &self.run,
            decision_field: "",
            input_name: "scenario.json",
            inputs: match &self.source {
                ScenarioSource::Cases(cases) => cases,
                ScenarioSource::File(file) => file,
                ScenarioSource::Alone => "",
            },
        }
    }

    /// The digest of all data on which the answer of a scenario depends besides the scenario and the code: the checks
    /// and the values of their variables.
    pub(super) fn reader_digest(&self) -> Digest {
        let fields = Fields::of("kelvin/reader/checks/v2")
            .field("checks", looked_at(&self.written).to_string());
        let fields = match self.services.is_empty() {
            true => fields,
            false => fields.field("services", self.of_services.bytes()),
        };
        let values = self.values.iter();
        let fields = values.fold(fields, |fields, (name, value)| fields.field(name, value));
        fields.digest()
    }

    /// The invariants that apply to a scenario: those of all scenarios, and its own.
    pub(super) fn invariants_of(&self, scenario: &Scenario) -> impl Iterator<Item = &Invariant> {
        self.invariants.iter().filter(|invariant| {
            let own = invariant.own.as_ref();
            own.is_none_or(|own| scenario.invariants.get(&invariant.name) == Some(own))
        })
    }

    /// The template of the workspace of a scenario: its own, otherwise the common one; none if neither is set.
    pub(super) fn template_of(&self, scenario: &Scenario) -> Option<&WorkspaceTemplate> {
        match &scenario.template {
            Some(own) => self.templates.get(own),
            None => self.template.as_ref(),
        }
    }

    /// A text in which the values of variables are replaced by their names.
    pub(super) fn without_values(&self, text: &str) -> String {
        let long = self.values.iter();
        let long = long.filter(|(_, value)| value.len() >= SHORTEST_VALUE);
        long.fold(text.to_owned(), |text, (name, value)| {
            text.replace(value.as_str(), &format!("${{{name}}}"))
        })
    }
}

impl Configure for ChecksKind {
    fn required(&self) -> &'static [&'static str] {
        &keys::REQUIRED
    }

    fn marks(&self) -> &'static [&'static str] {
        &keys::OWN
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<ChecksKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        check::problems(part)
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        check::hint(slip)
    }

    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        if !part.is_configured {
            return Ok(None);
        }
        let keys: ChecksKeys = part.read()?;
        in_the_folder(part, config, &keys)?;
        let mut written = serde_json::to_value(ChecksKeys {
            services: services::without_places(&keys.services),
            ..keys.clone()
        })?;
        let written = written
            .as_object_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let mut values = BTreeMap::new();
        let mut invariants = Vec::new();
        let mut judged = Vec::new();
        let mut files: Vec<(&'static str, PathBuf)> = Vec::new();
        let mut commands = services::commands(&keys.services);
        let declared = services::declared(&keys.services);
        let services = services::settle(part, config, &keys.services, &mut values)?;
        files.extend(services.files);
        let own = own::read(config, &keys, &declared)?;
        let shared = keys.invariants.iter();
        let each = shared
            .map(|(name, invariant)| (name, None, invariant))
            .chain(
                own.invariants
                    .iter()
                    .map(|one| (&one.name, Some(&one.written), &one.keys)),
            );
        let mut bases: BTreeMap<String, InvariantBasis> = BTreeMap::new();
        for (name, written, invariant) in each {
            let check = serde_json::to_value(&invariant.check)?;
            let filled = interpolate::filled(&check, &interpolate::of_environment, &mut values);
            let filled: CheckKeys = serde_json::from_value(filled)?;
            let refused = |(_, what): (&str, String)| part.misuse(Problem::new(0..0, what));
            let looking = match OwnCheck::of(&check, &values, &declared) {
                Some(own) => InvariantCheck::Own(own),
                None => {
                    let opened = kinds::open(&invariant.check, &filled, &declared);
                    InvariantCheck::Shared(opened.map_err(refused)?)
                }
            };
            let script = match &filled {
                CheckKeys::Custom(custom) => Some(PathBuf::from(&custom.script)),
                _ => None,
            };
            files.extend(script.clone().map(|script| ("script of a check", script)));
            let mut runs: BTreeSet<PathBuf> = script.clone().into_iter().collect();
            if let CheckKeys::CommandExit(keys) = &filled {
                commands.push(keys.command.clone());
                runs.extend(rule_files::named(&keys.command));
            }
            if let CheckKeys::LlmAsJudge(keys) = &filled {
                judged.push(judge(part, config, name, keys)?);
            }
            let judge = judged.iter().find(|check| check.name == *name);
            let basis = InvariantBasis {
                description: invariant.description.trim().to_owned(),
                weight: invariant.weight,
                gate: invariant.gate,
                own: written.is_some(),
                judge: judge.map(|check| JudgeBasis {
                    grader_id: check.judge.grader_id(),
                    pass_threshold: check.pass_threshold,
                    max_errors: check.max_errors,
                }),
            };
            bases.entry(name.clone()).or_insert(basis);
            invariants.push(Invariant {
                name: name.clone(),
                own: written.cloned(),
                check: looking,
                compares: filled.compares_with_expected(),
                is_negated: filled.is_negated(),
                script,
                runs,
            });
        }
        let template = keys.workspace.template.as_deref().map(|written| {
            let at = part.node.place(&["workspace", "template"]);
            let refused = |what| part.misuse(Problem::new(at, what));
            WorkspaceTemplate::of(written).map_err(refused)
        });
        let run = config.reach(keys.run)?;
        if !run.has_workplaces() {
            let at = part.node.place(&["run"]);
            let what =
                "only a command has a workspace of its own for a scenario, and invariants need one";
            let problem = Problem::new(at, what).help("write a command line under `run`");
            return Err(part.misuse(problem).into());
        }
        let source = match (keys.scenarios, keys.cases) {
            (Some(file), _) => {
                files.push(("scenarios", PathBuf::from(&file)));
                ScenarioSource::File(file)
            }
            (None, cases) if cases.is_empty() => ScenarioSource::Alone,
            (None, cases) => ScenarioSource::Cases(cases),
        };
        let replicas = keys.scoring.replicas.unwrap_or(config.replicas.get());
        let denied = keys.forbidden.secrets_in_logs;
        let secrets = denied.map(|_| forbidden::secrets(environment(), &values));
        Ok(Some(Arc::new(ChecksSettings {
            run,
            source,
            matrix: keys.matrix,
            template: template.transpose()?,
            templates: own.templates,
            basis: ChecksBasis {
                invariants: bases,
                pass_threshold: keys.scoring.pass_threshold,
                gate_strict: keys.scoring.gate_strict,
                replicas,
                replica_aggregation: keys.scoring.replica_aggregation,
            },
            // A base is run more often, but the verdict on a scenario is based on equally many runs of base and change.
            runs: match config.repeats > config.replicas {
                true => replicas.max(config.repeats.get()),
                false => replicas,
            },
            invariants,
            services: services.all,
            of_services: services.digest,
            judged,
            forbidden: Forbidden {
                writable: keys
                    .forbidden
                    .file_writes_outside
                    .as_deref()
                    .map(globs)
                    .transpose()?,
                secrets,
            },
            values,
            commands,
            files,
            written: without(written, &["run", "cases"]),
        })))
    }
}

/// The judge of an invariant.
fn judge(
    part: &Part<'_>,
    config: &Config,
    name: &str,
    keys: &LlmAsJudgeKeys,
) -> anyhow::Result<JudgedCheck> {
    let refused = |what: String| {
        let at = part.node.place(&["invariants", name, "check"]);
        part.misuse(Problem::new(at, what))
    };
    let settings = keys.settings().map_err(|(_, what)| refused(what))?;
    Ok(JudgedCheck {
        name: name.to_owned(),
        judge: settings.open(config).map_err(refused)?,
        settings,
        pass_threshold: keys.pass_threshold,
        max_errors: keys.max_errors,
        is_negated: keys.not,
    })
}

/// The keys as written, without those that concern only judges. The text that a scenario leaves for a judge does not
/// depend on them, so with another judge, or other criteria, no scenario has to be run again.
fn looked_at(written: &Map<String, Value>) -> Value {
    let mut looked_at = Value::Object(written.clone());
    let invariants = looked_at
        .get_mut("invariants")
        .and_then(Value::as_object_mut);
    for invariant in invariants.into_iter().flat_map(Map::values_mut) {
        let check = invariant.get_mut("check").and_then(Value::as_object_mut);
        if let Some(check) = check.filter(|check| check["type"] == "llm_as_judge") {
            check.retain(|key, _| ["type", "input_from"].contains(&key.as_str()));
        }
    }
    looked_at
}

fn without(mut entries: Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    entries.retain(|key, _| !keys.contains(&key.as_str()));
    entries
}

fn globs(texts: &[String]) -> anyhow::Result<GlobSet> {
    let mut globs = GlobSet::builder();
    for text in texts {
        globs.add(Glob::new(text)?);
    }
    Ok(globs.build()?)
}

/// The variables of this process whose values are valid text.
fn environment() -> impl Iterator<Item = (String, String)> {
    let variables = std::env::vars_os();
    variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Reports problems that depend on the folder of the configuration, or on its other keys.
fn in_the_folder(part: &Part<'_>, config: &Config, keys: &ChecksKeys) -> anyhow::Result<()> {
    let refuse = |path: &[&str], what: String, help: &str| {
        let problem = Problem::new(part.node.place(path), what).help(help);
        Err(part.misuse(problem).into())
    };
    if let Some(template) = &keys.workspace.template
        && WorkspaceTemplate::of(template).is_ok_and(|template| !template.has_fields())
        && !config.rules_root().join(template).is_dir()
    {
        let what = format!("the template of the workspace, `{template}`, is no folder");
        let help =
            "name a folder, relative to the configuration, that is copied for every scenario";
        return refuse(&["workspace", "template"], what, help);
    }
    for (name, invariant) in &keys.invariants {
        if let Some(key) = invariant.check.compares_with_expected()
            && let Some((found, help)) = nothing_expected(config, keys)
        {
            let what = format!(
                "the check of `{name}` has nothing to compare with: it has no `{key}`, and {found}"
            );
            let exists = match invariant.check {
                CheckKeys::JsonPath(_) => ", or `exists: true` where any value will do",
                _ => "",
            };
            let help = format!("add `{key}: …`{exists}, or {help}");
            return refuse(&["invariants", name, "check"], what, &help);
        }
        if let CheckKeys::CommandExit(check) = &invariant.check
            && let Some((_, after)) = check.command.split_once("{root}/")
        {
            let path = ["invariants", name, "check", "command"];
            let what = "`{root}` has no value in the command of a check, which a shell reads";
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
            let file: String = after.chars().take_while(|c| is_plain(*c)).collect();
            let help = format!("write `\"$KELVIN_ROOT/{file}\"`, which is the same folder");
            return refuse(&path, what.to_owned(), &help);
        }
        if let CheckKeys::Custom(custom) = &invariant.check {
            let path = ["invariants", name, "check", "script"];
            let script = &custom.script;
            let is_there = config.rules_root().join(script).is_file();
            if interpolate::names(script).next().is_none() && !is_there {
                let what = format!("the script `{script}` is not there");
                let help = "a script is named relative to the folder of the configuration";
                return refuse(&path, what, help);
            }
        }
    }
    let shares = config.configures("evidence");
    let run = keys.run.text();
    if shares && run.contains("{workspace}") {
        let what =
            "`run` has `{workspace}`, and the evidence probe, which is configured too, has none";
        let help = "leave it out: a scenario begins in its workspace";
        return refuse(&["run"], what.to_owned(), help);
    }
    if keys.scenarios.is_some() && !keys.cases.is_empty() && !shares {
        let what = "`scenarios` takes the place of `cases`, which nothing uses then".to_owned();
        return refuse(&["cases"], what, "leave one of the two out");
    }
    let template = keys.workspace.template.as_ref();
    let template = template.map(|template| config.rules_root().join(template));
    if let Some(script) = misplaced(&run, &config.root, template.as_deref()) {
        let what = format!(
            "`{script}` stands beside the configuration, and a scenario begins in its workspace"
        );
        let help = format!("write `{{root}}/{script}`");
        return refuse(&["run"], what, &help);
    }
    Ok(())
}

/// The problem that no scenario has an `expected` value, with advice on how to add one. None if a scenario has one, or
/// if the scenarios cannot be read, which is reported when they are read.
fn nothing_expected(config: &Config, keys: &ChecksKeys) -> Option<(String, &'static str)> {
    let Some(file) = &keys.scenarios else {
        let found = match keys.cases.is_empty() {
            true => "there is no scenario that could expect something",
            false => "scenarios that are cases expect nothing",
        };
        return Some((
            found.to_owned(),
            "write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`",
        ));
    };
    let text = std::fs::read_to_string(config.root.join(file)).ok()?;
    let expects = |line: &str| {
        let line: Option<Value> = serde_json::from_str(line).ok();
        // A line that cannot be read may contain an expected value.
        line.is_none_or(|line| !line["expected"].is_null())
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let none = !lines.any(expects);
    none.then(|| {
        (
            format!("no scenario of `{file}` has an `expected`"),
            "give the scenarios an `expected`",
        )
    })
}

/// The file that a command should run but that is missing in the workspace, although the folder of the configuration
/// has it. Only the plain form `python3 agent.py …` is checked; with any other form the first run shows it.
fn misplaced(run: &str, root: &Path, template: Option<&Path>) -> Option<String> {
    let mut words = run.split_whitespace();
    let _program = words.next()?;
    let script = words.next()?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let is_relative = !script.starts_with(['/', '-']) && script.chars().all(is_plain);
    let is_copied = template.is_some_and(|template| template.join(script).is_file());
    (is_relative && root.join(script).is_file() && !is_copied).then(|| script.to_owned())
}

impl ProbeSettings for ChecksSettings {
    /// Adds to the fields of the digest the checks, how they are scored, and the parameters with which scenarios are
    /// run.
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("checks", Value::Object(self.written.clone()).to_string())
    }

    fn as_data(&self) -> Map<String, Value> {
        self.written.clone()
    }

    fn files(&self) -> Vec<(&'static str, &Path)> {
        let files = self.files.iter();
        files.map(|(what, path)| (*what, path.as_path())).collect()
    }

    fn folders(&self) -> Vec<(&'static str, &Path)> {
        let templates = self.template.iter().chain(self.templates.values());
        templates
            .map(|template| ("template of the workspace", template.measured()))
            .collect()
    }

    fn commands(&self) -> Vec<&str> {
        self.commands.iter().map(String::as_str).collect()
    }

    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        let judged = self.judged.iter();
        judged
            .map(|check| (format!("invariants.{}", check.name), &check.settings))
            .collect()
    }

    /// Programs, not judges, make the other checks, but the figures over all checks depend on every check.
    fn is_graded(&self, place: &str, metric: &str) -> bool {
        let own = place.strip_prefix("invariants.").unwrap_or(place);
        match metric.strip_prefix("checks.") {
            Some(name) => name == own || ["composite", "pass_rate"].contains(&name),
            None => false,
        }
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}
