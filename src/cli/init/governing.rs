//! Determines the types of units that should govern the decision.

use std::collections::{BTreeMap, BTreeSet};

use super::steps::{Steps, settings};
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_evidence::cases::{self, Corpus};
use kelvin_page::{counted, safe};

/// The type of the units in a field of a record.
pub(in crate::cli) use kelvin_evidence::config::unit_type;

/// The type of the turn to which the pipeline should reply.
pub(in crate::cli) const LAST_USER_TURN: &str = "last_user_turn";

/// The types of the turns of chats.
const TURNS: [&str; 4] = ["system", "user_turn", "assistant_turn", LAST_USER_TURN];

/// Determines the types. `suspects` are types that may have the right answer: none of them is proposed.
pub(super) fn settle(
    steps: &mut Steps<'_>,
    corpus: &Corpus,
    suspects: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let found = types(corpus);
    if found.is_empty() {
        return Err(
            Misuse::new("no case has a unit, so nothing can govern the decision")
                .help(
                    "begin each piece of what the decision rests on with a heading such as `## Gate Rule`; let a text \
                     without parts be a record, as `{\"text\": \"...\"}` on a line of `cases.jsonl`; where the texts of a \
                     record lie deeper, `records: {units: {TYPE: PLACE}}` in `kelvin.yaml` names them",
                )
                .into(),
        );
    }
    if steps.said.governing_types.is_empty() {
        let names: Vec<&String> = found.keys().collect();
        let chosen = match steps.ask {
            Some(ask) => {
                let choices: Vec<String> = found
                    .iter()
                    .map(|(name, cases)| {
                        format!("{}  (in {})", safe::line(name), counted(*cases, "case"))
                    })
                    .collect();
                let question = "Which types should govern the decision?";
                ask::several(ask, question, &choices, &governing(&names, suspects))?
            }
            None => obvious(&names, suspects)?,
        };
        let chosen = chosen.into_iter().map(|place| names[place].clone());
        steps.said.governing_types = chosen.collect();
        if steps.ask.is_none() {
            let chosen = steps.said.governing_types.join(", ");
            steps.print(&format!(
                "the decision is to be governed by: {} (`--governing-type` names others)",
                safe::line(&chosen)
            ))?;
        }
    }
    let chosen = &steps.said.governing_types;
    let left = found.keys().map(String::as_str);
    let left: Vec<String> = left
        .filter(|name| !TURNS.contains(name) && !suspects.contains(*name))
        .filter(|name| !chosen.iter().any(|one| one == name))
        .map(|name| format!("`{}`", safe::line(name)))
        .collect();
    if !left.is_empty() {
        let that = if left.len() == 1 { "it" } else { "one of them" };
        steps.print(&format!(
            "no change is seen that makes the pipeline forget {}: if the decision rests on {that}, add it to \
             `governing_types`",
            left.join(", ")
        ))?;
    }
    // Cases may have a section `System` without being chats. The messages of a record keep their positions anyway.
    let are_chats = found.contains_key(LAST_USER_TURN);
    let turns = TURNS
        .iter()
        .filter(|name| are_chats && found.contains_key(**name));
    steps.said.keep_order = turns.map(|name| (*name).to_owned()).collect();
    if !steps.said.keep_order.is_empty() {
        let kept = steps.said.keep_order.join(", ");
        steps.print(&format!("the turns of the chats keep their order: {kept}"))?;
    }
    // Loading the cases again finds types that no case has, with the message that `check` gives.
    let config = steps.config()?;
    cases::load(&config.root, settings(&config)).map(|_| ())
}

/// The indices of the types whose names look like a rule.
fn governing(names: &[&String], suspects: &BTreeSet<String>) -> Vec<usize> {
    let all = names.iter().enumerate();
    all.filter(|(_, name)| seems_to_govern(name) && !suspects.contains(**name))
        .map(|(place, _)| place)
        .collect()
}

/// The types to use if nobody can be asked: the only type that has no right answer, or those whose names look like a
/// rule.
fn obvious(names: &[&String], suspects: &BTreeSet<String>) -> anyhow::Result<Vec<usize>> {
    let all = names.iter().enumerate();
    let others: Vec<usize> = all
        .filter(|(_, name)| !suspects.contains(**name))
        .map(|(place, _)| place)
        .collect();
    let places: Vec<usize> = match others.as_slice() {
        [only] => vec![*only],
        _ => governing(names, suspects),
    };
    if !places.is_empty() {
        return Ok(places);
    }
    let found: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Err(Misuse::new(format!(
        "which types of units should govern the decision is not known; the cases have {}",
        found.join(", ")
    ))
    .help(
        "add `--governing-type TYPE` for each that the decision rests on; a field with the right answer is none: it is \
         named in `kelvin.yaml`, as `records: {expected: FIELD}`",
    )
    .into())
}

/// Every type of unit, with the number of cases that have one.
pub(super) fn types(corpus: &Corpus) -> BTreeMap<String, usize> {
    let mut types = BTreeMap::new();
    for case in &corpus.cases {
        let own: BTreeSet<&str> = case.units.iter().map(|unit| &*unit.unit_type).collect();
        for name in own {
            *types.entry(name.to_owned()).or_insert(0) += 1;
        }
    }
    types
}

/// Whether a name suggests a governing type; the person decides.
fn seems_to_govern(name: &str) -> bool {
    [
        LAST_USER_TURN,
        "rule",
        "policy",
        "gate",
        "criteri",
        "guideline",
        "regulation",
        "threshold",
    ]
    .iter()
    .any(|part| unit_type(name).contains(part))
}
