//! Checks of this probe's keys that the schema cannot express, and help for common mistakes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{is_file_of_records, unit_type};
use kelvin_run::config::check::{blank, distinct};
use kelvin_run::config::yaml::{Content, Node};
use kelvin_run::config::{Part, Problem, Slip, placeholder};

/// Every problem with the values that does not concern their types; values of a wrong type are skipped.
pub(super) fn problems(part: &Part<'_>) -> Vec<Problem> {
    let node = &part.node;
    let mut found = Vec::new();
    if let Some((run, at)) = node.text(&["run"])
        && part.is_configured
    {
        found.extend(placeholder::problems(run, at, part.source));
    }
    if let Some((field, at)) = node.text(&["decision_field"]) {
        found.extend(pointer(field, at));
    }
    types(node, "governing_types", "governing type", &mut found);
    types(node, "keep_order", "type in `keep_order`", &mut found);
    enabled(node, &mut found);
    records(node, &mut found);
    let packs = node.texts(&["packs"]);
    distinct(&packs, "pack", &mut found);
    if let Some(Content::Map(entries)) = node.get(&["scorer"]).map(|node| &node.content) {
        for (name, _) in entries {
            distinct(&node.texts(&["scorer", &name.text]), "level", &mut found);
        }
    }
    blank(&packs, "packs", &mut found);
    found
}

/// Checks a JSON pointer according to RFC 6901: `~` must be followed by `0` or `1`.
fn pointer(field: &str, at: &Range<usize>) -> Option<Problem> {
    let broken = field.starts_with('/')
        && field
            .split('~')
            .skip(1)
            .any(|after| !after.starts_with(['0', '1']));
    broken.then(|| {
        Problem::new(at.clone(), format!("`{field}` is not a JSON pointer"))
            .help("in a pointer `~` is written as `~0` and a `/` within a key as `~1`")
    })
}

/// Checks the unit types that a key lists; `noun` is the word for one of them.
fn types(node: &Node, key: &str, noun: &str, found: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (written, at) in node.texts(&[key]) {
        let name = unit_type(written);
        if name.is_empty() {
            found.push(Problem::new(
                at.clone(),
                format!("a {noun} must not be empty"),
            ));
        } else if name.starts_with('#') {
            let bare = written.trim_start_matches(['#', ' ']);
            found.push(
                Problem::new(
                    at.clone(),
                    format!("a type is named without the `#` of its heading, found `{written}`"),
                )
                .help(format!("write `{bare}`")),
            );
        } else if let Some(first) = seen.insert(name.clone(), written) {
            let what = if first == written {
                format!("the {noun} `{written}` is listed twice")
            } else {
                format!("`{first}` and `{written}` are the same {noun} `{name}`")
            };
            found.push(Problem::new(at.clone(), what).help("leave one of them out"));
        }
    }
}

