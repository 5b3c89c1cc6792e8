//! Reads tables: CSV, JSON lines and lists of JSON objects, with declared columns or those of a library.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use serde_json::Value;

use super::collect::{Collector, LOWER, UNKNOWN, named_by_input};
use super::json::{self, Walk};
use super::node::Node;
use super::presets::Preset;
use super::record::{Cell, Record, Score};
use super::{Format, ReadError, cut, proposal};
use crate::{Columns, EmptyScore, MetricColumn, MetricKind, Results, Row};

/// Reads a table that may be CSV or JSON.
pub(super) fn either(
    file: &Path,
    preset: &'static Preset,
    columns: &Columns,
) -> Result<Results, ReadError> {
    if super::found::is_json(file)? {
        json(file, Some(preset), columns)
    } else {
        csv(file, Some(preset), columns)
    }
}

/// Reads a CSV file with a header.
pub(super) fn csv(
    file: &Path,
    preset: Option<&'static Preset>,
    columns: &Columns,
) -> Result<Results, ReadError> {
    let records = csv_records(file)?;
    Table { file, records }.read(preset, columns)
}

/// The rows of a file of which nothing is declared, and the format that reads them.
pub(super) fn records(file: &Path) -> Result<(Format, Vec<Record>), ReadError> {
    Ok(match super::found::is_json(file)? {
        true => (
            Format::Jsonl,
            json_records(file, None, &Columns::default())?,
        ),
        false => (Format::Csv, csv_records(file)?),
    })
}

fn csv_records(file: &Path) -> Result<Vec<Record>, ReadError> {
    check_quotes(file)?;
    let mut source = csv::Reader::from_reader(json::open(file)?);
    let header = source.headers().map_err(|error| not_csv(file, &error))?;
    let header: Vec<String> = header.iter().map(str::to_owned).collect();
    // An editor may have written a byte order mark.
    let name = |name: &String| name.trim_start_matches('\u{feff}').trim().to_owned();
    let header: Vec<String> = header.iter().map(name).collect();
    let mut known = BTreeSet::new();
    for name in &header {
        if !known.insert(name) {
            let found = format!("two columns are named `{}`", cut(name, 60));
            return Err(ReadError::new(
                file,
                "line 1",
                found,
                "give each column its own name",
            ));
        }
    }
    let mut records = Vec::new();
    for record in source.records() {
        let record = record.map_err(|error| not_csv(file, &error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let named = header.iter().cloned().zip(record.iter().map(Cell::of_text));
        records.push(Record {
            place: format!("line {line}"),
            cells: named.collect(),
        });
    }
    Ok(records)
}

/// Rejects a quote inside an unquoted field, and a quote that is never closed. The CSV library accepts both, and would
/// silently make one row out of several.
fn check_quotes(file: &Path) -> Result<(), ReadError> {
    #[derive(PartialEq)]
    enum At {
        Start,
        Plain,
        Quoted,
        /// After a quote in a quoted field: the end of the field, or the first half of an escaped quote.
        Quote,
    }
    let refuse = |line: u32, found: &str| {
        let help = "write the file again with quotes around each field that has one, and each of its quotes doubled";
        ReadError::new(file, &format!("line {line}"), found, help)
    };
    let (mut at, mut line, mut opened) = (At::Start, 1, 1);
    for byte in json::open(file)?.bytes() {
        let byte = byte.map_err(|error| ReadError::unreadable(file, &error))?;
        at = match (at, byte) {
            (At::Start, b'"') => {
                opened = line;
                At::Quoted
            }
            (At::Plain, b'"') => return Err(refuse(line, "a quote stands within a field")),
            (At::Quoted, b'"') => At::Quote,
            (At::Quoted, _) | (At::Quote, b'"') => At::Quoted,
            (_, b',' | b'\n' | b'\r') => At::Start,
            (At::Quote, _) => return Err(refuse(line, "a field goes on behind its closing quote")),
            // A byte order mark may come before the first field.
            (At::Start, 0xef | 0xbb | 0xbf) if line == 1 => At::Start,
            _ => At::Plain,
        };
        line += u32::from(byte == b'\n');
    }
    if at == At::Quoted {
        return Err(refuse(opened, "a quote is never closed"));
    }
    Ok(())
}

fn not_csv(file: &Path, error: &csv::Error) -> ReadError {
    let line = error.position().map_or(1, csv::Position::line);
    let found = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("it has {len} fields, and the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8".to_owned(),
        _ => format!("it cannot be read: {error}"),
    };
    let help =
        "write the file again, in UTF-8, with quotes around fields that have commas or line breaks";
    ReadError::new(file, &format!("line {line}"), found, help)
}

/// Reads one JSON object per line, a list of objects, or one object that has such a list.
pub(super) fn json(
    file: &Path,
    preset: Option<&'static Preset>,
    columns: &Columns,
) -> Result<Results, ReadError> {
    let records = json_records(file, preset, columns)?;
    Table { file, records }.read(preset, columns)
}

fn json_records(
    file: &Path,
    preset: Option<&'static Preset>,
    columns: &Columns,
) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    let mut take = |node: Node<'_>| {
        let entries = node.entries()?;
        let cells = entries
            .into_iter()
            .map(|(name, node)| (name.to_owned(), Cell::of(&node)));
        records.push(Record {
            place: node.place().trim_end_matches(": ").to_owned(),
            cells: cells.collect(),
        });
        Ok(())
    };
    if super::found::is_list(file)? {
        let walk = Walk {
            each: &["[]"],
            only: &[],
        };
        json::walk(file, json::open(file)?, walk, take)?;
    } else if let Some((name, rows)) = list_within(file, preset, columns)? {
        for (at, row) in rows.iter().enumerate() {
            take(Node::new(file, format!("{name}[{at}]"), row))?;
        }
    } else {
        json::lines(file, &mut take)?;
    }
    Ok(records)
}

