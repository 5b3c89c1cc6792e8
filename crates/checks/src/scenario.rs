//! A scenario: the task for the pipeline, and the expected result; also the file of scenarios, which has one per line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::interpolate;
use super::keys::Parameter;
use kelvin_base::decode;
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::and_more;
use kelvin_run::config::{Config, yaml};

/// One scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The name of the scenario, which is unique.
    pub(super) id: String,
    /// The task for the pipeline: the text of the case.
    #[serde(default)]
    pub(super) prompt: String,
    /// The parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) params: BTreeMap<String, Value>,
    /// The expected answer, for checks that compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<Value>,
    /// The invariants that apply only to this scenario, by name, as written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) invariants: BTreeMap<String, Value>,
    /// The folder from which its workspace is copied, instead of the common template of all scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) template: Option<String>,
    /// The line of the scenario in the file; 0 if it comes from no file.
    #[serde(skip)]
    pub(super) line: usize,
}

impl Scenario {
    /// A scenario that has only a task.
    pub(super) fn asking(id: String, prompt: String) -> Self {
        Self {
            id,
            prompt,
            ..Self::default()
        }
    }

    /// Whether another scenario has the same expected value, and the same checks for it.
    fn is_judged_as(&self, other: &Self) -> bool {
        self.expected == other.expected
            && self.invariants == other.invariants
            && self.template == other.template
    }

    /// Takes over the expected value and the checks of another scenario.
    fn judge_as(&mut self, other: &Self) {
        self.expected.clone_from(&other.expected);
        self.invariants.clone_from(&other.invariants);
        self.template.clone_from(&other.template);
    }

    /// The input of the wrapped call: the whole scenario.
    pub(super) fn text(&self) -> String {
        let text = serde_json::to_string(self).expect("every part of it is JSON");
        text + "\n"
    }

    /// The value of a variable such as `KELVIN_PARAM_USER`. Fails if the scenario has no such value.
    pub(super) fn field(&self, name: &str) -> Result<Value, String> {
        let found = match name {
            interpolate::ID => Some(self.id.as_str().into()),
            interpolate::PROMPT => Some(self.prompt.as_str().into()),
            interpolate::EXPECTED => self.expected.clone(),
            name => self
                .params
                .iter()
                .find(|(parameter, _)| interpolate::of_parameter(parameter) == name)
                .map(|(_, value)| value.clone()),
        };
        found.ok_or_else(|| match name.strip_prefix("KELVIN_PARAM_") {
            Some(parameter) => format!(
                "`${{{name}}}` stands for a parameter, and the scenario has no parameter `{}`",
                parameter.to_lowercase()
            ),
            None => {
                format!("`${{{name}}}` stands for what is `expected`, and the scenario has nothing")
            }
        })
    }

    /// The values of several names. Fails like [`field`](Self::field).
    pub(super) fn values(&self, names: &[String]) -> Result<Vec<Value>, String> {
        names.iter().map(|name| self.field(name)).collect()
    }

    /// The digest of the scenario.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// The scenario with the values of one combination of the matrix.
    pub(super) fn with(&self, combination: &[(&str, &Parameter)]) -> Self {
        let mut scenario = self.clone();
        if combination.is_empty() {
            return scenario;
        }
        let shown: Vec<String> = combination
            .iter()
            .map(|(name, value)| format!("{name}={}", plain(&value.to_json())))
            .collect();
        scenario.id = format!("{}[{}]", self.id, shown.join(","));
        for (name, value) in combination {
            scenario.params.insert((*name).to_owned(), value.to_json());
        }
        scenario
    }
}

/// A parameter in the form for an environment variable.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How many scenarios are named at most.
const NAMED: usize = 5;

/// How many lines of a file are told to be wrong.
const TOLD: usize = 10;

/// The file of scenarios in the folder of the rules, if the rules come from another folder than the items. A change may
/// have moved its own file, so the configuration in the folder of the rules says which file it is.
pub(super) fn of_the_rules(config: &Config, name: &str) -> Option<PathBuf> {
    let rules = config.other_rules()?;
    let there = fs::read_to_string(rules.join(config.file.file_name()?)).ok();
    let there = there.and_then(|text| yaml::parse(&text).ok());
    let named = match &there {
        Some(node) => node.text(&["scenarios"])?.0,
        None => name,
    };
    Some(rules.join(named))
}