/// Checks the settings for reading the records of a file.
fn records(node: &Node, found: &mut Vec<Problem>) {
    let Some(records) = node.get(&["records"]) else {
        return;
    };
    if let Some((cases, _)) = node.text(&["cases"])
        && !is_file_of_records(cases)
    {
        let what = format!("`records` has no effect: `cases: {cases}` is no file of records");
        found.push(Problem::new(records.at.clone(), what).help(
            "name a file that ends in `.jsonl`, `.json`, `.csv` or `.tsv`, or leave `records` out",
        ));
    }
    let turns = node.text(&["records", "turns"]);
    let turns = turns.or_else(|| node.text(&["records", "turns", "at"]));
    if let Some((place, at)) = turns {
        found.extend(pointer(place, at));
        if place.contains('*') || place.ends_with('/') {
            let what = format!("`{place}` names no array of turns");
            found.push(Problem::new(at.clone(), what).help(
                "name the array itself, as `turns` or `/chat/turns`; each element of it is a turn",
            ));
        }
    }
    let Some(Content::Map(entries)) = node.get(&["records", "units"]).map(|node| &node.content)
    else {
        return;
    };
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (name, value) in entries {
        let normalised = unit_type(&name.text);
        if normalised.is_empty() {
            found.push(Problem::new(
                name.at.clone(),
                "the type of a unit must not be empty",
            ));
        } else if let Some(first) = seen.insert(normalised.clone(), &name.text) {
            let what = format!(
                "`{first}` and `{}` are the same type `{normalised}`",
                name.text
            );
            found.push(Problem::new(name.at.clone(), what).help("leave one of them out"));
        }
        let place = match &value.content {
            Content::Map(_) => node.text(&["records", "units", &name.text, "at"]),
            _ => node.text(&["records", "units", &name.text]),
        };
        if let Some((place, at)) = place {
            found.extend(pointer(place, at));
            let of_turns = turns.map(|(turns, _)| format!("/{}/*", turns.trim_start_matches('/')));
            if let Some(rest) = of_turns.and_then(|turns| place.strip_prefix(&*turns)) {
                let what =
                    format!("`{place}` is looked for in each turn, and names the turns again");
                let help = match rest.is_empty() {
                    true => {
                        "a turn that is a text is a unit by itself: leave this type out".to_owned()
                    }
                    false => format!("write `{rest}`"),
                };
                found.push(Problem::new(at.clone(), what).help(help));
            }
            if let Some(field) = place.strip_suffix("[]") {
                found.push(
                    Problem::new(at.clone(), format!("`{place}` is no field")).help(format!(
                        "write `{field}`: an array is one unit an element by itself"
                    )),
                );
            } else if place.contains('*') && !place.starts_with('/') {
                found.push(
                    Problem::new(at.clone(), format!("`{place}` is no JSON pointer"))
                        .help(format!("write `/{place}`: `*` stands in pointers only")),
                );
            }
        }
    }
}

fn enabled(node: &Node, found: &mut Vec<Problem>) {
    let names = node.texts(&["perturbations", "enable"]);
    distinct(&names, "kind", found);
    let counts = node.get(&["perturbations", "count_drop"]);
    if let Some(count) = counts.filter(|count| count.to_json() == true)
        && !names.iter().any(|(name, _)| *name == "drop")
    {
        found.push(
            Problem::new(
                count.at.clone(),
                "`count_drop` has no effect while `drop` is not enabled",
            )
            .help("add `drop` to `perturbations.enable`, or leave `count_drop` out"),
        );
    }
}

/// Names of keys in other tools and common guesses, each with the name that this program uses.
const OTHER_NAMES: &[(&str, &str)] = &[
    (
        "counterfactual_swap",
        "write `perturbations: {enable: [swap_condition]}`",
    ),
    (
        "intra_slot",
        "list the families under `perturbations: {enable: [...]}`",
    ),
    (
        "enabled_families",
        "list the families under `perturbations: {enable: [...]}`",
    ),
    ("command", "the command is called `run`"),
    ("cmd", "the command is called `run`"),
    ("pipeline", "the command is called `run`"),
];

/// The kinds of perturbation that are made by default.
pub(super) const DEFAULT_KINDS: &[&str] = &["reorder", "pad_length", "pad_content", "swap"];

/// Advice about a mistake.
pub(super) fn hint(slip: &Slip<'_>) -> Option<String> {
    match slip {
        Slip::UnknownKey(key) => {
            let (_, help) = OTHER_NAMES.iter().find(|(other, _)| other == key)?;
            Some((*help).to_owned())
        }
        Slip::MissingKey(key) => {
            let line = match *key {
                "run" => "run: python3 pipeline.py {input} {output}",
                "cases" => "cases: cases",
                "decision_field" => "decision_field: decision",
                "governing_types" => "governing_types: [gate_rule]",
                _ => return None,
            };
            Some(format!("add a line such as `{line}`"))
        }
        Slip::UnknownWord(word, allowed) => {
            let is_default = DEFAULT_KINDS.contains(word) && allowed.contains(&"swap_condition");
            is_default
                .then(|| format!("`{word}` is made by default; its number is `variants.{word}`"))
        }
    }
}