/// The rows of a file that is one object, as an evaluator writes it that puts a summary beside them, and the field that
/// has them. None for lines of objects, of which each is a row.
fn list_within(
    file: &Path,
    preset: Option<&'static Preset>,
    columns: &Columns,
) -> Result<Option<(String, Vec<Value>)>, ReadError> {
    // Behind the first of several lines begins another value, so that the file is no document.
    let Ok(Value::Object(whole)) = json::value(file, json::open(file)?) else {
        return Ok(None);
    };
    let scores = columns.metrics.values().map(|metric| &metric.column);
    let mut named = columns.case.iter().chain(scores);
    let is_row = named.any(|column| whole.contains_key(column.split('.').next().unwrap_or(column)));
    if is_row || preset.is_some() {
        return Ok(None);
    }
    let is_list = |value: &Value| {
        let items = value.as_array().filter(|items| !items.is_empty());
        items.is_some_and(|items| items.iter().all(Value::is_object))
    };
    let keys: Vec<String> = whole
        .keys()
        .map(|key| format!("`{}`", cut(key, 60)))
        .collect();
    let mut lists = whole.into_iter().filter(|(_, value)| is_list(value));
    let help = "write the rows as a list of objects, or one object on each line";
    let refuse = |found: String| Err(ReadError::new(file, "", found, help));
    match (lists.next(), lists.next()) {
        (Some((name, Value::Array(rows))), None) => Ok(Some((name, rows))),
        (Some((first, _)), Some((second, _))) => refuse(format!(
            "the file is one object with several lists of objects, among them `{}` and `{}`",
            cut(&first, 60),
            cut(&second, 60)
        )),
        _ => refuse(format!(
            "the file is one object without a list of objects; it has {}",
            keys.join(", ")
        )),
    }
}

struct Table<'a> {
    file: &'a Path,
    records: Vec<Record>,
}

/// The content of the columns, after all settings are applied.
#[derive(Default)]
struct Layout {
    case: Option<String>,
    input: Vec<String>,
    expected: Vec<String>,
    answer: Option<String>,
    repeat: Option<String>,
    error: Option<String>,
    metrics: Vec<Metric>,
    costs: Vec<(String, &'static str, f64)>,
    lists: &'static [&'static str],
}

/// A metric and the column of its scores.
struct Metric {
    name: String,
    column: String,
    kind: MetricKind,
    empty: EmptyScore,
    /// The column that says why a score is missing.
    error: Option<String>,
}

