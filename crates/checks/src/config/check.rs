//! Finds problems with the keys of this probe that the schema cannot express, and gives advice about common mistakes.

use std::ops::Range;

use super::nodes::{ScenarioFields, unset};
use super::services;
use crate::keys::{Aggregation, CheckKeys};
use crate::services::DeclaredServices;
use crate::{figures, interpolate, kinds, own_check};
use kelvin_run::config::yaml::{Content, Node};
use kelvin_run::config::{Part, Problem, Slip};

/// A `matrix` with more combinations than this is a mistake.
const MOST_COMBINATIONS: usize = 10_000;

/// All problems of the values. Values of a wrong type are skipped.
pub(super) fn problems(part: &Part<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    if !part.is_configured {
        return found;
    }
    let node = &part.node;
    if let Some((run, at)) = node.text(&["run"])
        && run.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
    {
        let what = "the command holds a control character";
        found.push(Problem::new(at.clone(), what));
    }
    services::problems(node, &mut found);
    invariants(node, &mut found);
    scoring(node, &mut found);
    matrix(node, &mut found);
    writable(node, &mut found);
    found
}

fn invariants(node: &Node, found: &mut Vec<Problem>) {
    let Some(section) = node.get(&["invariants"]) else {
        return;
    };
    let invariants = node.entries(&["invariants"]);
    if invariants.is_empty() && matches!(section.content, Content::Map(_)) {
        found.push(
            Problem::new(section.at.clone(), "there is no invariant in `invariants`").help(
                "add one, e.g. `made: {description: …, check: {type: file_exists, path: …}}`",
            ),
        );
    }
    let declared = services::declared_in(node);
    let mut weights = Some(0.0);
    for (key, invariant) in invariants {
        named(&key.text, &key.at, found);
        one(invariant, &declared, found);
        let weight = match invariant.get(&["weight"]).map(|node| node.to_json()) {
            None => Some(1.0),
            Some(weight) => weight.as_f64(),
        };
        weights = weights.zip(weight).map(|(sum, weight)| sum + weight);
    }
    if weights == Some(0.0) && !invariants.is_empty() {
        found.push(
            Problem::new(
                section.at.clone(),
                "the weights of all invariants add up to 0",
            )
            .help("give at least one of them a `weight` above 0"),
        );
    }
}

/// Reports the problems in the keys of one invariant.
pub(super) fn one(invariant: &Node, services: &DeclaredServices, found: &mut Vec<Problem>) {
    if let Some((text, at)) = invariant.text(&["description"])
        && text.trim().is_empty()
    {
        found.push(Problem::new(
            at.clone(),
            "the description must not be empty",
        ));
    }
    if let Some(check) = invariant.get(&["check"]) {
        look(check, services, found);
    }
}

/// Checks the name of an invariant, which is part of the id of a metric.
pub(super) fn named(name: &str, at: &Range<usize>, found: &mut Vec<Problem>) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || !name.chars().all(is_plain) {
        let what = format!("`{name}` is no name of an invariant");
        let plain: String = name
            .chars()
            .map(|c| if is_plain(c) { c } else { '_' })
            .collect();
        found.push(Problem::new(at.clone(), what).help(format!(
            "a name has letters, digits, `_` and `-`, e.g. `{plain}`: it is a part of `checks.NAME`"
        )));
    } else if figures::RESERVED.contains(&name) {
        let what = format!("`checks.{name}` is a figure of all checks, not the name of one");
        found.push(Problem::new(at.clone(), what).help("give the invariant another name"));
    }
}

/// Reports the problems of a check: its variables, then everything that can be seen when it is opened.
fn look(check: &Node, services: &DeclaredServices, found: &mut Vec<Problem>) {
    let before = found.len();
    unset(check, ScenarioFields::Allowed, found);
    if let Some((script, at)) = check.text(&["script"])
        && interpolate::names(script).any(interpolate::is_field)
    {
        let what =
            "a script is the same for all scenarios: it is told their fields, and none may name it";
        let help = "name one script, which reads `scenario_params` from its standard input";
        found.push(Problem::new(at.clone(), what).help(help));
    }
    if found.len() > before {
        return;
    }
    let written = check.to_json();
    // The requirement of this check depends on the scenario, so it is tested with every scenario when the scenarios are
    // read.
    if own_check::has_fields(&written) {
        return;
    }
    let mut used = std::collections::BTreeMap::new();
    let filled = interpolate::filled(&written, &interpolate::of_environment, &mut used);
    let keys = |value| serde_json::from_value::<CheckKeys>(value);
    let (Ok(written), Ok(filled)) = (keys(written), keys(filled)) else {
        return;
    };
    if let Err((key, what)) = kinds::open(&written, &filled, services) {
        let at = match key {
            "" => check,
            key => check.get(&[key]).unwrap_or(check),
        };
        found.push(Problem::new(at.at.clone(), what));
    }
}

