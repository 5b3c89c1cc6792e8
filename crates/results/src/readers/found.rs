//! Detects the format of a file by its name and its beginning.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use super::{Format, ReadError, json};

/// How much of a file is read for this: more than the first record in any of the formats.
const MOST: u64 = 1 << 20;

pub(super) fn found_in(path: &Path) -> Option<Format> {
    let mut start = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST)
        .read_to_end(&mut start)
        .ok()?;
    if start.starts_with(b"PK\x03\x04") {
        return (path.extension()? == "eval").then_some(Format::Inspect);
    }
    let text = String::from_utf8_lossy(&start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.chars().next()? {
        '<' => text.contains("<testsuite").then_some(Format::Junit),
        '{' => of_object(path, &keys(text)),
        '[' => {
            let keys = keys(text.get(1..)?);
            let is_phoenix = keys.contains("example_id") && keys.contains("repetition_number");
            is_phoenix.then_some(Format::Phoenix)
        }
        _ => (path.extension()? == "csv").then(|| of_table(text.lines().next().unwrap_or(""))),
    }
}

fn of_object(path: &Path, keys: &BTreeSet<String>) -> Option<Format> {
    let has = |names: &[&str]| names.iter().all(|name| keys.contains(*name));
    let known: [(Format, &[&str]); 11] = [
        (Format::Promptfoo, &["evalId", "results"]),
        (Format::Promptfoo, &["promptIdx", "testIdx", "namedScores"]),
        (Format::Inspect, &["version", "status", "eval"]),
        (Format::Deepeval, &["testRunData"]),
        (Format::Deepeval, &["testCases"]),
        (Format::LmEval, &["doc_id", "doc", "filtered_resps"]),
        (Format::Evalite, &["run", "evals"]),
        (Format::PydanticEvals, &["name", "cases"]),
        (Format::Harbor, &["n_total_trials", "stats"]),
        (Format::Ragas, &["user_input", "response"]),
        (Format::Langfuse, &["experimentItemId"]),
    ];
    let found = known.iter().find(|(_, names)| has(names));
    let is_lines = || {
        path.extension()
            .is_some_and(|e| e == "jsonl" || e == "ndjson")
    };
    found
        .map(|(format, _)| *format)
        .or_else(|| is_lines().then_some(Format::Jsonl))
}

fn of_table(header: &str) -> Format {
    let columns: Vec<_> = header
        .split(',')
        .map(|name| name.trim_matches('"').trim())
        .collect();
    let has = |name: &str| columns.contains(&name);
    if has("example_id") && columns.iter().any(|name| name.starts_with("feedback.")) {
        return Format::Langsmith;
    }
    if has("example_id") && has("repetition_number") {
        return Format::Phoenix;
    }
    if has("user_input") && has("response") {
        return Format::Ragas;
    }
    Format::Csv
}

/// The keys of the first object in the text. The text may be truncated.
fn keys(text: &str) -> BTreeSet<String> {
    let (mut keys, mut depth, mut last) = (BTreeSet::new(), 0_u32, String::new());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                last.clear();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => last.extend(chars.next()),
                        c => last.push(c),
                    }
                }
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ':' if depth == 1 => _ = keys.insert(std::mem::take(&mut last)),
            _ => {}
        }
        if depth == 0 && !keys.is_empty() {
            break;
        }
    }
    keys
}

/// Whether a promptfoo file has one result per line, not all in one document. The name is not certain evidence, and a
/// document may also be on one line.
pub(super) fn has_one_value_a_line(file: &Path) -> Result<bool, ReadError> {
    let mut start = Vec::new();
    let source = BufReader::new(json::open(file)?);
    let read = source.take(MOST).read_to_end(&mut start);
    read.map_err(|error| ReadError::unreadable(file, &error))?;
    let keys = keys(&String::from_utf8_lossy(&start));
    Ok(!keys.contains("evalId") && !keys.contains("results"))
}

/// Whether a table is JSON.
pub(super) fn is_json(file: &Path) -> Result<bool, ReadError> {
    Ok(matches!(first(file)?, Some(b'{' | b'[')))
}

/// Whether a JSON file is one list of objects.
pub(super) fn is_list(file: &Path) -> Result<bool, ReadError> {
    Ok(first(file)? == Some(b'['))
}

/// The first byte of a file that is not white space.
fn first(file: &Path) -> Result<Option<u8>, ReadError> {
    let mut source = json::open(file)?;
    let start = source
        .fill_buf()
        .map_err(|error| ReadError::unreadable(file, &error))?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    Ok(start
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .copied())
}
