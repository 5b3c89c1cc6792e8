//! Judgements and runs as JSON: one object of queries, or one object a line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Format, unreadable, wrong};
use kelvin_base::exit::Misuse;

/// A judgement in a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    query_id: String,
    doc_id: String,
    relevance: i64,
}

/// A hit in a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retrieved {
    query_id: String,
    doc_id: String,
    score: f64,
}

/// Takes a line, a query, a document and its number.
type Add<'a, N> = &'a mut dyn FnMut(u64, &[u8], &[u8], N) -> Result<(), String>;

/// Reads judgements: `{"q1": {"d1": 1}}`, or lines with `query_id`, `doc_id` and `relevance`.
pub(super) fn qrels(path: &Path, add: Add<'_, i64>) -> Result<(), Misuse> {
    read(path, add, |row: Judged| {
        (row.query_id, row.doc_id, row.relevance)
    })
}

/// Reads a run: `{"q1": {"d1": 0.9}}`, or lines with `query_id`, `doc_id` and `score`.
pub(super) fn run(path: &Path, add: Add<'_, f64>) -> Result<(), Misuse> {
    read(path, add, |row: Retrieved| {
        (row.query_id, row.doc_id, row.score)
    })
}

fn read<N: DeserializeOwned, R: DeserializeOwned>(
    path: &Path,
    add: Add<'_, N>,
    parts: impl Fn(R) -> (String, String, N),
) -> Result<(), Misuse> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        wrong(path, line as u64, "it is not UTF-8 text")
    })?;
    if Format::of(path) == Format::Json {
        let all: BTreeMap<String, BTreeMap<String, N>> = serde_json::from_str(text)
            .map_err(|error| wrong(path, (error.line() as u64).max(1), &error.to_string()))?;
        for (query, documents) in all {
            for (document, number) in documents {
                add(1, query.as_bytes(), document.as_bytes(), number)
                    .map_err(|what| wrong(path, 1, &what))?;
            }
        }
        return Ok(());
    }
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let row = serde_json::from_str(text).map_err(|error| {
            let what = format!("{error}: {}", super::quoted(text.as_bytes()));
            wrong(path, line, &what)
        })?;
        let (query, document, number) = parts(row);
        add(line, query.as_bytes(), document.as_bytes(), number)
            .map_err(|what| wrong(path, line, &what))?;
    }
    Ok(())
}
