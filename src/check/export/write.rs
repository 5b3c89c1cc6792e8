//! Writes a data set: the examples first, then the manifest that describes them.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::fields::FieldNames;
use super::{DataSetForm, Example, Manifest};
use kelvin_base::digest::Digest;
use kelvin_base::file;
use kelvin_page::safe;

/// The name of the file of the examples.
pub(super) const fn file_name(form: DataSetForm) -> &'static str {
    match form {
        DataSetForm::Jsonl => "examples.jsonl",
        DataSetForm::Dspy => "examples.dspy.jsonl",
        DataSetForm::Csv => "examples.csv",
    }
}

/// Writes the examples and the manifest completely, and returns the manifest.
pub(super) fn write(
    folder: &Path,
    examples: &[Example],
    mut manifest: Manifest,
) -> anyhow::Result<Manifest> {
    let keys = |of: fn(&Example) -> &Map<String, Value>| -> BTreeSet<&str> {
        let fields = examples.iter().flat_map(move |example| of(example).keys());
        fields.map(String::as_str).collect()
    };
    let (inputs, outputs) = (keys(|one| &one.inputs), keys(|one| &one.outputs));
    let indicators = examples.iter().flat_map(|one| one.of.indicators.keys());
    let indicators: BTreeSet<&str> = indicators.map(String::as_str).collect();
    let owned = |keys: &BTreeSet<&str>| keys.iter().map(|key| (*key).to_owned()).collect();
    (manifest.input_keys, manifest.output_keys) = (owned(&inputs), owned(&outputs));
    let text = match manifest.format {
        DataSetForm::Jsonl => lines(examples.iter().map(|one| nested(one, manifest.score_key)))?,
        DataSetForm::Dspy => {
            let beside: Vec<&str> = indicators.iter().copied().collect();
            let names = FieldNames::of(&inputs, &outputs, &beside);
            let text = lines(
                examples
                    .iter()
                    .map(|one| flat(one, &names, manifest.score_key)),
            )?;
            manifest.input_keys = names.inputs.into_values().collect();
            manifest.output_keys = names.outputs.into_values().collect();
            manifest.renamed = names.renamed;
            text
        }
        DataSetForm::Csv => csv(
            examples,
            (&inputs, &outputs, &indicators),
            manifest.score_key,
        ),
    };
    manifest.sha256 = Digest::of(&text).to_string();
    file::write(&folder.join(manifest.file), &text)?;
    let described = serde_json::to_string_pretty(&manifest)? + "\n";
    file::write(&folder.join("manifest.json"), described.as_bytes())?;
    Ok(manifest)
}

fn lines(values: impl Iterator<Item = Value>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, &value)?;
        text.write_all(b"\n")?;
    }
    Ok(text)
}

fn nested(one: &Example, score: &str) -> Value {
    json!({
        "id": one.id,
        "probe": one.of.probe,
        "case": one.of.case,
        "variant": one.of.variant,
        "repeat": one.of.repeat,
        "inputs": one.inputs,
        "outputs": one.outputs,
        score: one.score,
        "indicators": one.of.indicators,
        "verdicts": one.of.verdicts,
        "split": one.split,
    })
}

/// A flat object that has the same keys for every example; a key without a value is null.
fn flat(one: &Example, names: &FieldNames, score: &str) -> Value {
    let mut flat = Map::new();
    for (names, fields) in [(&names.inputs, &one.inputs), (&names.outputs, &one.outputs)] {
        for (old, new) in names {
            let value = fields.get(old).cloned().unwrap_or_default();
            flat.insert(new.clone(), value);
        }
    }
    for (name, value) in &one.of.indicators {
        flat.insert(name.clone(), json!(value));
    }
    if !one.of.verdicts.is_empty() {
        flat.insert("verdicts".to_owned(), json!(one.of.verdicts));
    }
    flat.insert("split".to_owned(), json!(one.split));
    flat.insert(score.to_owned(), json!(one.score));
    flat.insert("trace_id".to_owned(), json!(one.id));
    Value::Object(flat)
}

type Columns<'a> = (
    &'a BTreeSet<&'a str>,
    &'a BTreeSet<&'a str>,
    &'a BTreeSet<&'a str>,
);

fn csv(examples: &[Example], (inputs, outputs, indicators): Columns<'_>, score: &str) -> Vec<u8> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let verdicts = examples.iter().flat_map(|one| one.of.verdicts.keys());
    let verdicts: BTreeSet<&String> = verdicts.collect();
    let mut header: Vec<String> = ["id", "probe", "case", "variant", "repeat", "split", score]
        .map(safe::cell)
        .to_vec();
    for (kind, keys) in [
        ("inputs", inputs),
        ("outputs", outputs),
        ("indicators", indicators),
    ] {
        header.extend(keys.iter().map(|key| safe::cell(&format!("{kind}.{key}"))));
    }
    for name in &verdicts {
        header.push(safe::cell(&format!("verdicts.{name}.outcome")));
        header.push(safe::cell(&format!("verdicts.{name}.score")));
    }
    rows.push(header);
    for one in examples {
        let mut row = vec![
            safe::cell(&one.id),
            safe::cell(&one.of.probe),
            safe::cell(&one.of.case),
            safe::cell(one.of.variant.as_deref().unwrap_or_default()),
            one.of.repeat.to_string(),
            one.split.to_owned(),
            one.score.to_string(),
        ];
        row.extend(inputs.iter().map(|key| value(one.inputs.get(*key))));
        row.extend(outputs.iter().map(|key| value(one.outputs.get(*key))));
        let known = |key: &&str| one.of.indicators.get(*key);
        row.extend(
            indicators
                .iter()
                .map(|key| known(key).map_or_else(String::new, f64::to_string)),
        );
        for name in &verdicts {
            let said = one.of.verdicts.get(*name);
            row.push(said.map_or("", |said| said.outcome).to_owned());
            let score = said.and_then(|said| said.score);
            row.push(score.map_or_else(String::new, |score| score.to_string()));
        }
        rows.push(row);
    }
    let rows: Vec<String> = rows.iter().map(|row| row.join(",") + "\r\n").collect();
    rows.concat().into_bytes()
}

/// A string unchanged, a number as a number, and anything else as JSON.
fn value(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => safe::cell(text),
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => safe::cell(&other.to_string()),
    }
}
