//! The schema, the file that holds it, the documentation and the reports agree. `KELVIN_UPDATE=1
//! cargo test` writes the files anew.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use std::collections::BTreeMap;

use crate::registry::Registry;
use kelvin_evidence::page::{QUADRANT, SignalWords, Standing};
use kelvin_fixtures::report as fixture;
use kelvin_gate::judgement::Judgement;
use kelvin_gate::report::{Report, json as report_json};
use kelvin_github::publish::bundle::Bundle;
use kelvin_page::BANDS;

const SCHEMA: &str = "schema/report.schema.json";
const DOCUMENT: &str = "docs/reports.md";
const KEYS: &str = "schema/README.md";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn schema(registry: Registry) -> Value {
    with_sections::<Report>(registry)
}

/// The schema of a type that holds reports, with what each kind stores.
fn with_sections<T: JsonSchema>(registry: Registry) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let kinds = registry.of_sections();
    let sections: BTreeMap<&str, Value> = kinds
        .iter()
        .map(|kind| (kind.name(), (kind.form().schema)(&mut generator).to_value()))
        .collect();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["$defs"]["Sections"]["properties"] = json!(sections);
    schema
}

/// The schema of the verdict, with the comparisons that the kinds add to it.
pub(crate) fn of_verdict(registry: Registry) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let kinds = registry.of_sections();
    let comparisons: Vec<(&str, Value)> = kinds
        .iter()
        .filter_map(|kind| {
            Some((
                kind.name(),
                kind.comparison_form()?.schema(&mut generator).to_value(),
            ))
        })
        .collect();
    let mut schema = generator.into_root_schema_for::<Judgement>().to_value();
    for (name, comparison) in comparisons {
        schema["properties"][name] = comparison;
    }
    schema
}

/// The file has this text, or gets it where an update was asked for.
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

/// A document with what stands between two marks in it replaced.
fn with_part(document: &str, part: &str, text: &str) -> String {
    let (begin, end) = (
        format!("<!-- {part}: begin -->"),
        format!("<!-- {part}: end -->"),
    );
    let from = document
        .find(&begin)
        .unwrap_or_else(|| panic!("no `{begin}`"))
        + begin.len();
    let to = document.find(&end).unwrap_or_else(|| panic!("no `{end}`"));
    format!("{}\n{text}{}", &document[..from], &document[to..])
}

#[test]
fn the_schema_file_is_the_one_made_from_the_types() {
    let text = serde_json::to_string_pretty(&schema(Registry::shipped())).expect("it is JSON");
    agrees(SCHEMA, &(text + "\n"));
    for (file, schema) in [
        ("schema/gate.schema.json", of_verdict(Registry::shipped())),
        (
            "schema/bundle.schema.json",
            with_sections::<Bundle>(Registry::shipped()),
        ),
    ] {
        let text = serde_json::to_string_pretty(&schema).expect("it is JSON");
        agrees(file, &(text + "\n"));
    }
}

#[test]
fn the_schema_takes_every_report_that_is_written() {
    let validator =
        jsonschema::validator_for(&schema(Registry::shipped())).expect("it is a schema");
    let mut reports = vec![
        fixture::good(),
        fixture::bad(),
        fixture::noisy(),
        fixture::half(),
        fixture::unmeasured(),
        fixture::dry_run(),
        fixture::interrupted(),
    ];
    reports.extend(fixture::corpus().iter().map(|text| fixture::hostile(text)));
    for report in reports {
        let mut text = Vec::new();
        report_json::write(&mut text, &report).expect("memory takes it");
        let value: Value = serde_json::from_slice(&text).expect("JSON");
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

#[test]
fn the_schema_refuses_what_no_report_has() {
    let validator =
        jsonschema::validator_for(&schema(Registry::shipped())).expect("it is a schema");
    let good = serde_json::to_value(fixture::good()).expect("JSON");
    assert!(validator.is_valid(&good));
    for (pointer, value) in [
        ("/schema_version", json!("1")),
        ("/run/seed", json!(-1)),
        ("/run/ending", json!("done")),
        ("/metrics", json!([])),
        ("/metrics/evidence.invariance/n", json!(-3)),
        ("/metrics/evidence.invariance/value", json!("0.9")),
        (
            "/probes/evidence/items/case_000/variants/0/relation",
            json!("neither"),
        ),
        ("/probes/evidence/items/case_000/input", json!("abc")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("it is there") = value;
        assert!(!validator.is_valid(&bad), "{pointer}");
    }
    // A newer version may say more, and is read all the same.
    let mut more = good;
    more["further"] = json!(1);
    assert!(validator.is_valid(&more));
}

#[test]
fn the_documented_bands_are_those_of_the_code() {
    let mut table =
        String::from("| value, unrounded | invariance | following |\n| --- | --- | --- |\n");
    let lows = BANDS.iter().map(|low| format!("{low:.2} and more"));
    let last = BANDS.last().map(|low| format!("less than {low:.2}"));
    let words = SignalWords::Invariance
        .words()
        .into_iter()
        .zip(SignalWords::Following.words());
    for (from, (holds, moves)) in lows.chain(last).zip(words) {
        table.push_str(&format!("| {from} | {holds} | {moves} |\n"));
    }
    let document = fs::read_to_string(path(DOCUMENT)).expect("it is there");
    agrees(DOCUMENT, &with_part(&document, "bands", &table));
}

#[test]
fn the_documented_words_for_a_run_are_those_of_the_code() {
    let document = fs::read_to_string(path(DOCUMENT)).expect("it is there");
    for standing in Standing::ALL {
        let cell = format!("| **{}** | {} |", standing.name(), standing.meaning());
        assert!(document.contains(&cell), "{cell}");
    }
    assert!(document.contains(&format!("meet at {QUADRANT:.2}")));
}

#[test]
fn the_documented_keys_are_those_of_the_types() {
    let schema = schema(Registry::shipped());
    let mut text = String::new();
    keys(&schema, "", &schema, &mut text);
    for (name, title) in [
        ("CaseRecord", "A case, in `probes.evidence.items`"),
        ("VariantRecord", "A variant, in `variants` of a case"),
        ("Sample", "A sample, in `baseline`, `replays` and `samples`"),
        ("Failure", "A failure, in `failure` of a sample"),
        ("Metric", "A metric, in `metrics`"),
        ("CaseValue", "A case of a metric, in `per_case`"),
        ("Notice", "A notice, in `notices`"),
        ("Notes", "What was done, in `notes` of a variant"),
    ] {
        text.push_str(&format!("\n## {title}\n\n"));
        let part = &schema["$defs"][name];
        assert!(part.is_object(), "{name}");
        keys(part, "", &schema, &mut text);
    }
    let document = fs::read_to_string(path(KEYS)).expect("it is there");
    agrees(KEYS, &with_part(&document, "keys", &text));
}

/// A table of the keys of an object; those of `run`, `tool` and what is in them too.
fn keys(object: &Value, prefix: &str, schema: &Value, text: &mut String) {
    if prefix.is_empty() {
        text.push_str("| key | meaning |\n| --- | --- |\n");
    }
    let properties = object["properties"].as_object().expect("an object");
    for (key, property) in properties {
        let meaning = property["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ");
        text.push_str(&format!("| `{prefix}{key}` | {meaning} |\n"));
        let inner = property["$ref"]
            .as_str()
            .and_then(|link| schema.pointer(link.trim_start_matches('#')));
        if let Some(inner) = inner.filter(|inner| inner["properties"].is_object()) {
            keys(inner, &format!("{prefix}{key}."), schema, text);
        }
    }
}
