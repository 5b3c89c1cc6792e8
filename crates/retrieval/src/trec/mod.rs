//! The files of an evaluation made elsewhere: relevance judgements and runs, as TREC text, JSON or
//! JSON lines. A file is read whole, because the columns of its lines are then borrowed and not
//! copied.

mod qrels;
mod run;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use kelvin_base::exit::Misuse;
use serde::de::DeserializeOwned;

pub use qrels::{Judgements, Qrels};
pub use run::{RankedQuery, scan};

/// A query, a document, and its grade or score.
type Row<'t, N> = (Cow<'t, str>, Cow<'t, str>, N);

/// The layout of the lines in one kind of file.
struct LineLayout<N> {
    /// The names of the TREC columns. The query is always the first one and the document the third.
    columns: &'static [&'static str],
    /// The column with the number.
    number: usize,
    /// Reads the number, or says what it must be.
    parse: fn(&str) -> Result<N, &'static str>,
    /// Reads a line of JSON.
    json: fn(&str) -> serde_json::Result<Row<'static, N>>,
}

/// Takes one row with the line in which it stands, or says what is wrong with it.
type Take<'a, 't, N> = &'a mut dyn FnMut(usize, Row<'t, N>) -> Result<(), String>;

impl<N: DeserializeOwned> LineLayout<N> {
    /// Passes on every row of a file. The extension of the file tells its format.
    fn read<'t>(&self, path: &Path, text: &'t str, take: Take<'_, 't, N>) -> Result<(), Misuse> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending == Some("json") {
            return object(path, text, take);
        }
        let is_json = matches!(ending, Some("jsonl" | "ndjson"));
        for (number, line) in (1..).zip(text.lines()) {
            let row = match is_json {
                true => self.object_of_line(line),
                false => self.columns_of_line(line),
            };
            let taken = match row {
                Ok(Some(row)) => take(number, row),
                Ok(None) => Ok(()),
                Err(what) => Err(format!("{what}: {}", quoted(line))),
            };
            taken.map_err(|what| wrong(path, number, what))?;
        }
        Ok(())
    }

    fn object_of_line<'t>(&self, line: &'t str) -> Result<Option<Row<'t, N>>, String> {
        match line.trim().is_empty() {
            true => Ok(None),
            false => (self.json)(line)
                .map(Some)
                .map_err(|error| error.to_string()),
        }
    }

    fn columns_of_line<'t>(&self, line: &'t str) -> Result<Option<Row<'t, N>>, String> {
        let names = self.columns;
        let mut found = [""; 6];
        let mut count = 0;
        // This is the white space of C, which trec_eval looks for: unlike that of Rust, it has the vertical tab.
        let words = line.split(|sign: char| sign.is_ascii_whitespace() || sign == '\u{b}');
        for word in words.filter(|word| !word.is_empty()) {
            if let Some(column) = found.get_mut(count) {
                *column = word;
            }
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        if count != names.len() {
            let (needed, names) = (names.len(), names.join(", "));
            return Err(format!(
                "{needed} columns are needed ({names}), found {count}"
            ));
        }
        let number = (self.parse)(found[self.number])?;
        Ok(Some((found[0].into(), found[2].into(), number)))
    }
}

/// Passes on the entries of one object: queries to documents to numbers. Its entries have no line of their own.
fn object<N: DeserializeOwned>(
    path: &Path,
    text: &str,
    take: Take<'_, '_, N>,
) -> Result<(), Misuse> {
    let all: BTreeMap<String, BTreeMap<String, N>> =
        serde_json::from_str(text).map_err(|error| wrong(path, error.line().max(1), error))?;
    for (query, documents) in all {
        for (document, number) in documents {
            take(1, (query.clone().into(), document.into(), number))
                .map_err(|what| wrong(path, 1, what))?;
        }
    }
    Ok(())
}

/// The text of a file.
fn load(path: &Path) -> Result<String, Misuse> {
    let bytes = fs::read(path)
        .map_err(|error| Misuse::new(format!("failed to read `{}`: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        wrong(path, line, "it is not UTF-8 text")
    })
}

/// Something that is wrong in a line of a file.
fn wrong(path: &Path, line: usize, what: impl Display) -> Misuse {
    Misuse::new(format!("`{}`, line {line}: {what}", path.display()))
}

/// A quote from a file for a message, short and in one line.
fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let short: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_default)
        .collect();
    let more = if text.chars().nth(MOST).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{short}{more}`")
}
