//! Reads items from the files that a team already has: a table, a JSON array, or JSON lines, whose columns may have
//! other names. Each item is a JSON text with the line where it begins. For a kind with its own field names, all files
//! are converted to JSON lines with these names. Each item is then on the line where its row begins, so that a problem
//! with an item is reported with the right line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::several::{KnownIds, Naming, printed_list};
use kelvin_run::config::diagnostic::Problem;
use kelvin_run::config::yaml::{Content, Node};

/// The words of the name of a field in lower case: `expected_code`, `expected-code` and `expectedCode` have the same.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for sign in name.chars() {
        if !sign.is_alphanumeric() || sign.is_uppercase() && after_small {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        after_small = sign.is_lowercase() || sign.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The format of the items in a file, by the extension of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// One JSON object per line: `.jsonl`, `.ndjson`.
    Lines,
    /// A JSON array of objects: `.json`.
    Array,
    /// One row per item, below a row with the names of the columns, with this separator between the cells: `.csv`,
    /// `.tsv`. If the names in a `.csv` file contain no comma, the separator may also be `;` or a tab: spreadsheets
    /// write both.
    Table(u8),
}

impl RowForm {
    /// The format by the extension of a file; none for any other extension.
    pub fn of_file(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?.to_lowercase();
        match &*ending {
            "jsonl" | "ndjson" => Some(Self::Lines),
            "json" => Some(Self::Array),
            "csv" => Some(Self::Table(b',')),
            "tsv" => Some(Self::Table(b'\t')),
            _ => None,
        }
    }
}

/// The fields that a kind reads from an item.
#[derive(Clone, Copy, Debug)]
pub struct RowFields {
    /// The fields that are texts. A number in one of them counts as a text, because document ids are often numbers.
    pub texts: &'static [&'static str],
    /// The fields that are lists of texts. In a cell, the elements are separated by `;`, or the cell is a list as JSON
    /// or Python writes it.
    pub lists: &'static [&'static str],
    /// The fields that are lists of ids, which may also be separated by a line end and, where that is clear, by `,` or
    /// `|`.
    pub ids: &'static [&'static str],
    /// All other fields.
    pub others: &'static [&'static str],
    /// The text from which an `id` is made, if the file has none.
    pub question: &'static str,
}

impl RowFields {
    /// The names of all fields.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let lists = self.lists.iter().chain(self.ids);
        let all = self.texts.iter().chain(lists).chain(self.others);
        all.copied()
    }
}

/// The items of a file as JSON lines.
#[derive(Debug, PartialEq, Eq)]
pub struct RowLines {
    /// The lines.
    pub text: String,
    /// The texts with a sign that may stand between ids, if nothing but their form tells whether it does.
    pub cells: Vec<ReadCell>,
}

/// A text that was read as one id or as several by its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadCell {
    /// The line where its item begins, from 1.
    pub line: usize,
    /// The name of its field in the file.
    pub field: String,
    /// What stands there.
    pub text: String,
    /// Whether it was read as several ids.
    pub is_several: bool,
}

/// The maximum length of an id that is made from a question, in characters.
const ID: usize = 60;

/// The items of a file as JSON lines. `named` maps a field of an item to its name in the file, if it differs; then
/// fields of the file that are neither mapped nor read are left out. `exists` says whether there is something with an
/// id that a field of ids may name, if that is known.
///
/// # Errors
///
/// Fails with everything that is wrong with the form of the file, each problem with its position in `text`.
pub fn as_lines(
    text: &str,
    form: RowForm,
    fields: &RowFields,
    named: &BTreeMap<String, String>,
    exists: &dyn Fn(&str, &str) -> Option<bool>,
) -> Result<RowLines, Vec<Problem>> {
    let mut rows = objects(text, form)?;
    let present: BTreeSet<&String> = rows.iter().flat_map(|row| row.object.keys()).collect();
    let absent = named.iter().filter(|(_, field)| !present.contains(field));
    let absent: Vec<Problem> = absent
        .map(|(name, field)| {
            let there: Vec<String> = present.iter().map(|name| format!("`{name}`")).collect();
            Problem::new(
                0..0,
                format!("no item has `{field}`, which stands for `{name}`"),
            )
            .help(format!("the file has {}", there.join(", ")))
        })
        .collect();
    if !absent.is_empty() {
        return Err(absent);
    }
    for row in &mut rows {
        settle(&mut row.object, fields, named);
    }
    let mut cells = Vec::new();
    for field in fields.ids {
        let own = named.get(*field).map_or(*field, String::as_str);
        cells.extend(separate(&mut rows, (field, own), &|id| exists(field, id)));
    }
    cells.sort_by_key(|cell| cell.line);
    let (mut list, mut written) = (String::new(), 1);
    for row in &mut rows {
        // Blank lines before this row, and further lines of the previous row, become empty lines.
        while written < row.line {
            list.push('\n');
            written += 1;
        }
        list.push_str(&Value::Object(std::mem::take(&mut row.object)).to_string());
    }
    list.push('\n');
    Ok(RowLines { text: list, cells })
}

