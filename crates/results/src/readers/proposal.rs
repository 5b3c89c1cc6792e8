//! Proposes the lines of a suite that would read a table, by the names and the values of its columns. A person decides
//! whether they are right, because a file does not say whether a higher score is better.

use std::collections::BTreeSet;

use serde_json::Value;

use super::record::{Cell, Record, Score};

/// Names for the case of a row, the likeliest first.
const CASES: [&str; 9] = [
    "case",
    "case_id",
    "id",
    "test_id",
    "example_id",
    "question_id",
    "sample_id",
    "name",
    "test",
];
const INPUTS: [&str; 5] = ["question", "input", "query", "prompt", "text"];
const EXPECTED: [&str; 7] = [
    "expected",
    "expected_output",
    "label",
    "gold",
    "target",
    "reference",
    "ground_truth",
];
const ANSWERS: [&str; 8] = [
    "answer",
    "output",
    "response",
    "prediction",
    "predicted",
    "actual",
    "got",
    "result",
];

/// Words in the names of columns whose numbers are no score of an answer.
const NO_SCORES: [&str; 16] = [
    "id",
    "index",
    "run",
    "repeat",
    "trial",
    "seed",
    "latency",
    "time",
    "seconds",
    "ms",
    "cost",
    "usd",
    "tokens",
    "temperature",
    "epoch",
    "version",
];

/// The lines for a table: which column is what, and which columns are scores. None if no column can be the case, or none
/// a score.
pub(super) fn of_rows(rows: &[Record]) -> Option<String> {
    let names: BTreeSet<String> = rows.iter().flat_map(columns).collect();
    let plain = |name: &&str| rows.iter().all(|row| row.text(name).is_some());
    let first = |known: &[&'static str]| known.iter().copied().find(|name| names.contains(*name));
    let case = CASES.into_iter().find(plain);
    let input = INPUTS.into_iter().find(plain);
    let expected = first(&EXPECTED);
    let answer = first(&ANSWERS);
    let used = [case, input, expected, answer];
    let scores: Vec<&String> = names
        .iter()
        .filter(|name| !used.contains(&Some(name.as_str())) && is_score(name, rows))
        .collect();
    if scores.is_empty() {
        return None;
    }
    case.or(input)?;
    let parts = [
        case.map(|name| format!("case: {name}")),
        input.map(|name| format!("input: [{name}]")),
        expected.map(|name| format!("expected: [{name}]")),
        answer.map(|name| format!("answer: {name}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let metrics: Vec<String> = scores.iter().map(|column| metric(column)).collect();
    Some(format!(
        "`columns: {{{}}}` and `metrics: {{{}}}`",
        parts.join(", "),
        metrics.join(", ")
    ))
}

/// The columns of a row, with those one level within an object as `scores.correct`. A name that would need quotes is left
/// out.
fn columns(row: &Record) -> Vec<String> {
    let mut names = Vec::new();
    for (name, cell) in &row.cells {
        match cell {
            Cell::Json(Value::Object(inner)) => {
                names.extend(inner.keys().map(|key| format!("{name}.{key}")));
            }
            _ => names.push(name.clone()),
        }
    }
    let is_plain = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    names.retain(is_plain);
    names
}

/// Whether a column has nothing but numbers from 0 to 1, yes or no, and empty cells.
fn is_score(name: &str, rows: &[Record]) -> bool {
    let mut words = name.split(['_', '-', '.']);
    if words.any(|word| NO_SCORES.contains(&word.to_ascii_lowercase().as_str())) {
        return false;
    }
    let scores = || rows.iter().map(|row| row.score(name));
    let fits = |score: Score| match score {
        Score::Number(number) => (0.0..=1.0).contains(&number),
        Score::Flag(_) | Score::Empty => true,
        Score::Text => false,
    };
    scores().all(fits) && scores().any(|score| score != Score::Empty)
}

fn metric(column: &str) -> String {
    let kind = "better: higher, range: [0, 1]";
    match column.rsplit_once('.') {
        Some((_, name)) => format!("{name}: {{column: {column}, {kind}}}"),
        None => format!("{column}: {{{kind}}}"),
    }
}
