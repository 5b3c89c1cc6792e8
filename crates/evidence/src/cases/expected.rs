//! The labels of the cases. They are in a table beside the cases and never in a case, since the pipeline gets the whole
//! text of a case.

use std::collections::BTreeMap;

use super::Case;
use crate::decision::LARGEST;
use crate::label::Label;
use kelvin_base::exit::{Finding, Misuse};
use kelvin_probe::case_files::{self, CaseFile, shown};
use kelvin_run::judge::Scorer;

/// The required columns of a table.
const CASE: &str = "case";
const EXPECTED: &str = "expected";

/// A row that names a case.
struct ExpectedRow<'e> {
    entry: &'e CaseFile,
    line: usize,
    label: String,
}

impl ExpectedRow<'_> {
    fn place(&self) -> String {
        format!("{}:{}", shown(&self.entry.shown), self.line)
    }
}

/// Assigns its label to each case; returns everything that is wrong with the tables.
pub(super) fn label(tables: &[CaseFile], cases: &mut [Case], scorer: &dyn Scorer) -> Vec<Misuse> {
    let mut problems = Vec::new();
    let mut rows: BTreeMap<String, ExpectedRow<'_>> = BTreeMap::new();
    for table in tables {
        let mut bytes = Vec::new();
        let read = case_files::read(table, &mut bytes)
            .map_err(|misuse| vec![misuse])
            .and_then(|text| take(table, &text, &mut rows));
        problems.extend(read.err().unwrap_or_default());
    }
    for (name, row) in rows {
        let Ok(place) = cases.binary_search_by(|case| (*case.name).cmp(&name)) else {
            problems.push(misuse_in_line(
                (row.entry, row.line),
                format!("no case is called `{}`", shown(&name)),
                "name a case by its file without `.md`, or take the row out",
            ));
            continue;
        };
        match Label::of(&row.label).accepted_by(scorer) {
            Ok(()) => cases[place].expected = Some(row.label),
            Err(why) => problems.push(misuse_in_line(
                (row.entry, row.line),
                format!("the label of `{}` is {}", shown(&name), shown(&why)),
                "write it as the pipeline writes its decision: labels are compared by `scorer`",
            )),
        }
    }
    problems
}

/// Adds the rows of a table.
fn take<'e>(
    table: &'e CaseFile,
    text: &str,
    rows: &mut BTreeMap<String, ExpectedRow<'e>>,
) -> Result<(), Vec<Misuse>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("this row has {len} cells, and the first line has {expected_len}"),
            _ => error.to_string(),
        };
        let help = "put a cell with a comma, a quote or a line end between quotes";
        vec![misuse_in_line((table, as_line(line)), what, help)]
    };
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let column = |wanted: &str| {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|(_, name)| *name == wanted);
        match (found.next(), found.next()) {
            (Some((place, _)), None) => Some(place),
            _ => None,
        }
    };
    let (Some(case), Some(expected)) = (column(CASE), column(EXPECTED)) else {
        let header: Vec<&str> = header.iter().collect();
        return Err(vec![misuse_in_line(
            (table, 1),
            format!(
                "the first line is `{}`, and does not name the columns `{CASE}` and `{EXPECTED}`, each once",
                shown(&header.join(","))
            ),
            "let it be `case,expected`; give the file another name if it has no labels for these cases",
        )]);
    };
    let mut problems = Vec::new();
    let mut last = 1;
    for row in reader.records() {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                problems.extend(broken(&error));
                continue;
            }
        };
        last = row.position().map_or(1, |place| as_line(place.line()));
        let (name, label) = (&row[case], &row[expected]);
        let mut wrong =
            |what: String, help| problems.push(misuse_in_line((table, last), what, help));
        if name.is_empty() {
            wrong(
                "this row names no case".to_owned(),
                "write the name of its file without `.md`",
            );
        } else if label.is_empty() {
            wrong(
                format!("the label of `{}` is empty", shown(name)),
                "take the row out where nobody knows the answer; an empty text is written as `\"\"\"\"\"\"`",
            );
        } else if label.len() > LARGEST {
            wrong(
                format!(
                    "the label of `{}` has {} bytes, and no decision has more than {LARGEST}",
                    shown(name),
                    label.len()
                ),
                "label the case with the decision alone",
            );
        } else if let Some(first) = rows.get(name) {
            let what = match Label::of(&first.label) == Label::of(label) {
                true => format!("`{}` is labelled in {} already", shown(name), first.place()),
                false => format!(
                    "`{}` is labelled otherwise in {}",
                    shown(name),
                    first.place()
                ),
            };
            wrong(what, "keep one row for each case");
        } else {
            let row = ExpectedRow {
                entry: table,
                line: last,
                label: label.to_owned(),
            };
            rows.insert(name.to_owned(), row);
        }
    }
    // The CSV reader closes an open quote at the end of the file, so the cell with that quote swallows every row after
    // it.
    if !text.matches('"').count().is_multiple_of(2) {
        problems.push(misuse_in_line(
            (table, last),
            "a quote that opens in this row or before it is never closed".to_owned(),
            "close it; a quote within a cell is written as two, and the cell stands between quotes",
        ));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}

/// The line number of a table in the type that messages use.
fn as_line(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

/// A message about a line of a table.
fn misuse_in_line((table, line): (&CaseFile, usize), what: String, help: &str) -> Misuse {
    Misuse::new(format!("{}:{line}: {what}", shown(&table.shown)))
        .help(help)
        .finding(Finding {
            file: Some(table.path.clone()),
            line: Some(line),
            what,
            help: Some(help.to_owned()),
            ..Finding::default()
        })
}