/// Makes a list of every text in a field of ids: which texts name several depends on the others. Returns the texts of
/// which only the form tells it.
fn separate(
    rows: &mut [Row],
    (field, own): (&str, &str),
    exists: &dyn Fn(&str) -> Option<bool>,
) -> Vec<ReadCell> {
    let mut alone = BTreeSet::new();
    for row in &*rows {
        match row.object.get(field) {
            Some(Value::String(text)) if !text.contains([',', '|', '[']) => {
                alone.insert(text.clone());
            }
            Some(Value::Array(ids)) => {
                alone.extend(ids.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {}
        }
    }
    let known = KnownIds {
        exists,
        alone: &alone,
    };
    let mut cells = Vec::new();
    for row in rows {
        let Some(Value::String(text)) = row.object.get(field) else {
            continue;
        };
        let naming = known.naming(text);
        if naming != Naming::One && exists(text).is_none() {
            cells.push(ReadCell {
                line: row.line,
                field: own.to_owned(),
                text: text.clone(),
                is_several: naming != Naming::Unclear,
            });
        }
        let ids = match naming {
            Naming::Several(ids) => ids,
            Naming::One | Naming::Unclear => vec![text.clone()],
        };
        row.object.insert(field.to_owned(), ids.into());
    }
    cells
}

/// The names in a mapping of the configuration that no item has.
pub fn strange_names(mapping: Option<&Node>, fields: &RowFields) -> Vec<Problem> {
    let Some(Content::Map(pairs)) = mapping.map(|node| &node.content) else {
        return Vec::new();
    };
    let strange = pairs.iter().map(|(key, _)| key);
    let strange = strange.filter(|key| fields.names().all(|name| name != key.text));
    strange
        .map(|key| {
            let names: Vec<String> = fields.names().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            Problem::new(
                key.at.clone(),
                format!("no item has a field `{}`", key.text),
            )
            .help(format!(
                "on the left stands one of {names}, on the right its name in the file"
            ))
        })
        .collect()
}

/// An unchecked item from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRow {
    /// The line where the item begins, from 1.
    pub line: usize,
    /// Its JSON text. For a row of a table, this is an object whose values are texts, in the order of the columns. A
    /// line or an array element need not be valid JSON, or an object.
    pub text: String,
}

/// Splits a file into its items.
///
/// # Errors
///
/// Fails with what is wrong with the whole file, each problem with its position in `text`.
pub fn split(text: &str, form: RowForm) -> Result<Vec<RawRow>, Vec<Problem>> {
    match form {
        RowForm::Lines => {
            let lines = (1..).zip(text.split('\n'));
            let rows = lines.map(|(line, text)| RawRow {
                line,
                text: text.trim().to_owned(),
            });
            Ok(rows.filter(|row| !row.text.is_empty()).collect())
        }
        RowForm::Array => array(text),
        RowForm::Table(between) => table(text, between),
    }
}

/// The first item of a file; none if no item could be read.
pub fn first(text: &str, form: RowForm) -> Option<Map<String, Value>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rows = split(text, form).ok()?;
    serde_json::from_str(&rows.first()?.text).ok()
}

/// An item that is an object.
struct Row {
    line: usize,
    object: Map<String, Value>,
}

