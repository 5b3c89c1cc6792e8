//! Reads a file of scenarios, which has one in every line.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::scenario::Scenario;
use kelvin_base::decode::plain;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};

/// At most this many scenarios are named.
const NAMED: usize = 5;

/// Reads a file of scenarios. Where the rules come from another folder, a scenario with the same question there also
/// takes from there what is expected, its own invariants and its template.
///
/// # Errors
///
/// A [`Misuse`] with everything that is wrong with the file.
pub(super) fn read(
    (root, rules): (&Path, Option<&Path>),
    name: &str,
) -> Result<(Vec<Scenario>, Vec<Notice>), Misuse> {
    let mut scenarios = lines(&root.join(name), name)?;
    let notices = match rules {
        Some(rules) => expect_as(&mut scenarios, &lines(&rules.join(name), name)?),
        None => Vec::new(),
    };
    Ok((scenarios, notices))
}

/// Expects of a scenario what the rules expect of the scenario with the same name and question, in the same workspace.
/// Where the question differs, nobody can tell whether a different answer is right, and a notice says so.
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
    let more = match unknown.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    unknown.truncate(NAMED);
    let text = format!(
        "both what is asked and what is expected are others than before in {}{more}, so nobody can tell whether the \
         answers are as good as before",
        unknown.join(", ")
    );
    vec![Notice::new(Code::OtherQuestions, text)]
}

/// The scenarios of a file that has one in every line.
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
            Err(error) => {
                let text = plain(&error.to_string());
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
    match problems.is_empty() {
        true => Ok(scenarios),
        false => Err(Misuse::new(problems.join("\n"))
            .help("a scenario has the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`")
            .at(path, first_line)),
    }
}