impl Table<'_> {
    fn read(
        mut self,
        preset: Option<&'static Preset>,
        columns: &Columns,
    ) -> Result<Results, ReadError> {
        let mut collector = Collector::new(preset.map_or("table", |preset| preset.tool));
        let layout = self.layout(preset, columns, &mut collector)?;
        let offset = self.first_repeat(&layout)?;
        let kinds: Vec<MetricKind> = layout
            .metrics
            .iter()
            .map(|metric| self.kind(metric))
            .collect();
        let kind = preset.map_or((|_| UNKNOWN) as fn(&str) -> MetricKind, |preset| {
            preset.kind
        });
        for record in std::mem::take(&mut self.records) {
            let row = self.row(&record, &layout, &kinds, kind, offset, &mut collector)?;
            collector.push(row);
        }
        collector.finish(self.file)
    }

    fn row(
        &self,
        record: &Record,
        layout: &Layout,
        kinds: &[MetricKind],
        kind: fn(&str) -> MetricKind,
        offset: u32,
        collector: &mut Collector,
    ) -> Result<Row, ReadError> {
        let refuse =
            |found: String, help: &str| ReadError::new(self.file, &record.place, found, help);
        let input = digest("kelvin/results/input/v1", &layout.input, record);
        let mut row = Row {
            input,
            scoring: digest("kelvin/results/scoring/v1", &layout.expected, record),
            ..Row::default()
        };
        row.case = match (&layout.case, input) {
            (Some(column), _) => record.text(column).ok_or_else(|| {
                let found = format!("`{column}` is empty, so the sample belongs to no case");
                refuse(found, "give every row the name of its case")
            })?,
            (None, Some(input)) => named_by_input(input),
            (None, None) => {
                let found = format!(
                    "`{}` is empty, so the sample belongs to no case",
                    layout.input.join("`, `")
                );
                return Err(refuse(
                    found,
                    "name a column with the case: `columns: {case: NAME}`",
                ));
            }
        };
        if let Some(column) = &layout.repeat {
            row.repeat = Some(whole(record, column).map(|repeat| repeat + offset).ok_or_else(|| {
                let found = format!("`{column}` is no whole number from 0 to {}", u32::MAX / 2);
                refuse(found, "write the number of the repeat, from 1, or leave `repeat` out of `columns`")
            })?);
        }
        for (column, text) in [
            (layout.input.as_slice(), 0),
            (layout.expected.as_slice(), 1),
        ] {
            let texts: Vec<_> = column
                .iter()
                .filter_map(|column| record.text(column))
                .collect();
            let kept = (!texts.is_empty()).then(|| collector.text(&texts.join("\n")));
            if text == 0 {
                row.texts.input = kept
            } else {
                row.texts.expected = kept
            }
        }
        if let Some(text) = layout
            .answer
            .as_ref()
            .and_then(|column| record.text(column))
        {
            row.texts.answer = Some(collector.text(&text));
        }
        row.error = layout
            .error
            .as_ref()
            .and_then(|column| record.error(column));
        if row.error.is_some() {
            // If there is an error, the evaluator filled in the score, often as 0.
            return Ok(row);
        }
        for (metric, kind) in layout.metrics.iter().zip(kinds) {
            if let Some(error) = metric
                .error
                .as_ref()
                .and_then(|column| record.error(column))
            {
                let why = format!("could not be scored: {}", cut(&error, 200));
                collector.missing(&mut row, &metric.name, Some(*kind), &why);
                continue;
            }
            match record.score(&metric.column) {
                Score::Number(number) => collector.score(&mut row, &metric.name, *kind, number),
                Score::Flag(flag) => {
                    collector.score(&mut row, &metric.name, *kind, f64::from(u8::from(flag)));
                }
                Score::Empty if metric.empty == EmptyScore::Skip => {}
                Score::Empty => {
                    collector.missing(&mut row, &metric.name, Some(*kind), "has no value")
                }
                Score::Text => {
                    let text = record.text(&metric.column).unwrap_or_default();
                    let found =
                        format!("`{}` is `{}`, and no number", metric.column, cut(&text, 60));
                    return Err(refuse(
                        found,
                        "write a number, true or false, or leave the field empty",
                    ));
                }
            }
        }
        for (column, metric, unit) in &layout.costs {
            if let Score::Number(number) = record.score(column) {
                collector.score(&mut row, metric, LOWER, number / unit);
            }
        }
        for list in layout.lists {
            self.listed(record, list, kind, &mut row, collector)?;
        }
        Ok(row)
    }

    /// Reads scores from a list of objects, each with a name.
    fn listed(
        &self,
        record: &Record,
        list: &str,
        kind: fn(&str) -> MetricKind,
        row: &mut Row,
        collector: &mut Collector,
    ) -> Result<(), ReadError> {
        let Some(Cell::Json(value @ Value::Array(_))) = record.cell(list) else {
            return Ok(());
        };
        let place = format!("{}.{list}", record.place);
        for item in Node::new(self.file, place, value).items()? {
            let name = item.need("name")?.text()?;
            let score = match item.find("score")? {
                Some(score) => Some(score),
                None => item.find("value")?,
            };
            let error = item.find("error")?;
            if row.scores.contains_key(name) {
                let found = format!("`{}` is scored twice", cut(name, 60));
                return Err(item.refuse(found, "keep one score of each name for a sample"));
            }
            match (score, error) {
                (_, Some(error)) => {
                    let why = format!("could not be scored: {}", cut(&error.shown(), 200));
                    collector.missing(row, name, Some(kind(name)), &why);
                }
                (Some(score), None) if score.value().is_boolean() => {
                    let kind = MetricKind {
                        yes_no: true,
                        ..kind(name)
                    };
                    collector.score(row, name, kind, f64::from(u8::from(score.flag()?)));
                }
                // A label is not a score.
                (Some(score), None) if score.value().is_string() => {}
                (Some(score), None) => collector.score(row, name, kind(name), score.number()?),
                (None, None) if item.find("label")?.is_some() => {}
                (None, None) => collector.missing(row, name, None, "has no value"),
            }
        }
        Ok(())
    }

    /// The properties of a metric according to the format, and whether all its scores are true or false.
    fn kind(&self, metric: &Metric) -> MetricKind {
        let scores = self
            .records
            .iter()
            .map(|record| record.score(&metric.column));
        let mut scores = scores.filter(|score| *score != Score::Empty).peekable();
        let yes_no = scores.peek().is_some() && scores.all(|score| matches!(score, Score::Flag(_)));
        MetricKind {
            yes_no,
            ..metric.kind
        }
    }

    /// The offset for the numbers of the repeats, so that they begin at 1.
    fn first_repeat(&self, layout: &Layout) -> Result<u32, ReadError> {
        let Some(column) = &layout.repeat else {
            return Ok(0);
        };
        let mut numbers = self
            .records
            .iter()
            .filter_map(|record| whole(record, column));
        Ok(u32::from(numbers.any(|number| number == 0)))
    }

    fn layout(
        &self,
        preset: Option<&'static Preset>,
        columns: &Columns,
        collector: &mut Collector,
    ) -> Result<Layout, ReadError> {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for record in &self.records {
            names.extend(record.cells.keys().map(String::as_str));
        }
        let listed = || {
            let names: Vec<_> = names.iter().map(|name| cut(name, 60)).collect();
            names.join("`, `")
        };
        let declared = |column: &String| {
            if self.records.is_empty() || self.records.iter().any(|record| record.has(column)) {
                return Ok(column.clone());
            }
            let found = format!("there is no column `{column}`");
            let help = format!("name one of `{}`", listed());
            Err(ReadError::new(self.file, "", found, &help))
        };
        let one = |own: &Option<String>, of: fn(&Preset) -> &'static [&'static str]| match own {
            Some(column) => declared(column).map(Some),
            None => Ok(preset.and_then(|preset| {
                let mut found = of(preset).iter().flat_map(|name| matching(name, &names));
                found.next().map(|(column, _)| column)
            })),
        };
        let many = |own: &[String], of: fn(&Preset) -> &'static [&'static str]| {
            if !own.is_empty() {
                return own.iter().map(declared).collect::<Result<Vec<_>, _>>();
            }
            let found = preset.into_iter().flat_map(|preset| of(preset).iter());
            let found = found.flat_map(|name| matching(name, &names));
            Ok(found.map(|(column, _)| column).collect())
        };
        let mut layout = Layout {
            case: one(&columns.case, |preset| preset.case)?,
            input: many(&columns.input, |preset| preset.input)?,
            expected: many(&columns.expected, |preset| preset.expected)?,
            answer: one(&columns.answer, |preset| preset.answer)?,
            repeat: one(&columns.repeat, |preset| preset.repeat)?,
            error: one(&columns.error, |preset| preset.error)?,
            ..Layout::default()
        };
        // The columns of a library are known already, so nothing is proposed for them.
        let own = || proposal::of_rows(Format::Csv, &self.records).filter(|_| preset.is_none());
        let proposed = |help: String| match own() {
            Some(proposal) => format!(
                "{help}; {} would read it, if each `better` is right",
                proposal.lines()
            ),
            None => help,
        };
        if layout.case.is_none() && layout.input.is_empty() && !self.records.is_empty() {
            let help = proposed(format!(
                "say with `columns: {{case: NAME}}` or `columns: {{input: [NAME]}}` which column it is, of `{}`",
                listed()
            ));
            return Err(ReadError::new(
                self.file,
                "",
                "nothing names the case of a row",
                &help,
            ));
        }
        if layout.case.is_none() {
            collector.notice(
                "a case is known by its input, as no column has its name: one whose input is edited counts as a new one",
            );
        }
        for (name, MetricColumn { column, empty }) in &columns.metrics {
            layout.metrics.push(Metric {
                name: name.clone(),
                column: declared(column)?,
                kind: preset.map_or(UNKNOWN, |preset| (preset.kind)(column)),
                empty: *empty,
                error: None,
            });
        }
        if let Some(preset) = preset {
            self.add_metrics(preset, &names, &mut layout);
            layout.lists = preset.lists;
            for &(column, metric, unit) in preset.costs {
                let is_taken = layout
                    .metrics
                    .iter()
                    .any(|own| own.name == metric || own.column == column);
                if names.contains(column) && !is_taken {
                    layout.costs.push((column.to_owned(), metric, unit));
                }
            }
        } else if layout.metrics.is_empty() && !self.records.is_empty() {
            let help = proposed(format!(
                "say which columns are scores: `metrics: {{NAME: {{column: COLUMN}}}}`, of `{}`",
                listed()
            ));
            return Err(ReadError::new(
                self.file,
                "",
                "no metric is declared",
                &help,
            ));
        }
        Ok(layout)
    }

    /// Adds the metrics of a library, by the names of its columns. A column without any number is not a metric; one
    /// with numbers and texts is a metric, and is rejected later.
    fn add_metrics(&self, preset: &'static Preset, names: &BTreeSet<&str>, layout: &mut Layout) {
        let used: BTreeSet<String> = [&layout.case, &layout.answer, &layout.repeat, &layout.error]
            .into_iter()
            .flatten()
            .chain(&layout.input)
            .chain(&layout.expected)
            .chain(layout.metrics.iter().map(|metric| &metric.column))
            .cloned()
            .collect();
        let known = [preset.input, preset.expected, preset.answer, preset.others].concat();
        let of_pattern = |pattern: &&'static str| {
            let found = matching(pattern, names).into_iter();
            let is_any = *pattern == "*";
            found.map(move |(column, name)| (column, name, is_any))
        };
        for (column, name, is_any) in preset.scores.iter().flat_map(of_pattern) {
            let is_taken =
                used.contains(&column) || layout.metrics.iter().any(|m| m.column == column);
            if is_taken || known.contains(&column.as_str()) {
                continue;
            }
            let is_score = |record: &Record| {
                matches!(record.score(&column), Score::Number(_) | Score::Flag(_))
            };
            let is_empty = |record: &Record| record.score(&column) == Score::Empty;
            // A column without any value is a metric that could not be scored at all, if its name shows that it is a
            // metric.
            let is_named = !is_any || (preset.kind)(&name) != UNKNOWN;
            let is_missing = is_named && self.records.iter().all(is_empty);
            if !self.records.iter().any(is_score) && !is_missing {
                continue;
            }
            let errors = preset
                .score_errors
                .iter()
                .flat_map(|pattern| matching(pattern, names));
            let error = errors.into_iter().find(|(_, metric)| *metric == name);
            layout.metrics.push(Metric {
                kind: (preset.kind)(&name),
                name,
                column,
                empty: EmptyScore::Error,
                error: error.map(|(column, _)| column),
            });
        }
    }
}