/// The objects of a file, each on its own line.
fn objects(text: &str, form: RowForm) -> Result<Vec<Row>, Vec<Problem>> {
    let (mut rows, mut problems): (Vec<Row>, Vec<Problem>) = (Vec::new(), Vec::new());
    let what = match form {
        RowForm::Array => "element",
        RowForm::Lines | RowForm::Table(_) => "line",
    };
    for row in split(text, form)? {
        // If two elements are on one line, only one of them can have this line number.
        let line = rows.last().map_or(0, |last| last.line + 1).max(row.line);
        match serde_json::from_str(&row.text) {
            Ok(Value::Object(mut object)) => {
                if let RowForm::Table(_) = form {
                    object
                        .retain(|_, cell| cell.as_str().is_none_or(|cell| !cell.trim().is_empty()));
                }
                rows.push(Row { line, object });
            }
            Ok(_) => problems.push(
                Problem::new(
                    line_at(text, row.line),
                    format!("the {what} is no JSON object"),
                )
                .help("write one object for each item"),
            ),
            Err(error) => problems.push(
                Problem::new(
                    line_at(text, row.line),
                    format!("the {what} is not JSON: {error}"),
                )
                .help("write one JSON object for each item"),
            ),
        }
    }
    match problems.is_empty() {
        true => Ok(rows),
        false => Err(problems),
    }
}

/// Gives the fields of an item the names and the types that a kind reads.
fn settle(object: &mut Map<String, Value>, fields: &RowFields, named: &BTreeMap<String, String>) {
    if !named.is_empty() {
        let known: BTreeSet<&str> = fields.names().collect();
        let old = std::mem::take(object);
        for (key, value) in old {
            match named.iter().find(|(_, field)| **field == key) {
                Some((name, _)) => {
                    object.insert(name.clone(), value);
                }
                None if known.contains(&*key) && !named.contains_key(&key) => {
                    object.insert(key, value);
                }
                None => {}
            }
        }
    }
    object.retain(|_, value| !value.is_null());
    for (key, value) in object.iter_mut() {
        match &**key {
            name if fields.lists.contains(&name) => as_list(value, &[';']),
            name if fields.ids.contains(&name) => as_ids(value),
            name if name == "id" || fields.texts.contains(&name) => as_text(value),
            name if fields.others.contains(&name) => as_json(value),
            _ => {}
        }
    }
    if let (false, Some(Value::String(question))) =
        (object.contains_key("id"), object.get(fields.question))
    {
        let id = Value::from(slug(question));
        object.insert("id".to_owned(), id);
    }
}

fn as_text(value: &mut Value) {
    if let Value::Number(number) = value {
        *value = Value::from(number.to_string());
    }
}

/// Parses the JSON in a cell, if it contains any.
fn as_json(value: &mut Value) {
    if let Value::String(cell) = value {
        let plain = match cell.trim() {
            "TRUE" | "True" => "true",
            "FALSE" | "False" => "false",
            cell => cell,
        };
        if let Ok(meant) = serde_json::from_str(plain) {
            *value = meant;
        }
    }
}

/// A list of the texts in a cell, which stand between these signs, or which the cell has as a list in JSON or Python.
fn as_list(value: &mut Value, between: &[char]) {
    as_text(value);
    if value
        .as_str()
        .is_some_and(|text| text.trim_start().starts_with('['))
    {
        as_json(value);
    }
    match value {
        Value::String(text) => {
            let parts = text.split(between).map(str::trim);
            let parts = parts.filter(|part| !part.is_empty()).map(str::to_owned);
            *value = printed_list(text).unwrap_or_else(|| parts.collect()).into();
        }
        Value::Array(items) => items.iter_mut().for_each(as_text),
        _ => {}
    }
}

/// A list of ids, or the text alone that is one id or several.
fn as_ids(value: &mut Value) {
    let whole = value.as_str().map(|text| text.trim().to_owned());
    as_list(value, &[';', '\n']);
    if let Some(whole) = whole.filter(|whole| *value == Value::from(vec![&**whole])) {
        *value = Value::String(whole);
    }
}

/// An id that is made from a question: its letters and digits in lower case, with `-` between the words.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(ID).collect();
    match slug.trim_end_matches('-') {
        "" => "item".to_owned(),
        slug => slug.to_owned(),
    }
}

fn array(text: &str) -> Result<Vec<RawRow>, Vec<Problem>> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
        let at = line_at(text, error.line());
        let problem = match text.trim_start().starts_with('{') {
            true => Problem::new(
                at,
                "the file is one object, and an array of objects is looked for",
            ),
            false => {
                let said = error.to_string();
                let end = said.rfind(" at line ").unwrap_or(said.len());
                let column = error.column();
                Problem::new(
                    at,
                    format!("not JSON: {}, in column {column}", &said[..end]),
                )
            }
        };
        vec![
            problem
                .help("write `[{…}, {…}]`, or one object a line into a file that ends in `.jsonl`"),
        ]
    })?;
    let (mut line, mut counted) = (1, 0);
    let rows = elements.into_iter().map(|element| {
        // The element is a part of the text.
        let start = element.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..start].matches('\n').count();
        counted = start;
        RawRow {
            line,
            text: element.get().to_owned(),
        }
    });
    Ok(rows.collect())
}