fn scoring(node: &Node, found: &mut Vec<Problem>) {
    let path = |key| ["scoring", key];
    let value = |key: &str| node.get(&["scoring", key]).map(|node| node.to_json());
    let Some(aggregation) = node.get(&path("replica_aggregation")) else {
        return;
    };
    let replicas = value("replicas").or_else(|| node.get(&["repeats"]).map(|node| node.to_json()));
    let replicas = replicas.and_then(|replicas| replicas.as_u64());
    match serde_json::from_value(aggregation.to_json()) {
        Ok(Aggregation::AtLeast(needed)) if replicas.is_some_and(|all| (needed as u64) > all) => {
            let all = replicas.unwrap_or_default();
            let what = format!("`at_least: {needed}` can never be reached by {all} replicas");
            found.push(Problem::new(aggregation.at.clone(), what));
        }
        Ok(Aggregation::Mean) if value("pass_threshold").is_none() => {
            let what = "`mean` compares with `pass_threshold`, which is not there";
            let problem = Problem::new(aggregation.at.clone(), what);
            found.push(problem.help("add `pass_threshold`, e.g. `pass_threshold: 0.85`"));
        }
        _ => {}
    }
}

fn matrix(node: &Node, found: &mut Vec<Problem>) {
    let mut combinations = 1_usize;
    for (key, values) in node.entries(&["matrix"]) {
        if !interpolate::is_name(&key.text) {
            let what = format!("`{}` is no name of a parameter", key.text);
            found.push(Problem::new(key.at.clone(), what).help(
                "a name has letters, digits and `_`: the pipeline sees it as `KELVIN_PARAM_NAME`",
            ));
        }
        let Content::List(items) = &values.content else {
            continue;
        };
        if items.is_empty() {
            let what = format!("the parameter `{}` has no value", key.text);
            found.push(Problem::new(values.at.clone(), what));
        }
        combinations = combinations.saturating_mul(items.len().max(1));
        let mut seen = std::collections::BTreeSet::new();
        for item in items {
            let shown = crate::scenario::plain(&item.to_json());
            if !seen.insert(shown.clone()) {
                let what = format!("the value `{shown}` of `{}` is there twice", key.text);
                found.push(Problem::new(item.at.clone(), what).help("leave one of them out"));
            }
        }
    }
    if combinations > MOST_COMBINATIONS
        && let Some(matrix) = node.get(&["matrix"])
    {
        let what = format!("the matrix has more than {MOST_COMBINATIONS} combinations");
        found.push(Problem::new(matrix.at.clone(), what));
    }
}

fn writable(node: &Node, found: &mut Vec<Problem>) {
    for (glob, at) in node.texts(&["forbidden", "file_writes_outside"]) {
        if let Err(error) = globset::Glob::new(glob) {
            let what = format!("`{glob}` is not a glob: {}", error.kind());
            found.push(Problem::new(at.clone(), what));
        }
    }
}

/// Advice about a mistake.
pub(super) fn hint(slip: &Slip<'_>) -> Option<String> {
    match slip {
        Slip::UnknownKey("db_writes_outside") => Some(
            "not supported: ask with a check of type `sql` what the pipeline must not have written"
                .to_owned(),
        ),
        Slip::MissingKey(key) => {
            let line = match *key {
                "invariants" => {
                    "invariants: {made: {description: …, check: {type: file_exists, path: …}}}"
                }
                "check" => "check: {type: file_exists, path: answer.txt}",
                "description" => "description: All tests pass",
                _ => return None,
            };
            Some(format!("add a line such as `{line}`"))
        }
        Slip::UnknownWord("mariadb", words) if words.contains(&"mysql") => {
            Some("MariaDB is of the type `mysql`".to_owned())
        }
        Slip::UnknownKey(_) | Slip::UnknownWord(..) => None,
    }
}
