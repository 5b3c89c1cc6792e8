//! The rows of a CSV file as JSON objects: a key for each column, and every value a text.

use std::collections::BTreeSet;

use super::find::FieldProblem;
use super::{LineProblems, RawRecord};
use serde_json::Value;

/// The rows below the first line.
pub(super) fn rows(text: &str) -> Result<Vec<RawRecord>, LineProblems> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| vec![broken(&error)])?
        .clone();
    let mut names = BTreeSet::new();
    if let Some(twice) = header.iter().find(|name| !names.insert(*name)) {
        return Err(vec![(
            1,
            FieldProblem {
                what: format!("two columns are called `{twice}`"),
                help: "give every column a name of its own".to_owned(),
            },
        )]);
    }
    let (mut records, mut problems): (Vec<RawRecord>, LineProblems) = (Vec::new(), Vec::new());
    for row in reader.records() {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                problems.push(broken(&error));
                continue;
            }
        };
        let line = row.position().map_or(1, |place| as_line(place.line()));
        let cells = header.iter().zip(&row);
        let members: Vec<String> = cells
            .map(|(key, cell)| format!("{}: {}", Value::from(key), Value::from(cell)))
            .collect();
        records.push(RawRecord {
            line,
            text: format!("{{{}}}", members.join(", ")),
        });
    }
    // The reader closes an open quote at the end of the file, so the cell with that quote swallows every row after it.
    if !text.matches('"').count().is_multiple_of(2) {
        let line = records.last().map_or(1, |record| record.line);
        problems.push((
            line,
            FieldProblem {
                what: "a quote that opens in this row or before it is never closed".to_owned(),
                help: "close it; a quote within a cell is written as two, and the cell stands between quotes".to_owned(),
            },
        ));
    }
    match problems.is_empty() {
        true => Ok(records),
        false => Err(problems),
    }
}

fn broken(error: &csv::Error) -> (usize, FieldProblem) {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("this row has {len} cells, and the first line has {expected_len}"),
        _ => error.to_string(),
    };
    let help = "put a cell with a comma, a quote or a line end between quotes".to_owned();
    (as_line(line), FieldProblem { what, help })
}

/// The line number of a table in the type that messages use.
fn as_line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}