/// The separator between the cells of a table, judging by its first line.
fn separator(text: &str, usual: u8) -> u8 {
    let first = text.lines().next().unwrap_or_default().as_bytes();
    let others = [b';', b'\t'];
    match first.contains(&usual) {
        true => usual,
        false => others
            .into_iter()
            .find(|sign| first.contains(sign))
            .unwrap_or(usual),
    }
}

fn table(text: &str, usual: u8) -> Result<Vec<RawRow>, Vec<Problem>> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(text, usual))
        .from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(0, csv::Position::line);
        let at = line_at(text, usize::try_from(line).unwrap_or_default());
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("this row has {len} cells, and the first line has {expected_len}"),
            _ => format!("the table cannot be read: {error}"),
        };
        Problem::new(at, what).help("put a cell with a comma, a quote or a line end between quotes")
    };
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return Err(vec![broken(&error)]),
    };
    let mut columns = BTreeSet::new();
    if let Some(twice) = header.iter().find(|name| !columns.insert(name.trim())) {
        let problem = Problem::new(
            line_at(text, 1),
            format!("two columns are called `{twice}`"),
        );
        return Err(vec![problem.help("give every column a name of its own")]);
    }
    let (mut rows, mut problems): (Vec<RawRow>, Vec<Problem>) = (Vec::new(), Vec::new());
    let (mut counted, mut line) = (0, 1);
    // The line of a row, whose bytes begin with the blank lines before it.
    let mut line_of = |start: usize| {
        let blank = text[start..].len() - text[start..].trim_start_matches(['\n', '\r']).len();
        line += text[counted..start + blank].matches('\n').count();
        counted = start + blank;
        line
    };
    for row in reader.records() {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                problems.push(broken(&error));
                continue;
            }
        };
        let start = row.position().map_or(0, csv::Position::byte);
        let cells = header.iter().map(str::trim).zip(&row);
        let members: Vec<String> = cells
            .map(|(column, cell)| format!("{}: {}", Value::from(column), Value::from(cell)))
            .collect();
        rows.push(RawRow {
            line: line_of(usize::try_from(start).unwrap_or_default()),
            text: format!("{{{}}}", members.join(", ")),
        });
    }
    // The CSV reader closes an open quote at the end of the file, so that cell has swallowed every row below it.
    if !text.matches('"').count().is_multiple_of(2) {
        let last = rows.last().map(|row| line_at(text, row.line));
        let at = problems.last().map(|problem| problem.at.clone()).or(last);
        let problem = Problem::new(
            at.unwrap_or_else(|| line_at(text, 1)),
            "a quote that opens in this row or before it is never closed",
        );
        problems =
            vec![problem.help("write a quote within a cell as two, and the cell between quotes")];
    }
    match problems.is_empty() {
        true => Ok(rows),
        false => Err(problems),
    }
}

