//! The schema and the reference in the documentation match the types.

//! The schema, its file and the documentation match. `KELVIN_UPDATE=1 cargo test` writes the files again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::registry::Registry;
use kelvin_evidence::config::OptIn;
use kelvin_probe::{owners, schema};
use kelvin_run::config::configure;
use kelvin_run::config::shape::{branches, properties, wanted};

const SCHEMA: &str = "schema/kelvin.schema.json";
const DOCUMENT: &str = "docs/configuration.md";
const BEGIN: &str = "<!-- keys: begin -->";
const END: &str = "<!-- keys: end -->";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn schema_value() -> Value {
    configure::schema(&owners(Registry::shipped().kinds())).clone()
}

/// Checks that the file has this text, or writes it if an update was requested.
fn agrees(name: &str, text: &str) {
    if std::env::var_os("KELVIN_UPDATE").is_some() {
        kelvin_base::file::write(&path(name), text.as_bytes()).expect("written");
    }
    let found = fs::read_to_string(path(name)).unwrap_or_default();
    assert!(
        found == text,
        "`{name}` is not up to date: run `KELVIN_UPDATE=1 cargo test`"
    );
}

#[test]
fn the_schema_file_is_the_one_made_from_the_types() {
    agrees(
        SCHEMA,
        &schema(Registry::shipped().kinds()).expect("it is JSON"),
    );
}

#[test]
fn the_schema_takes_good_configurations_and_refuses_bad_ones() {
    let validator = jsonschema::validator_for(&schema_value()).expect("it is a schema");
    let least = json!({
        "run": "p {input} {output}", "cases": "cases",
        "decision_field": "decision", "governing_types": ["gate_rule"],
    });
    let with = |key: &str, value: Value| {
        let mut file = least.clone();
        file[key] = value;
        validator.is_valid(&file)
    };
    assert!(validator.is_valid(&least));
    assert!(with("cache", json!({ "dir": "x" })) && with("cache", json!(true)));
    assert!(with("scorer", json!({ "ordinal": ["low", "high"] })));
    assert!(with("variants", json!({ "swap": "all" })) && with("timeout_s", json!(0.5)));
    assert!(!with("sead", json!(4)) && !with("seed", json!("4")) && !with("seed", json!(-1)));
    assert!(!with("timeout_s", json!(0)) && !with("retry", json!({ "max_attempts": 0 })));
    assert!(!with("scorer", json!({ "ordinal": ["low"] })));
    assert!(!with("perturbations", json!({ "enable": ["reorder"] })));
    // The program itself reports which keys belong together, because it knows what was meant.
    assert!(!with("run", json!("")) && !with("governing_types", json!("gate_rule")));
}

#[test]
fn every_opt_in_kind_has_one_name() {
    let schema = schema_value();
    let listed = &schema["properties"]["perturbations"]["properties"]["enable"]["items"]["enum"];
    for name in listed.as_array().expect("a list") {
        let kind: OptIn = serde_json::from_value(name.clone()).expect("a kind");
        assert_eq!(kind.name(), name);
    }
}

/// The rows of the reference, required keys first.
fn rows(schema: &Value, section: &str, rows: &mut Vec<String>) {
    let own = schema["description"].as_str().unwrap_or_default();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (key, inner) in properties(schema) {
        match required.iter().position(|name| *name == key) {
            Some(place) => first.push((place, key, inner)),
            None => rest.push((0, key, inner)),
        }
    }
    first.sort_by_key(|(place, ..)| *place);
    for (_, key, inner) in first.into_iter().chain(rest) {
        let name = format!("{section}{key}");
        let is_section = inner.get("type") == Some(&json!("object"));
        let default = match inner.get("default") {
            _ if is_section => String::new(),
            Some(default) => format!("`{}`", default.to_string().replace('"', "")),
            None if required.contains(&key) => "required".to_owned(),
            None => "none".to_owned(),
        };
        let meaning = inner["description"].as_str().unwrap_or(own);
        assert!(!meaning.is_empty(), "{name} is not described");
        // The ways to call a pipeline are the same for every key that names one.
        let is_known = key == "run" && !section.is_empty() && branches(inner).len() > 1;
        rows.push(format!(
            "| `{name}` | {} | {default} | {}{} |",
            wanted(inner),
            meaning.replace('\n', " "),
            if is_known {
                " Its keys are those of `run`."
            } else {
                ""
            }
        ));
        if is_known {
            continue;
        }
        for branch in branches(inner) {
            self::rows(branch, &format!("{name}."), rows);
            if let Some(any) = branch
                .get("additionalProperties")
                .filter(|any| any.is_object())
            {
                // Entries of different kinds have different keys; the models have their own page.
                let kinds = branches(any).into_iter().filter(|_| name != "models");
                for kind in kinds {
                    self::rows(kind, &format!("{name}.ID."), rows);
                }
            }
        }
    }
}

