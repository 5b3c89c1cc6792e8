//! Reads traces from a file, or from a folder and everything below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::ChainTrace;
use crate::config::yaml;
use kelvin_base::clock;
use kelvin_base::decode::decoded;

/// A larger file is not read.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Deeper folders are not searched.
const DEEPEST: usize = 16;

/// The traces of a file or a folder.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// The traces, in the order of the files and of their positions in the files.
    pub traces: Vec<ChainTrace>,
    /// The values that should be traces but are not.
    pub malformed: Vec<Malformed>,
    /// How many files were read.
    pub files: usize,
}

/// A value that cannot be read as a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The path of the file as it was given.
    pub file: PathBuf,
    /// The number of the trace in its file, from 1; none if the problem concerns the whole file.
    pub number: Option<usize>,
    /// The problem.
    pub why: String,
}

/// Reads all traces below a path: files that end in `.yaml`, `.yml`, `.json` or `.jsonl`. A file that cannot be read is
/// reported, and the others are still read.
///
/// # Errors
///
/// Fails if the path does not exist, or a folder cannot be listed.
pub fn read(path: &Path) -> anyhow::Result<Traces> {
    let mut found = Traces::default();
    let mut ids = BTreeSet::new();
    for file in files(path)? {
        found.files += 1;
        let malformed = |number, why| Malformed {
            file: file.clone(),
            number,
            why,
        };
        let values = match values(&file) {
            Ok(values) => values,
            Err(why) => {
                found.malformed.push(malformed(None, why));
                continue;
            }
        };
        for (number, value) in (1..).zip(values) {
            match value.and_then(trace) {
                Ok(trace) if ids.insert(trace.trace_id.clone()) => found.traces.push(trace),
                Ok(trace) => {
                    let why = format!("the trace `{}` was read before", trace.trace_id);
                    found.malformed.push(malformed(Some(number), why));
                }
                Err(why) => found.malformed.push(malformed(Some(number), why)),
            }
        }
    }
    Ok(found)
}

/// The files below a path, in order. Links are not followed, since a link could make a folder contain itself.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || format!("failed to read the traces `{}`", path.display());
    if !fs::metadata(path).with_context(failed)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![(path.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let failed = || format!("failed to list `{}`", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let kind = entry.file_type().with_context(failed)?;
            let path = entry.path();
            if kind.is_dir() && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if kind.is_file() && is_named_so(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_named_so(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | "json" | "jsonl"))
}

/// The values of a file that should be traces: a single value, the entries of a list or of a list under `traces`, the
/// documents of a stream, or the lines of a file.
fn values(file: &Path) -> Result<Vec<Result<Value, String>>, String> {
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("{size} bytes are too many; a file may have 64 MiB"));
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    let ending = file.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("jsonl") => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            Ok(lines.map(json).collect())
        }
        Some("json") => Ok(entries(json(&text)?)),
        _ => Ok(documents(&text)
            .into_iter()
            .flat_map(|document| match yaml::parse(document) {
                Ok(node) => entries(node.to_json()),
                Err(problem) => vec![Err(problem.message)],
            })
            .collect()),
    }
}

fn entries(value: Value) -> Vec<Result<Value, String>> {
    match value {
        Value::Array(items) => items.into_iter().map(Ok).collect(),
        Value::Object(mut entries) if !entries.contains_key("trace_id") => {
            match entries.remove("traces") {
                Some(Value::Array(items)) => items.into_iter().map(Ok).collect(),
                _ => vec![Ok(Value::Object(entries))],
            }
        }
        other => vec![Ok(other)],
    }
}

/// The documents of a YAML stream, because the YAML parser takes one at a time.
fn documents(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let mark = line.trim_end();
        if mark == "---" || mark == "..." {
            found.push(&text[start..at]);
            start = at + line.len();
        }
        at += line.len();
    }
    found.push(&text[start..]);
    found.retain(|document| {
        let mut lines = document.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#'))
    });
    found
}

/// Reads a trace and checks its values.
fn trace(value: Value) -> Result<ChainTrace, String> {
    let mut trace: ChainTrace = decoded(&value)?;
    if let Some(time) = &trace.started_at {
        trace.started_at = Some(clock::in_utc(time)?);
    }
    let is_share = |value: f64| (0.0..=1.0).contains(&value);
    let of_step = |step: &super::StepTrace| {
        let found = step.quality_indicators.unwrap_or_default();
        [
            found.contract_conformance,
            found.completeness,
            found.token_efficiency,
        ]
    };
    let shares = trace.steps.iter().flat_map(of_step);
    let mut shares = shares.chain([trace.quality_score]).flatten();
    if let Some(wrong) = shares.find(|value| !is_share(*value)) {
        return Err(format!("{wrong} is no indicator: it is not from 0 to 1"));
    }
    Ok(trace)
}