/// The byte range of a line, from 1; the whole file if there is no such line.
fn line_at(text: &str, number: usize) -> std::ops::Range<usize> {
    let mut start = 0;
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        if line == number {
            return start..start + whole.trim_end().len();
        }
        start += whole.len();
    }
    0..0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: RowFields = RowFields {
        texts: &["query"],
        lists: &["words"],
        ids: &["docs"],
        others: &["refuse"],
        question: "query",
    };

    fn read(text: &str, form: RowForm, named: &[(&str, &str)]) -> Result<String, Vec<Problem>> {
        let named = named.iter();
        let named = named.map(|(name, field)| ((*name).to_owned(), (*field).to_owned()));
        let lines = as_lines(text, form, &FIELDS, &named.collect(), &|_, _| None)?;
        assert_eq!(lines.cells, []);
        Ok(lines.text)
    }

    const NAMED: [(&str, &str); 2] = [("query", "q"), ("docs", "source")];

    #[test]
    fn tables_arrays_and_lines_become_the_same_lines_each_at_its_place() {
        let table = "nr,q,source,refuse\n7,\"How\nlong?\",a; b,\n\n8,true,\"[\"\"x;y\"\"]\",TRUE\n";
        let expected = "\n{\"docs\":[\"a\",\"b\"],\"id\":\"how-long\",\"query\":\"How\\nlong?\"}\n\n\n\
                        {\"docs\":[\"x;y\"],\"id\":\"true\",\"query\":\"true\",\"refuse\":true}\n";
        assert_eq!(
            read(table, RowForm::Table(b','), &NAMED),
            Ok(expected.to_owned())
        );
        let array = "[\n{\"nr\": 7, \"q\": \"How\\nlong?\", \"source\": [\"a\", \"b\"]},\n\n\n\
                     {\"q\": \"true\", \"source\": \"[\\\"x;y\\\"]\", \"refuse\": true}]";
        assert_eq!(read(array, RowForm::Array, &NAMED), Ok(expected.to_owned()));
        let lines = "\n{\"q\": \"How\\nlong?\", \"source\": \"a;b\", \"refuse\": null}\n\n\n\
                     {\"q\": \"true\", \"source\": [\"x;y\"], \"refuse\": true}";
        assert_eq!(read(lines, RowForm::Lines, &NAMED), Ok(expected.to_owned()));
    }

    #[test]
    fn without_names_a_field_that_is_not_read_stays_so_that_a_slip_is_told() {
        let kept = read("id,query,dosc\n1,Why?,a\n", RowForm::Table(b','), &[]);
        assert!(kept.expect("read").contains("\"dosc\":\"a\""));
        // The name of a field that another one is named for is not taken.
        let swapped = read(
            "{\"query\": \"rewritten\", \"q\": \"asked\"}",
            RowForm::Lines,
            &[("query", "q")],
        );
        assert!(swapped.expect("read").contains("\"query\":\"asked\""));
        let numbers = read("{\"query\": 5, \"docs\": [1, 2]}", RowForm::Lines, &[]);
        assert_eq!(
            numbers,
            Ok("{\"docs\":[\"1\",\"2\"],\"id\":\"5\",\"query\":\"5\"}\n".to_owned())
        );
    }

    #[test]
    fn the_separator_of_a_table_is_seen_in_its_first_line() {
        let rows = |text: &str, form| {
            let rows = split(text, form).expect("read");
            rows.into_iter()
                .map(|row| (row.line, row.text))
                .collect::<Vec<_>>()
        };
        let wanted = [(2, "{\"q\": \"a, b\", \"docs\": \"\"}".to_owned())];
        for (text, usual) in [
            ("q,docs\n\"a, b\",\n", b','),
            ("q;docs\na, b;\n", b','),
            ("q\tdocs\na, b\t\n", b','),
            ("q\tdocs\na, b\t\n", b'\t'),
        ] {
            assert_eq!(rows(text, RowForm::Table(usual)), wanted, "{text}");
        }
        assert_eq!(
            rows("q\na;b\n", RowForm::Table(b',')),
            [(2, "{\"q\": \"a;b\"}".to_owned())]
        );
        let found = first("\u{feff}q;docs\nWhy;x\n", RowForm::Table(b',')).expect("an item");
        assert_eq!(found["docs"], "x");
        assert_eq!(first("[3]", RowForm::Array), None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str, form, named: &[(&str, &str)]| {
            let found = read(text, form, named).expect_err("refused");
            let line = |problem: &Problem| 1 + text[..problem.at.start].matches('\n').count();
            let told = found
                .iter()
                .map(|problem| (line(problem), problem.message.clone()));
            told.collect::<Vec<_>>()
        };
        let table = RowForm::Table(b',');
        assert_eq!(told("a,b\n1\n", table, &[])[0].0, 2);
        insta::assert_snapshot!(told("a,a\n1,2\n", table, &[])[0].1, @"two columns are called `a`");
        insta::assert_snapshot!(told("a,b\n\"1,2\n3,4\n", table, &[])[0].1, @"a quote that opens in this row or before it is never closed");
        assert!(
            told("a,b\n1,2\n", table, &[("query", "c")])[0]
                .1
                .contains("`c`")
        );
        assert_eq!(told("{}\n[]\n{\n", RowForm::Lines, &[]).len(), 2);
        assert_eq!(told("{}\n[]\n", RowForm::Lines, &[])[0].0, 2);
        assert_eq!(told("{\"a\": 1}", RowForm::Array, &[]).len(), 1);
        assert_eq!(told("[{},\n 3]", RowForm::Array, &[])[0].0, 2);
        assert_eq!(told("", table, &[("query", "c")]).len(), 1);
    }
}
