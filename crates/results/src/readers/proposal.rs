//! Proposes the lines of a suite that would read a file, by the names and the values of its columns. A person decides
//! whether they are right, because a table does not say whether a higher score is better.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Format;
use super::record::{Cell, Record, Score};
use kelvin_probe::rows::words;
use kelvin_record::Direction;

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
const ANSWERS: [&str; 11] = [
    "answer",
    "output",
    "response",
    "prediction",
    "predicted",
    "actual",
    "got",
    "result",
    // Where the answer is a field of an object.
    "output.text",
    "output.answer",
    "response.content",
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

/// Words in the names of columns of which a lower number is better.
const LOWER: [&str; 12] = [
    "error",
    "errors",
    "wer",
    "cer",
    "distance",
    "loss",
    "perplexity",
    "toxicity",
    "bias",
    "hallucination",
    "hallucinated",
    "violation",
];

/// Words that turn such a name round: `toxicity_free`, `no_error`, `bias_check`.
const PRAISING: [&str; 10] = [
    "no", "non", "not", "without", "free", "absent", "pass", "passed", "check", "ok",
];

/// Words in the names of columns whose numbers are grades, also where they are higher than 1.
const GRADES: [&str; 5] = ["score", "rating", "grade", "quality", "points"];
/// The usual highest grades.
const HIGHEST: [u32; 3] = [5, 10, 100];

/// The lines of a suite that would read a file.
#[derive(Debug)]
pub struct Proposal {
    /// The format of the file.
    pub format: Format,
    /// Which column of a table is what, as a mapping on one line; none for a format that says it.
    columns: Option<String>,
    /// The scores in a table.
    pub metrics: Vec<ProposedMetric>,
}

/// A column of a table that is taken for a score.
#[derive(Debug)]
pub struct ProposedMetric {
    /// The name of the metric: the last part of the name of the column.
    pub name: String,
    /// The direction that the name of the column suggests.
    pub better: Direction,
    column: String,
    highest: u32,
}

/// The lines for a table: which column is what, and which columns are scores. None if no column can be the case, or none
/// a score.
pub(super) fn of_rows(format: Format, rows: &[Record]) -> Option<Proposal> {
    let names: BTreeSet<String> = rows.iter().flat_map(columns).collect();
    // The first known name that a fitting column has, in the spelling of the file.
    let first = |known: &[&str], fits: &dyn Fn(&&String) -> bool| {
        let column = |known: &&str| {
            let mut named = names.iter().filter(|name| words(name) == words(known));
            named.find(fits)
        };
        known.iter().find_map(column).map(String::as_str)
    };
    let plain = |name: &&String| rows.iter().all(|row| row.text(name).is_some());
    let case = first(&CASES, &plain);
    let input = first(&INPUTS, &plain);
    let expected = first(&EXPECTED, &|_| true);
    let answer = first(&ANSWERS, &|_| true);
    let error = first(&["error"], &|name| !is_score(name, rows));
    let used = [case, input, expected, answer, error];
    let mut metrics: Vec<ProposedMetric> = names
        .iter()
        .filter(|name| !used.contains(&Some(name.as_str())))
        .filter_map(|name| metric(name, rows))
        .collect();
    case.or(input).filter(|_| !metrics.is_empty())?;
    // Two fields may have the same last part.
    let names: Vec<String> = metrics.iter().map(|metric| metric.name.clone()).collect();
    for metric in &mut metrics {
        if names.iter().filter(|name| **name == metric.name).count() > 1 {
            metric.name = metric.column.replace('.', "_");
        }
    }
    let parts = [
        case.map(|name| format!("case: {name}")),
        input.map(|name| format!("input: [{name}]")),
        expected.map(|name| format!("expected: [{name}]")),
        answer.map(|name| format!("answer: {name}")),
        error.map(|name| format!("error: {name}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(Proposal {
        format,
        columns: Some(format!("{{{}}}", parts.join(", "))),
        metrics,
    })
}

impl Proposal {
    /// The proposal for a format that says itself what its fields are.
    pub(super) const fn of_format(format: Format) -> Self {
        Self {
            format,
            columns: None,
            metrics: Vec::new(),
        }
    }

    /// The keys of a suite with their values: the format and, for a table, its columns and its metrics.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![("format", self.format.as_str().to_owned())];
        if let Some(columns) = &self.columns {
            let metrics: Vec<String> = self.metrics.iter().map(ProposedMetric::written).collect();
            keys.push(("columns", columns.clone()));
            keys.push(("metrics", format!("{{{}}}", metrics.join(", "))));
        }
        keys
    }

    /// The keys but the format in a clause: each stands between marks, to be pasted.
    pub(super) fn lines(&self) -> String {
        let keys = self.keys();
        let lines: Vec<String> = keys[1..]
            .iter()
            .map(|(key, value)| format!("`{key}: {value}`"))
            .collect();
        lines.join(" and ")
    }
}

impl ProposedMetric {
    fn written(&self) -> String {
        let (name, column) = (&self.name, &self.column);
        let better = match self.better {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        };
        let kind = format!("better: {better}, range: [0, {}]", self.highest);
        match name == column {
            true => format!("{name}: {{{kind}}}"),
            false => format!("{name}: {{column: {column}, {kind}}}"),
        }
    }
}

/// The columns of a row, with those one level within an object as `scores.correct`. A name that would need quotes is left
/// out.
pub(super) fn columns(row: &Record) -> Vec<String> {
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
    highest(name, rows).is_some_and(|highest| highest <= 1.0)
}

/// The highest number in a column of numbers from 0 on, yes or no, and empty cells; none for any other column.
fn highest(name: &str, rows: &[Record]) -> Option<f64> {
    let mut highest = None;
    for row in rows {
        let number = match row.score(name) {
            Score::Number(number) if number >= 0.0 => number,
            Score::Flag(is_set) => f64::from(u8::from(is_set)),
            Score::Empty => continue,
            Score::Number(_) | Score::Text => return None,
        };
        highest = Some(number.max(highest.unwrap_or(0.0)));
    }
    highest
}

/// Whether a column has verdicts in words, as `PASS`: these are better whatever the name of the column is.
fn are_verdicts(column: &str, rows: &[Record]) -> bool {
    let verdicts = ["pass", "passed", "correct", "fail", "failed", "incorrect"];
    let mut texts = rows.iter().filter_map(|row| row.text(column));
    texts.any(|text| verdicts.contains(&text.trim().to_ascii_lowercase().as_str()))
}

/// The metric that a column may be.
fn metric(column: &str, rows: &[Record]) -> Option<ProposedMetric> {
    let words = words(column);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&&**word));
    if has(&NO_SCORES) {
        return None;
    }
    let highest = match highest(column, rows)? {
        highest if highest <= 1.0 => 1,
        highest if has(&GRADES) => HIGHEST
            .into_iter()
            .find(|most| highest <= f64::from(*most))?,
        _ => return None,
    };
    let name = column.rsplit_once('.').map_or(column, |(_, name)| name);
    Some(ProposedMetric {
        name: name.to_owned(),
        better: match has(&LOWER) && !has(&PRAISING) && !are_verdicts(column, rows) {
            true => Direction::Lower,
            false => Direction::Higher,
        },
        column: column.to_owned(),
        highest,
    })
}