/// Reads a file of scenarios. `rules` is the file of scenarios of other rules, if there is one: a scenario with the
/// same question in that file takes its expected value, its own invariants and its template from there. Fails with a
/// [`Misuse`] with everything that is wrong with the file.
pub(super) fn read_file(
    (root, rules): (&Path, Option<&Path>),
    name: &str,
) -> Result<(Vec<Scenario>, Vec<Notice>), Misuse> {
    let mut scenarios = lines(&root.join(name), name)?;
    let notices = match rules {
        Some(rules) => expect_as(&mut scenarios, &lines(rules, name)?),
        None => Vec::new(),
    };
    Ok((scenarios, notices))
}

/// Takes the expectations for each scenario from the rules, i.e. from the scenario with the same name, task and
/// workspace. If the task differs, it is not known whether a different answer is right, and a notice says so.
fn expect_as(scenarios: &mut [Scenario], rules: &[Scenario]) -> Vec<Notice> {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let mut unknown = Vec::new();
    for scenario in scenarios {
        let Some(before) = rules.iter().find(|one| one.id == scenario.id) else {
            continue;
        };
        if before.is_judged_as(scenario) {
            continue;
        }
        let is_same =
            words(&before.prompt) == words(&scenario.prompt) && before.params == scenario.params;
        match is_same {
            true => scenario.judge_as(before),
            false => unknown.push(format!("`{}`", scenario.id)),
        }
    }
    if unknown.is_empty() {
        return Vec::new();
    }
    let more = and_more(unknown.len().saturating_sub(NAMED));
    unknown.truncate(NAMED);
    let text = format!(
        "both what is asked and what is expected are others than before in {}{more}, so nobody can tell whether the \
         answers are as good as before",
        unknown.join(", ")
    );
    vec![Notice::new(Code::OtherQuestions, text)]
}

/// The scenarios of a file that has one per line.
fn lines(path: &Path, name: &str) -> Result<Vec<Scenario>, Misuse> {
    let text = fs::read_to_string(path).map_err(|error| {
        Misuse::new(format!("`scenarios: {name}` cannot be read: {error}"))
            .help("name a file with one JSON object in every line, relative to the configuration")
    })?;
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut problems = Vec::new();
    let mut first_line = 0;
    let mut seen = BTreeSet::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let mut refuse = |column: usize, what: String| {
            if problems.is_empty() {
                first_line = at + 1;
            }
            problems.push(format!("{name}:{}:{column}: {what}", at + 1));
        };
        match serde_json::from_str::<Scenario>(line) {
            // A list in YAML, for one, has no line for which the reason of the JSON reader would help.
            Err(_) if !line.trim_start().starts_with('{') => {
                refuse(1, "the line is no JSON object".to_owned());
            }
            Err(error) => {
                let text = decode::plain(&error.to_string());
                let text = text.split(" at line ").next().unwrap_or_default();
                refuse(error.column(), text.to_owned());
            }
            Ok(scenario) if scenario.id.trim().is_empty() => {
                refuse(1, "the `id` must not be empty".to_owned());
            }
            Ok(scenario) if !seen.insert(scenario.id.clone()) => {
                refuse(1, format!("the id `{}` is there twice", scenario.id));
            }
            Ok(scenario) => scenarios.push(Scenario {
                line: at + 1,
                ..scenario
            }),
        }
    }
    if problems.is_empty() && scenarios.is_empty() {
        return Err(Misuse::new(format!("`{name}` has no scenario"))
            .help("write one JSON object a line, e.g. `{\"id\": \"refund\", \"prompt\": \"…\"}`"));
    }
    if problems.is_empty() {
        return Ok(scenarios);
    }
    let more = problems.len().saturating_sub(TOLD);
    problems.truncate(TOLD);
    if more > 0 {
        problems.push(format!("and {more} more lines of `{name}`"));
    }
    Err(Misuse::new(problems.join("\n"))
        .help(
            "every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` \
             and `template`; what else your checks need goes under `params`",
        )
        .at(path, first_line))
}
