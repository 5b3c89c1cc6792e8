//! The records of a file, one after the other: the objects of a JSON list, the lines of JSONL, the rows of CSV.
//! No file is held in memory as a whole.

use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::{Map, Value};

use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A list of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A first line with the names of the columns, then one row a case.
    Csv,
}

/// One object or row.
#[derive(Debug)]
pub(super) struct Record {
    /// Where it stands, for messages, e.g. `cases.jsonl:7`.
    pub(super) place: String,
    pub(super) fields: Map<String, Value>,
}

/// Whether more records are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Wanted,
    Enough,
}

/// Where records come from.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) format: Format,
    /// What stands between the cells of a row.
    pub(super) delimiter: u8,
}

/// The form that the name of a file tells.
///
/// # Errors
///
/// A [`Misuse`] for any other name.
pub(super) fn format_of(path: &Path) -> Result<Format, Misuse> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_lowercase).as_deref() {
        Some("json") => Ok(Format::Json),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("csv" | "tsv") => Ok(Format::Csv),
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

type Take<'a> = dyn FnMut(Record) -> anyhow::Result<More> + 'a;

impl<'a> Source<'a> {
    /// A file, with what its name tells where nothing else is said.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where its form is not known.
    pub(super) fn of(
        path: &'a Path,
        format: Option<Format>,
        delimiter: Option<u8>,
    ) -> Result<Self, Misuse> {
        let is_tabs = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        Ok(Self {
            path,
            format: match format {
                Some(format) => format,
                None => format_of(path)?,
            },
            delimiter: delimiter.unwrap_or(if is_tabs { b'\t' } else { b',' }),
        })
    }

    /// Hands every record to `take`, until it has enough.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with file, line and column where the file cannot be read as what it is, and what `take` says.
    pub(super) fn each(&self, take: &mut Take<'_>) -> anyhow::Result<()> {
        let file = shown(self.path);
        let opened = File::open(self.path).and_then(|opened| {
            let data = opened.metadata()?;
            match data.is_dir() {
                true => Err(std::io::Error::other("it is a folder")),
                false => Ok(opened),
            }
        });
        let opened =
            opened.map_err(|error| Misuse::new(format!("{file}: cannot be read: {error}")))?;
        let mut reader = BufReader::new(opened);
        let start = reader.fill_buf().context("failed to read the file")?;
        match start {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                return Err(Misuse::new(format!("{file}:1: it looks like UTF-16"))
                    .help("save it as UTF-8")
                    .into());
            }
            [0xef, 0xbb, 0xbf, ..] => reader.consume(3),
            _ => {}
        }
        match self.format {
            Format::Json => list(&file, reader, take),
            Format::Jsonl => lines(&file, reader, take),
            Format::Csv => self.rows(&file, reader, take),
        }
    }

    fn rows(&self, file: &str, reader: impl Read, take: &mut Take<'_>) -> anyhow::Result<()> {
        let is_open = Cell::new(false);
        let mut rows = csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .from_reader(Quotes {
                reader,
                is_open: &is_open,
            });
        let header = rows.headers().map_err(|error| row_error(file, &error))?;
        let header = header.clone();
        if header.is_empty() {
            return Err(Misuse::new(format!("{file}: the file is empty"))
                .help("the first line has the names of the columns")
                .into());
        }
        for (column, name) in header.iter().enumerate() {
            if header.iter().take(column).any(|other| other == name) {
                return Err(Misuse::new(format!(
                    "{file}:1: column {} has the name `{}` of another column",
                    column + 1,
                    safe::line(name)
                ))
                .help("give every column a name of its own")
                .into());
            }
        }
        let mut last = 1;
        for row in rows.records() {
            let row = row.map_err(|error| row_error(file, &error))?;
            let line = row.position().map_or(0, csv::Position::line);
            last = line;
            let cells = header.iter().zip(&row);
            let fields = cells.map(|(name, cell)| (name.to_owned(), Value::from(cell)));
            let record = Record {
                place: format!("{file}:{line}"),
                fields: fields.collect(),
            };
            if take(record)? == More::Enough {
                return Ok(());
            }
        }
        if is_open.get() {
            return Err(Misuse::new(format!(
                "{file}:{last}: a quote that opens in this row or before it is never closed"
            ))
            .help("close it; a quote within a cell is written as two, and the cell stands between quotes")
            .into());
        }
        Ok(())
    }
}

/// Watches the quotes of a table that is read: after an odd number of them one is open.
struct Quotes<'a, R> {
    reader: R,
    is_open: &'a Cell<bool>,
}

impl<R: Read> Read for Quotes<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.reader.read(buffer)?;
        let quotes = buffer[..length]
            .iter()
            .filter(|byte| **byte == b'"')
            .count();
        self.is_open.set(self.is_open.get() ^ (quotes % 2 == 1));
        Ok(length)
    }
}

/// What is wrong with a row, with its place.
fn row_error(file: &str, error: &csv::Error) -> Misuse {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => Misuse::new(format!(
            "{file}:{line}: column {} is not UTF-8",
            err.field() + 1
        ))
        .help("save it as UTF-8"),
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

fn lines(file: &str, mut reader: impl BufRead, take: &mut Take<'_>) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    for line in 1_usize.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.with_context(|| format!("{file}:{line}: failed to read"))? == 0 {
            break;
        }
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let column = error.valid_up_to() + 1;
            Misuse::new(format!("{file}:{line}:{column}: not UTF-8")).help("save it as UTF-8")
        })?;
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let column = error.column();
            Misuse::new(format!("{file}:{line}:{column}: not JSON: {error}"))
                .help("every line is one JSON object; a list of them is `--from json`")
        })?;
        let place = format!("{file}:{line}");
        let fields = object(value, &place)?;
        if take(Record { place, fields })? == More::Enough {
            break;
        }
    }
    Ok(())
}

fn object(value: Value, place: &str) -> Result<Map<String, Value>, Misuse> {
    let what = match value {
        Value::Object(fields) => return Ok(fields),
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

fn list(file: &str, reader: impl Read, take: &mut Take<'_>) -> anyhow::Result<()> {
    let mut stopped = None;
    let mut json = serde_json::Deserializer::from_reader(reader);
    let all = List {
        file,
        take,
        stopped: &mut stopped,
    };
    let read = all.deserialize(&mut json).and_then(|()| json.end());
    match (stopped, read) {
        (Some(Ok(())), _) | (None, Ok(())) => Ok(()),
        (Some(Err(error)), _) => Err(error),
        (None, Err(error)) => {
            let (line, column) = (error.line(), error.column());
            Err(Misuse::new(format!("{file}:{line}:{column}: {error}"))
                .help("the file is one list of objects, [{...}, {...}]; one object a line is `--from jsonl`")
                .into())
        }
    }
}

/// Takes the items of a list one by one. `stopped` says why the reading ended before the list did.
struct List<'a, 'b> {
    file: &'a str,
    take: &'a mut Take<'b>,
    stopped: &'a mut Option<anyhow::Result<()>>,
}

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(value) = list.next_element::<Value>()? {
            number += 1;
            let place = format!("{}: object {number}", self.file);
            let taken = object(value, &place)
                .map_err(anyhow::Error::from)
                .and_then(|fields| (self.take)(Record { place, fields }));
            match taken {
                Ok(More::Wanted) => {}
                Ok(More::Enough) => {
                    *self.stopped = Some(Ok(()));
                    return Err(A::Error::custom("enough"));
                }
                Err(error) => {
                    *self.stopped = Some(Err(error));
                    return Err(A::Error::custom("stopped"));
                }
            }
        }
        Ok(())
    }
}