/// The columns that match a pattern, each with the text that its `*` matches.
fn matching(pattern: &str, names: &BTreeSet<&str>) -> Vec<(String, String)> {
    let Some((before, after)) = pattern.split_once('*') else {
        let name = names
            .get(pattern)
            .map(|name| ((*name).to_owned(), (*name).to_owned()));
        return name.into_iter().collect();
    };
    let part = |name: &&str| {
        let part = name.strip_prefix(before)?.strip_suffix(after)?;
        (!part.is_empty()).then(|| ((*name).to_owned(), part.to_owned()))
    };
    names.iter().filter_map(part).collect()
}

/// A whole number, which pandas may have written as `1.0`.
fn whole(record: &Record, column: &str) -> Option<u32> {
    match record.score(column) {
        Score::Number(number) if (0.0..=f64::from(u32::MAX / 2)).contains(&number) => {
            let whole = number.trunc();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range was looked at right above"
            )]
            let number = (whole - number)
                .abs()
                .lt(&f64::EPSILON)
                .then_some(whole as u32);
            number
        }
        _ => None,
    }
}

/// The digest of some columns; none if all of them are empty.
fn digest(purpose: &str, columns: &[String], record: &Record) -> Option<Digest> {
    let mut fields = Fields::of(purpose);
    let mut is_empty = true;
    for column in columns {
        if let Some(text) = record.text(column) {
            is_empty = false;
            fields = fields.field(column, text);
        }
    }
    (!is_empty).then(|| fields.digest())
}
