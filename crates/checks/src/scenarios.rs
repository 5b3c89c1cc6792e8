//! The scenarios of a configuration: its cases, the lines of a file, or the run itself, combined with the matrix.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::config::{ChecksSettings, ScenarioSource};
use super::keys::Parameter;
use super::scenario::Scenario;
use super::{interpolate, scenario};
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{have, listed};
use kelvin_probe::case_files;

/// The name of the only scenario if a configuration names neither cases nor scenarios.
const ALONE: &str = "run";

/// How many scenarios are named at most.
const NAMED: usize = 5;

/// All scenarios of a configuration.
#[derive(Debug)]
pub(super) struct Scenarios {
    /// Sorted by id.
    pub(super) all: Vec<Scenario>,
    /// The files from which the scenarios were read.
    pub(super) files: Vec<PathBuf>,
    /// Notices from reading them.
    pub(super) notices: Vec<Notice>,
}

/// Reads the scenarios that a configuration in a folder names. `rules` is the file of scenarios of other rules, if
/// there is one: a scenario with the same question in that file takes its expected value from there. Fails with a
/// [`Misuse`] with everything that is wrong with them.
pub(super) fn read(
    (root, rules): (&Path, Option<&Path>),
    settings: &ChecksSettings,
) -> anyhow::Result<Scenarios> {
    let (plain, files, notices) = match &settings.source {
        ScenarioSource::Alone => {
            let scenario = Scenario::asking(ALONE.to_owned(), String::new());
            (vec![scenario], Vec::new(), Vec::new())
        }
        ScenarioSource::Cases(cases) => {
            let (texts, notices) = case_files::texts(root, cases)?;
            let files = texts.iter().map(|case| root.join(&*case.file)).collect();
            let scenario =
                |case: case_files::CaseText| Scenario::asking(case.name.to_string(), case.text);
            (texts.into_iter().map(scenario).collect(), files, notices)
        }
        ScenarioSource::File(name) => {
            let (scenarios, notices) = scenario::read_file((root, rules), name)?;
            (scenarios, vec![root.join(name)], notices)
        }
    };
    clashes(&plain, settings)?;
    let combinations = combinations(&settings.matrix);
    let mut all: Vec<Scenario> = plain
        .iter()
        .flat_map(|scenario| combinations.iter().map(|these| scenario.with(these)))
        .collect();
    all.sort_by(|one, other| one.id.cmp(&other.id));
    // With the rules of the base, a scenario of the head may lack a field that a check needs: then that check is an
    // error, and the configuration itself is right.
    if rules.is_none() {
        same_variables(&all)?;
        suits(&all, settings, root)?;
    }
    let mut notices = notices;
    notices.extend(expecting_nothing(&all, settings));
    Ok(Scenarios {
        all,
        files,
        notices,
    })
}

/// Fails if two parameters of a scenario become the same variable: the pipeline would see one, and a check the other.
fn same_variables(all: &[Scenario]) -> Result<(), Misuse> {
    for scenario in all {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for name in scenario.params.keys() {
            let variable = interpolate::of_parameter(name);
            if let Some(other) = seen.insert(variable.clone(), name) {
                let id = &scenario.id;
                return Err(Misuse::new(format!(
                    "the parameters `{other}` and `{name}` of the scenario `{id}` have the same variable, `{variable}`"
                ))
                .help("give one of them another name"));
            }
        }
    }
    Ok(())
}

/// Fails if a scenario lacks a field, or has a value that a check cannot use.
fn suits(all: &[Scenario], settings: &ChecksSettings, rules: &Path) -> Result<(), Misuse> {
    let mut problems = Vec::new();
    for scenario in all {
        let mut refuse = |place: String, said: Result<(), String>| {
            if let Err(what) = said {
                let id = &scenario.id;
                problems.push(format!(
                    "`{place}` does not suit the scenario `{id}`: {what}"
                ));
            }
        };
        for invariant in settings.invariants_of(scenario) {
            let place = format!("invariants.{}.check", invariant.name);
            refuse(place, invariant.check.suits(scenario));
        }
        for (name, service) in &settings.services {
            refuse(format!("services.{name}.init"), service.suits(scenario));
        }
        let is_own = scenario.template.is_some();
        let template = settings.template_of(scenario);
        // The folder for all scenarios was already checked.
        if let Some(template) = template.filter(|one| is_own || one.has_fields()) {
            let place = if is_own {
                "template"
            } else {
                "workspace.template"
            };
            refuse(place.to_owned(), template.suits(scenario, rules));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    let more = problems.len().saturating_sub(NAMED);
    problems.truncate(NAMED);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    let help = "give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own";
    Err(Misuse::new(problems.join("\n")).help(help))
}

/// Warns of scenarios to which a check does not apply because they have no expected value although others have one:
/// this is often a mistake.
fn expecting_nothing(all: &[Scenario], settings: &ChecksSettings) -> Option<Notice> {
    let comparing = settings
        .invariants
        .iter()
        .filter(|one| one.compares.is_some() && one.own.is_none());
    let comparing: Vec<String> = comparing.map(|one| format!("`{}`", one.name)).collect();
    let without = all.iter().filter(|scenario| scenario.expected.is_none());
    let without: Vec<&str> = without.map(|scenario| scenario.id.as_str()).collect();
    if comparing.is_empty() || without.is_empty() {
        return None;
    }
    let text = format!(
        "{} of {} scenarios {} no `expected`, so {} does not apply there: {}",
        without.len(),
        all.len(),
        have(without.len()),
        comparing.join(", "),
        listed(&without)
    );
    Some(Notice::new(Code::own("nothing_expected"), text))
}

/// Every combination of the values of a matrix; without a matrix, a single empty one.
fn combinations(matrix: &BTreeMap<String, Vec<Parameter>>) -> Vec<Vec<(&str, &Parameter)>> {
    let mut combinations = vec![Vec::new()];
    for (name, values) in matrix {
        combinations = combinations
            .iter()
            .flat_map(|so_far| {
                values.iter().map(move |value| {
                    let mut more: Vec<(&str, &Parameter)> = so_far.clone();
                    more.push((name, value));
                    more
                })
            })
            .collect();
    }
    combinations
}

/// Fails if a parameter is in both a scenario and the matrix.
fn clashes(scenarios: &[Scenario], settings: &ChecksSettings) -> Result<(), Misuse> {
    for scenario in scenarios {
        let own = scenario.params.keys();
        let mut both = own.filter(|name| settings.matrix.contains_key(*name));
        if let Some(name) = both.next() {
            return Err(Misuse::new(format!(
                "the scenario `{}` has the parameter `{name}`, which `matrix` has too",
                scenario.id
            ))
            .help("give it in one of the two places"));
        }
    }
    Ok(())
}
