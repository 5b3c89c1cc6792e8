//! The problems of the section that its schema does not find.

use std::ops::Range;

use globset::Glob;

use super::super::contract::{Contract, Rule};
use super::super::score::{Factor, Weights};
use kelvin_run::config::Problem;
use kelvin_run::config::yaml::{Content, Node};

/// Every problem of the section.
pub(super) fn problems(node: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let whole = |what: &str, help: &str| Problem::new(node.at.clone(), what).help(help);
    if let (Some(_), Some(contract)) = (node.get(&["output_schema"]), node.get(&["contract"])) {
        let what = "`output_schema` and `contract` both say what form an output has";
        found.push(Problem::new(contract.at.clone(), what).help("leave one of the two out"));
    }
    let provided = provided(node);
    if provided.is_empty() {
        let what = "`quality` looks at nothing";
        let help = "name `output_schema` or `contract`, `required_outputs`, or `usage`";
        found.push(whole(what, help));
    }
    found.extend(weights(node, &provided));
    found.extend(node.get(&["contract"]).into_iter().flat_map(contract));
    let mut pointers = Vec::new();
    for (pointer, at) in node.texts(&["required_outputs"]) {
        found.extend(pointer_problem(pointer, at));
        if pointers.contains(&pointer) {
            let what = format!("`{pointer}` is required twice, and would count twice");
            found.push(Problem::new(at.clone(), what).help("leave one of them out"));
        }
        pointers.push(pointer);
    }
    for key in ["input", "output", "useful", "total"] {
        let pointer = node.text(&["usage", key]);
        found.extend(pointer.and_then(|(pointer, at)| pointer_problem(pointer, at)));
    }
    match (node.get(&["dry_runs"]), node.get(&["recorded"])) {
        (Some(dry_runs), None) => {
            let what = "`dry_runs` looks at recorded outputs, and `recorded` names none";
            let help = "add `recorded: FOLDER`, with the outputs of each case as `CASE.json`";
            found.push(Problem::new(dry_runs.at.clone(), what).help(help));
        }
        (None, Some(recorded)) => {
            let what = "`recorded` names outputs, and no `dry_runs` says how many of each case are looked at";
            found.push(Problem::new(recorded.at.clone(), what).help("add `dry_runs: 3`"));
        }
        _ => {}
    }
    found.extend(node.get(&["groups"]).into_iter().flat_map(groups));
    found
}

/// The factors that the section configures.
fn provided(node: &Node) -> Vec<Factor> {
    let is_there = |key: &str| node.get(&[key]).is_some();
    [
        (
            Factor::Conformance,
            is_there("output_schema") || is_there("contract"),
        ),
        (Factor::Completeness, is_there("required_outputs")),
        (Factor::Efficiency, is_there("usage")),
    ]
    .into_iter()
    .filter_map(|(factor, is_there)| is_there.then_some(factor))
    .collect()
}

fn weights(node: &Node, provided: &[Factor]) -> Option<Problem> {
    let (weights, at) = match node.get(&["weights"]) {
        // The schema reports a value of a wrong type.
        Some(weights) => {
            let read: Weights = serde_json::from_value(weights.to_json()).ok()?;
            (read, weights.at.clone())
        }
        None => (Weights::default(), node.at.clone()),
    };
    if let Err(what) = weights.checked() {
        let help = "write `weights: {conformance: 0.40, completeness: 0.35, efficiency: 0.25}`";
        return Some(Problem::new(at, what).help(help));
    }
    let has_weight = !weights.effective(provided).is_empty();
    (!provided.is_empty() && !has_weight).then(|| {
        let what = "no factor that has weight is provided for, so nothing could be scored";
        let help = "`output_schema` or `contract` is for conformance, `required_outputs` for \
                    completeness, and `usage` for efficiency";
        Problem::new(at, what).help(help)
    })
}

fn contract(node: &Node) -> Vec<Problem> {
    let Content::Map(entries) = &node.content else {
        return Vec::new();
    };
    let of_rule = |name: &str, rule_node: &Node| {
        // The schema reports an invalid rule.
        let rule: Rule = serde_json::from_value(rule_node.to_json()).ok()?;
        let place = |key: &str| {
            let node = rule_node.get(&[key]);
            node.map_or_else(|| rule_node.at.clone(), |node| node.at.clone())
        };
        if let Some((key, what)) = rule.problem() {
            return Some(Problem::new(place(key), format!("output `{name}`: {what}")));
        }
        let alone = [(name.to_owned(), rule)].into();
        let error = Contract::of_outputs(&alone).err()?;
        let help = "a pattern is a regular expression without look-around and back references";
        Some(Problem::new(place("pattern"), format!("output `{name}`: {error}")).help(help))
    };
    entries
        .iter()
        .filter_map(|(key, node)| of_rule(&key.text, node))
        .collect()
}

fn pointer_problem(pointer: &str, at: &Range<usize>) -> Option<Problem> {
    let mut escapes = pointer.split('~').skip(1);
    let is_escaped = escapes.all(|rest| rest.starts_with(['0', '1']));
    let help = "a JSON pointer begins with `/`, as `/usage/input_tokens`; `~0` stands for `~` and `~1` for \
                `/` in a key";
    (!pointer.starts_with('/') || !is_escaped)
        .then(|| Problem::new(at.clone(), format!("`{pointer}` is no JSON pointer")).help(help))
}

fn groups(node: &Node) -> Vec<Problem> {
    let Content::Map(entries) = &node.content else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, node) in entries {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if key.text.is_empty() || !key.text.chars().all(is_plain) {
            let what = format!("`{}` is no name of a group", key.text);
            let help =
                "a name has letters, digits, `_` and `-` only: it is a part of the id of a metric";
            found.push(Problem::new(key.at.clone(), what).help(help));
        }
        for (glob, at) in node.texts(&[]) {
            if let Err(error) = Glob::new(glob) {
                let what = format!("`{glob}` is no glob: {}", error.kind());
                found.push(Problem::new(at.clone(), what).help("write one such as `intake-*`"));
            }
        }
    }
    found
}