/// The page of the models has a table for each kind, because the kinds have different keys.
#[test]
fn the_page_of_the_models_lists_every_key_of_every_kind() {
    let name = "docs/models.md";
    let (begin, end) = ("<!-- models: begin -->", "<!-- models: end -->");
    let schema = schema_value();
    let kinds = branches(&schema["properties"]["models"]["additionalProperties"]);
    assert!(kinds.len() > 3, "every kind has keys of its own");
    let mut lines = Vec::new();
    for kind in kinds {
        let word = kind["properties"]["kind"]["const"]
            .as_str()
            .expect("a word");
        lines.push(format!("\n`kind: {word}`\n"));
        lines.push("| key | value | default | meaning |".to_owned());
        lines.push("| --- | --- | --- | --- |".to_owned());
        let mut keys = kind.clone();
        keys["properties"]
            .as_object_mut()
            .expect("keys")
            .remove("kind");
        rows(&keys, "", &mut lines);
    }
    let document = fs::read_to_string(path(name)).expect("the page is there");
    let (before, rest) = document.split_once(begin).expect("the tables begin");
    let (_, after) = rest.split_once(end).expect("the tables end");
    agrees(
        name,
        &format!("{before}{begin}\n{}\n\n{end}{after}", lines.join("\n")),
    );
}

#[test]
fn the_reference_lists_every_key_with_its_type_and_default() {
    let mut lines = vec![
        "| key | value | default | meaning |".to_owned(),
        "| --- | --- | --- | --- |".to_owned(),
    ];
    rows(&schema_value(), "", &mut lines);
    let document = fs::read_to_string(path(DOCUMENT)).expect("the reference is there");
    let (before, rest) = document.split_once(BEGIN).expect("the table begins");
    let (_, after) = rest.split_once(END).expect("the table ends");
    agrees(
        DOCUMENT,
        &format!("{before}{BEGIN}\n{}\n{END}{after}", lines.join("\n")),
    );
    for key in properties(&schema_value()).map(|(key, _)| key) {
        assert!(
            document.matches(&format!("`{key}")).count() > 1 || after.contains(key),
            "`{key}` is in the table and nowhere explained"
        );
    }
    let kinds = &schema_value()["properties"]["perturbations"]["properties"]["enable"];
    for kind in kinds["items"]["enum"].as_array().expect("a list") {
        let name = kind.as_str().expect("a name");
        assert!(
            after.contains(&format!("`{name}`")),
            "`{name}` is nowhere explained"
        );
    }
}

#[test]
fn every_yaml_block_of_the_reference_loads() {
    let document = fs::read_to_string(path(DOCUMENT)).expect("the reference is there");
    let blocks: Vec<&str> = document
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block)
        .collect();
    assert!(blocks.len() > 5);
    for block in blocks {
        let mut text = String::new();
        for line in [
            "run: p {input} {output}",
            "cases: cases",
            "decision_field: decision",
            "governing_types: [gate_rule]",
        ] {
            let key = line.split_inclusive(':').next().expect("a key");
            if !block.lines().any(|line| line.starts_with(key)) {
                text += &format!("{line}\n");
            }
        }
        Registry::shipped()
            .configured_by(&(text + block), Path::new("kelvin.yaml"))
            .unwrap_or_else(|error| panic!("{error:#}\nin\n{block}"));
    }
}

#[test]
fn every_key_has_one_meaning_and_a_kind_has_the_keys_that_it_needs() {
    let general = configure::schema(&[]);
    let mut seen: BTreeMap<String, Value> = properties(general)
        .map(|(key, _)| (key.to_owned(), Value::Null))
        .collect();
    let mut marks = BTreeSet::new();
    for owner in owners(Registry::shipped().kinds()) {
        let schema = owner.kind.keys().as_value();
        for (key, value) in properties(schema) {
            // If a key belongs to several kinds, it is the same key with the same description.
            let before = seen.insert(key.to_owned(), value.clone());
            assert!(
                before.is_none_or(|before| before == *value),
                "`{key}` has another meaning elsewhere"
            );
        }
        let (required, own) = (owner.kind.required(), owner.kind.marks());
        let has = |key: &&str| properties(schema).any(|(own, _)| own == *key);
        for keys in [required, own] {
            assert!(!keys.is_empty() && keys.iter().all(has), "{keys:?}");
        }
        for key in own {
            assert!(marks.insert(*key), "`{key}` marks another kind too");
        }
    }
}
