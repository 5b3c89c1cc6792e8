//! The records of a file: the objects of a JSON list, the lines of JSONL, the rows of CSV.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Map, Value};

use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RecordsFormat {
    /// A list of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A first line with the names of the columns, then one row a case.
    Csv,
}

/// One object or row.
#[derive(Debug)]
pub(super) struct ImportedRecord {
    /// The position of the record, for messages, e.g. `cases.jsonl:7`.
    pub(super) place: String,
    pub(super) fields: Map<String, Value>,
}

/// The format of a file, by its name.
///
/// # Errors
///
/// A [`Misuse`] for any other name.
pub(super) fn format_of(path: &Path) -> Result<RecordsFormat, Misuse> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_lowercase).as_deref() {
        Some("json") => Ok(RecordsFormat::Json),
        Some("jsonl" | "ndjson") => Ok(RecordsFormat::Jsonl),
        Some("csv" | "tsv") => Ok(RecordsFormat::Csv),
        _ => Err(Misuse::new(format!(
            "{}: the name does not tell the form of the file",
            shown(path)
        ))
        .help("add `--from json`, `--from jsonl` or `--from csv`")),
    }
}

/// A path as it stands in a message.
pub(super) fn shown(path: &Path) -> String {
    safe::line(&path.display().to_string())
}

/// Reads every record of a file. Unless given, the format and the separator of cells follow from its name.
///
/// # Errors
///
/// A [`Misuse`] with file, line and column where the file cannot be read in its format, and where it has no record.
pub(super) fn read(
    path: &Path,
    format: Option<RecordsFormat>,
    delimiter: Option<u8>,
) -> Result<Vec<ImportedRecord>, Misuse> {
    let format = format.map_or_else(|| format_of(path), Ok)?;
    let file = shown(path);
    let text = text(path, &file)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let extension = path.extension().unwrap_or_default();
    let records = match format {
        RecordsFormat::Json => list(&file, text),
        RecordsFormat::Jsonl => lines(&file, text),
        RecordsFormat::Csv if extension.eq_ignore_ascii_case("tsv") => {
            rows(&file, text, delimiter.unwrap_or(b'\t'))
        }
        RecordsFormat::Csv => rows(&file, text, delimiter.unwrap_or(b',')),
    }?;
    match records.is_empty() {
        true => Err(Misuse::new(format!("{file}: there is no record in it"))
            .help("a record is one object or row, of which one case is made")),
        false => Ok(records),
    }
}

fn text(path: &Path, file: &str) -> Result<String, Misuse> {
    let bytes = std::fs::read(path)
        .map_err(|error| Misuse::new(format!("{file}: cannot be read: {error}")))?;
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes[..] {
        return Err(Misuse::new(format!("{file}:1: it looks like UTF-16")).help("save it as UTF-8"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let start = before.iter().rposition(|byte| *byte == b'\n');
        let column = before.len() - start.map_or(0, |end| end + 1) + 1;
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Misuse::new(format!("{file}:{line}:{column}: not UTF-8")).help("save it as UTF-8")
    })
}

fn list(file: &str, text: &str) -> Result<Vec<ImportedRecord>, Misuse> {
    let values: Vec<Value> = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Misuse::new(format!("{file}:{line}:{column}: {error}")).help(
            "the file is one list of objects, [{...}, {...}]; one object a line is `--from jsonl`",
        )
    })?;
    let records = (1..).zip(values);
    records
        .map(|(number, value)| record(format!("{file}: object {number}"), value))
        .collect()
}

fn lines(file: &str, text: &str) -> Result<Vec<ImportedRecord>, Misuse> {
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let value = serde_json::from_str(line).map_err(|error| {
                let column = error.column();
                Misuse::new(format!("{file}:{number}:{column}: not JSON: {error}"))
                    .help("every line is one JSON object; a list of them is `--from json`")
            })?;
            record(format!("{file}:{number}"), value)
        })
        .collect()
}

fn record(place: String, value: Value) -> Result<ImportedRecord, Misuse> {
    let what = match value {
        Value::Object(fields) => return Ok(ImportedRecord { place, fields }),
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
    };
    Err(Misuse::new(format!(
        "{place}: {what} stands where an object was expected"
    ))
    .help("a case is one object, e.g. {\"id\": \"a\", \"rule\": \"...\"}"))
}

fn rows(file: &str, text: &str, delimiter: u8) -> Result<Vec<ImportedRecord>, Misuse> {
    let mut table = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let header = table.headers().map_err(|error| row_error(file, &error))?;
    let header = header.clone();
    if header.is_empty() {
        return Err(Misuse::new(format!("{file}: the file is empty"))
            .help("the first line has the names of the columns"));
    }
    for (column, name) in header.iter().enumerate() {
        if header.iter().take(column).any(|other| other == name) {
            return Err(Misuse::new(format!(
                "{file}:1: column {} has the name `{}` of another column",
                column + 1,
                safe::line(name)
            ))
            .help("give every column a name of its own"));
        }
    }
    let mut last = 1;
    let mut records = Vec::new();
    for row in table.records() {
        let row = row.map_err(|error| row_error(file, &error))?;
        last = row.position().map_or(0, csv::Position::line);
        let cells = header.iter().zip(&row);
        records.push(ImportedRecord {
            place: format!("{file}:{last}"),
            fields: cells
                .map(|(name, cell)| (name.to_owned(), Value::from(cell)))
                .collect(),
        });
    }
    // The reader of tables closes an open quote at the end of the file, so its cell swallows every later row.
    if !text.matches('"').count().is_multiple_of(2) {
        return Err(Misuse::new(format!(
            "{file}:{last}: a quote that opens in this row or before it is never closed"
        ))
        .help(
            "close it; a quote within a cell is written as two, and the cell stands between quotes",
        ));
    }
    Ok(records)
}

/// Describes the error of a row, with its place.
fn row_error(file: &str, error: &csv::Error) -> Misuse {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Misuse::new(format!(
            "{file}:{line}: this row has {len} cells, and the first line has {expected_len} columns"
        ))
        .help(
            "put a cell with a comma, a quote or a line end between quotes; `--delimiter` names another character \
             than the comma",
        ),
        _ => Misuse::new(format!("{file}:{line}: {error}")),
    }
}
