//! Cases that are records of one file: JSON lines, a JSON array, or a table.

mod canonical;
mod find;
mod json;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::markdown::BLANK;
use super::{Case, DocumentForm, Unit};
use crate::EvidenceSettings;
use crate::config::RecordSettings;
use crate::decision::LARGEST;
use crate::label::Label;
use canonical::{KeyOrder, canonical};
use find::{FieldProblem, FoundUnits};
use json::{JsonType, MemberSpan};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::{Finding, Misuse};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::{file, threads};
use kelvin_page::have;
use kelvin_probe::case_files::{self, CaseFile, shown};
use kelvin_probe::rows::{self, RawRow, RowForm};
use kelvin_run::config::diagnostic::Problem;
use kelvin_run::judge::{self, Scorer};

/// The valid cases of a file of records, sorted by name.
#[derive(Default)]
pub(super) struct ReadRecords {
    pub(super) cases: Vec<Case>,
    pub(super) notices: Vec<Notice>,
    pub(super) remarks: Vec<Notice>,
    pub(super) problems: Vec<Misuse>,
}

impl ReadRecords {
    /// A file without a usable case.
    fn refused(problems: Vec<Misuse>) -> Self {
        Self {
            problems,
            ..Self::default()
        }
    }
}

/// How many problems are reported one by one: a file of another format has one in every line.
const MOST: usize = 20;

/// How many records are read at a time.
const BLOCK: usize = 64;

/// How many lines a notice names.
const NAMED: usize = 5;

/// Reads the file of records that the settings name.
pub(super) fn read(root: &Path, settings: &EvidenceSettings) -> ReadRecords {
    let below = Path::new(&settings.cases).strip_prefix(root).ok();
    let written = below.and_then(Path::to_str).unwrap_or(&settings.cases);
    let written = written.trim_start_matches("./");
    let file = CaseFile {
        name: written.into(),
        path: root.join(written),
        shown: written.into(),
    };
    if !file.path.is_file() {
        let what = format!(
            "the file of the cases, `{}`, does not exist",
            shown(written)
        );
        let help = "`cases` in the configuration names a file with one record a case, or a folder with one Markdown \
                    file a case, relative to the configuration file";
        return ReadRecords::refused(vec![Misuse::new(what).help(help)]);
    }
    let mut bytes = Vec::new();
    let text = match case_files::read(&file, &mut bytes) {
        Ok(text) => text,
        Err(misuse) => return ReadRecords::refused(vec![misuse]),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let form = RowForm::of_file(Path::new(written)).unwrap_or(RowForm::Lines);
    let records = match rows::split(text, form) {
        Ok(records) => records,
        Err(problems) => {
            let problem = |problem: Problem| {
                let before = &text.as_bytes()[..problem.at.start];
                let line = 1 + memchr::memchr_iter(b'\n', before).count();
                let problem = FieldProblem {
                    what: problem.message,
                    help: problem.help.unwrap_or_default(),
                };
                misuse(&file, line, problem)
            };
            return ReadRecords::refused(problems.into_iter().map(problem).collect());
        }
    };
    if records.is_empty() {
        let what = format!("{} has no record", shown(written));
        let help = "put one record a case there";
        return ReadRecords::refused(vec![Misuse::new(what).help(help)]);
    }
    assemble(&file, &records, settings)
}

/// A problem in a line, as a message for a person and in parts for a program.
fn misuse(file: &CaseFile, line: usize, problem: FieldProblem) -> Misuse {
    let (what, help) = (shown(&problem.what), problem.help);
    Misuse::new(format!("{}:{line}: {what}", shown(&file.shown)))
        .help(help.clone())
        .finding(Finding {
            file: Some(file.path.clone()),
            line: Some(line),
            what,
            help: Some(help),
            ..Finding::default()
        })
}

/// Problems with their lines.
type LineProblems = Vec<(usize, FieldProblem)>;

/// A record that was read.
struct ReadRecord {
    line: usize,
    id: Option<String>,
    expected: Option<String>,
    document: String,
    found: FoundUnits,
    problems: Vec<FieldProblem>,
    /// The keys at the top level, for messages.
    keys: Vec<String>,
}

/// Makes cases from the records of a file.
fn assemble(file: &CaseFile, records: &[RawRow], settings: &EvidenceSettings) -> ReadRecords {
    let rules = &settings.records;
    let read = threads::map_blocks(records, BLOCK, |block| {
        let scorer = judge::chosen_scorer(&settings.scorer);
        block
            .iter()
            .map(|record| one_record(record, rules, &*scorer))
            .collect::<Vec<ReadRecord>>()
    });
    let read: Vec<ReadRecord> = read.into_iter().flatten().collect();
    let mut all = ReadRecords::default();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let has_ids = read.iter().any(|record| record.id.is_some());
    let by_content = match has_ids {
        true => Vec::new(),
        false => names_by_content(&read, &settings.governing_types),
    };
    let mut by_content = by_content.into_iter();
    let unlabelled = no_label(file, &read, rules);
    let mut census = Census {
        has_ids,
        ..Census::default()
    };
    let mut problems: LineProblems = Vec::new();
    for record in read {
        let line = record.line;
        let by_content = by_content.next();
        let broken = !record.problems.is_empty();
        problems.extend(record.problems.into_iter().map(|problem| (line, problem)));
        if broken {
            continue;
        }
        let name = match (&record.id, by_content) {
            (Some(id), _) => name_of(id),
            (None, Some(name)) => name,
            (None, None) => {
                problems.push((line, no_id(rules, &record.keys)));
                continue;
            }
        };
        // Two folders whose names differ only in case are the same folder on many machines.
        if let Some(first) = names.insert(name.to_lowercase(), line) {
            let what = format!(
                "the id `{}` is that of line {first} too, or differs in upper and lower case only",
                record.id.as_deref().unwrap_or(&name)
            );
            let help =
                "give every record an id of its own; `records: {id: FIELD}` names another field"
                    .to_owned();
            problems.push((line, FieldProblem { what, help }));
            continue;
        }
        census.count(line, &record.found, &record.keys);
        let case = case_of(&name, &file.shown, line, record.document, record.found);
        all.cases.push(Case {
            expected: record.expected,
            ..case
        });
    }
    let left = problems.len().saturating_sub(MOST);
    all.problems = problems
        .into_iter()
        .take(MOST)
        .map(|(line, problem)| misuse(file, line, problem))
        .collect();
    if left > 0 {
        let what = format!("{}: {left} further problems like these", shown(&file.shown));
        all.problems.push(Misuse::new(what));
    }
    all.problems.extend(census.nowhere(file, rules));
    all.cases.sort_by(|one, two| one.name.cmp(&two.name));
    all.remarks = vec![census.remark(file, rules, records.len())];
    all.notices = census.notices(file);
    all.notices.extend(unlabelled);
    all
}

/// The name of a case, which becomes the name of a folder.
fn name_of(id: &str) -> String {
    let name = file::slug(id.trim());
    match name.to_lowercase().starts_with("report.") {
        true => format!("case-{name}"),
        false => name,
    }
}

/// How the names begin that are made of what a record says, and how many digits of its digest follow.
const BY_CONTENT: &str = "case-";
const DIGITS: usize = 12;

/// Whether a name is one that [`names_by_content`] gives.
pub(crate) fn is_named_by_content(name: &str) -> bool {
    let digits = name
        .strip_prefix(BY_CONTENT)
        .and_then(|rest| rest.get(..DIGITS));
    digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// The names of records without an id, made of what a record says and not of its place in the file: a record that is
/// inserted, removed or moved must not give its neighbors the names of others. What governs is what a case is about, so
/// that it keeps its name where another field is added or edited. Where several records have that in common, the whole
/// record tells them apart.
fn names_by_content(read: &[ReadRecord], governing: &[String]) -> Vec<String> {
    let governs: Vec<Digest> = read
        .iter()
        .map(|record| governs(record, governing))
        .collect();
    let mut alike: BTreeMap<Digest, usize> = BTreeMap::new();
    for content in &governs {
        *alike.entry(*content).or_default() += 1;
    }
    let mut taken: BTreeMap<Digest, usize> = BTreeMap::new();
    let named = read.iter().zip(governs).map(|(record, governs)| {
        let content = match alike[&governs] {
            1 => governs,
            _ => whole(record),
        };
        let name = format!("{BY_CONTENT}{}", content.short(DIGITS));
        let number = taken.entry(content).or_default();
        *number += 1;
        match *number {
            1 => name,
            number => format!("{name}-{number}"),
        }
    });
    named.collect()
}

/// The digest of the units of a record that govern its decision; of the whole record if it has none.
fn governs(record: &ReadRecord, governing: &[String]) -> Digest {
    let units = record.found.units.iter();
    let mut units: Vec<(&str, &str)> = units
        .filter(|unit| governing.contains(&unit.unit_type))
        .map(|unit| (&*unit.unit_type, &*unit.text))
        .collect();
    if units.is_empty() {
        return whole(record);
    }
    // The columns of a table may change places.
    units.sort_by_key(|(unit_type, _)| *unit_type);
    let fields = Fields::of("record");
    let fields = units.into_iter().fold(fields, |fields, (unit_type, text)| {
        fields.field(unit_type, text)
    });
    fields.digest()
}

/// The digest of everything that the pipeline gets of a record.
fn whole(record: &ReadRecord) -> Digest {
    Digest::of(canonical(&record.document, KeyOrder::Sorted).as_bytes())
}

fn no_id(rules: &RecordSettings, keys: &[String]) -> FieldProblem {
    let id = rules.id.as_deref().unwrap_or(DEFAULT_ID);
    FieldProblem {
        what: format!(
            "the record has no `{id}`, which other records have; it has {}",
            listed(keys.iter().map(String::as_str))
        ),
        help: "give every record an id, or take it out of all: then they are named by their texts"
            .to_owned(),
    }
}

/// A notice that no case has a label, because no record has the configured field, or because a field differs from the
/// expected name only in upper and lower case. Without the notice a misspelt name would look like a run without labels,
/// and the pipeline would get the label as an input. None if a record has the field.
fn no_label(file: &CaseFile, read: &[ReadRecord], rules: &RecordSettings) -> Option<Notice> {
    let field = rules.expected.as_deref().unwrap_or(DEFAULT_LABEL);
    let keys = &read.first()?.keys;
    let mut all = read.iter().flat_map(|record| &record.keys);
    if all.clone().any(|key| key == field) {
        return None;
    }
    if let Some(meant) = all.find(|key| key.to_lowercase() == field.to_lowercase()) {
        let (meant, field) = (shown(meant), shown(field));
        let text = format!(
            "{}: the label is looked for in the field `{field}`, and the records have `{meant}`, so no case has a label and \
             the pipeline gets it: write `records: {{expected: {meant}}}`",
            shown(&file.shown)
        );
        return Some(Notice::new(Code::own("no_labels"), text));
    }
    rules.expected.as_ref()?;
    let text = format!(
        "{}: no record has the field `{}` that `records.expected` names, so no case has a label; it is a field at the top \
         of a record, and not one within another: the first record has {}",
        shown(&file.shown),
        shown(field),
        shown(&listed(keys.iter().map(String::as_str)))
    );
    Some(Notice::new(Code::own("no_labels"), text))
}

/// The default names of the fields with the name and the label of a case.
const DEFAULT_ID: &str = "id";
const DEFAULT_LABEL: &str = "expected";

/// Names in a message; a long list is shortened.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "no field".to_owned(),
        1..=12 => names.join(", "),
        more => format!("{} and {} more", names[..12].join(", "), more - 12),
    }
}

/// Reads one record.
fn one_record(raw: &RawRow, rules: &RecordSettings, scorer: &dyn Scorer) -> ReadRecord {
    let mut record = ReadRecord {
        line: raw.line,
        id: None,
        expected: None,
        document: raw.text.clone(),
        found: FoundUnits::default(),
        problems: Vec::new(),
        keys: Vec::new(),
    };
    let label_key = rules.expected.as_deref().unwrap_or(DEFAULT_LABEL);
    let mut top = match top_of(&record.document) {
        Ok(top) => top,
        Err(problem) => {
            record.problems.push(problem);
            return record;
        }
    };
    record.keys = top.iter().map(|member| member.key.clone()).collect();
    if let Some(place) = top.iter().position(|member| member.key == label_key) {
        let value = &record.document[top[place].value.clone()];
        match label_of(value, label_key, scorer) {
            Ok(label) => record.expected = label,
            Err(problem) => record.problems.push(problem),
        }
        // The pipeline must never get the label.
        let whole = 0..record.document.len();
        record.document = json::without(&record.document, &whole, &top, place);
    }
    record.document = canonical(&record.document, KeyOrder::Written);
    top = match top_of(&record.document) {
        Ok(top) => top,
        Err(problem) => {
            record.problems.push(problem);
            return record;
        }
    };
    let id_key = rules.id.as_deref().unwrap_or(DEFAULT_ID);
    match top.iter().find(|member| member.key == id_key) {
        Some(member) => match id_of(&record.document[member.value.clone()], id_key) {
            Ok(id) => record.id = Some(id),
            Err(problem) => record.problems.push(problem),
        },
        None if rules.id.is_some() => record.problems.push(FieldProblem {
            what: format!(
                "the record has no `{id_key}`, which `records.id` names; it has {}",
                listed(record.keys.iter().map(String::as_str))
            ),
            help: "name a field that every record has, or leave `records.id` out: then the records are named by their \
                   texts"
                .to_owned(),
        }),
        None => {}
    }
    record.found = match (&rules.turns, rules.units.is_empty()) {
        (Some(turns), _) => turns::in_turns(
            &record.document,
            &top,
            turns,
            &rules.units,
            &[id_key, label_key],
        ),
        (None, true) => find::at_the_top(&record.document, &top, &[id_key, label_key]),
        (None, false) => find::declared(&record.document, &top, &rules.units),
    };
    record.problems.append(&mut record.found.problems);
    record
}

/// The members of a record.
fn top_of(text: &str) -> Result<Vec<MemberSpan>, FieldProblem> {
    json::members(text, &(0..text.len())).map_err(|error| {
        let reason = find::reason(&error);
        let is_json = error.is_data();
        FieldProblem {
            what: match is_json {
                true => format!("not a record: {reason}"),
                false => format!("not JSON: {reason}, in column {} of the record", error.column()),
            },
            help: match is_json {
                true => "a record is an object such as `{\"id\": \"a\", \"policy\": \"...\"}`, each key once".to_owned(),
                false => "write one whole JSON object a record; a line end within a text is written as `\\n`".to_owned(),
            },
        }
    })
}

/// The id of a record: a string or a number.
fn id_of(value: &str, key: &str) -> Result<String, FieldProblem> {
    let id = match JsonType::of_value(value) {
        JsonType::Text => serde_json::from_str::<String>(value).ok(),
        JsonType::Number => Some(value.to_owned()),
        _ => None,
    };
    id.filter(|id| !id.trim().is_empty()).ok_or_else(|| {
        let kind = JsonType::of_value(value);
        let found = match kind {
            JsonType::Text => "an empty text, or one that is broken",
            kind => kind.name(),
        };
        FieldProblem {
            what: format!("`{key}` is {found}, and a case is named by a text or a number"),
            help: "write a short text, or name another field with `records: {id: FIELD}`"
                .to_owned(),
        }
    })
}

/// The label in a record, in the form of a table of labels: a string that would be read as a number is written as JSON.
fn label_of(value: &str, key: &str, scorer: &dyn Scorer) -> Result<Option<String>, FieldProblem> {
    let problem = |what: String| FieldProblem {
        what,
        help: "write it as the pipeline writes its decision: labels are compared by `scorer`"
            .to_owned(),
    };
    let label = match JsonType::of_value(value) {
        JsonType::Null => return Ok(None),
        JsonType::Text => {
            let text: String = serde_json::from_str(value)
                .map_err(|_| problem(format!("the label `{key}` is no valid text")))?;
            if text.trim().is_empty() {
                return Ok(None);
            }
            let is_plain =
                text.trim() == text && serde_json::from_str::<serde_json::Value>(&text).is_err();
            if is_plain { text } else { value.to_owned() }
        }
        _ => value.to_owned(),
    };
    if label.len() > LARGEST {
        return Err(problem(format!(
            "the label `{key}` has {} bytes, and no decision has more than {LARGEST}",
            label.len()
        )));
    }
    match Label::of(&label).accepted_by(scorer) {
        Ok(()) => Ok(Some(label)),
        Err(why) => Err(problem(format!("the label `{key}` is {why}"))),
    }
}

/// A case made from a record and its units.
fn case_of(name: &str, file: &Arc<str>, line: usize, document: String, found: FoundUnits) -> Case {
    let mut text = String::new();
    let mut units = Vec::with_capacity(found.units.len());
    let mut slots = Vec::with_capacity(found.units.len());
    for unit in found.units {
        let start = text.len();
        text.push_str(&unit.text);
        let body = unit.text.trim_end_matches(BLANK);
        // A Markdown section with the same type and text has the same digest, so that equal evidence gets equal
        // variants.
        let content = format!("## {}\n\n{body}", unit.unit_type);
        units.push(Unit {
            body: start..start + body.len(),
            heading_end: start,
            end: text.len(),
            line,
            content: Digest::of(super::with_newline(&content, "\n").as_bytes()),
            unit_type: unit.unit_type.into(),
            list: unit.list.and_then(|list| u32::try_from(list).ok()),
            fixed: unit.fixed,
            turn: unit.turn.and_then(|turn| u32::try_from(turn).ok()),
        });
        slots.push(Slot {
            element: unit.element,
            value: unit.value,
        });
    }
    let lists = found.lists.into_iter().map(|list| RecordList {
        name: list.name.into(),
        takes_texts: list.takes_texts,
        is_chat: list.is_chat,
    });
    let form = RecordForm {
        document: document + "\n",
        slots,
        lists: lists.collect(),
        turns: found.turns.map(|turns| turns.into()),
    };
    Case {
        name: name.into(),
        file: Arc::clone(file),
        text,
        units,
        newline: "\n",
        is_unix: true,
        expected: None,
        form: DocumentForm::Record(Box::new(form)),
    }
}

/// Totals over the records of a file.
#[derive(Default)]
struct Census {
    records: usize,
    /// Whether the records have ids.
    has_ids: bool,
    /// The keys at the top level of the first record.
    keys: Vec<String>,
    /// How many units of each type there are, and in how many records.
    types: BTreeMap<String, (usize, usize)>,
    /// The types of units in arrays.
    in_lists: BTreeSet<String>,
    /// The lines of the records that lack a declared type.
    absent: BTreeMap<String, Vec<usize>>,
    /// The fields without a unit.
    passed: BTreeMap<String, &'static str>,
    /// The fields besides the turns, which the pipeline does not get.
    beside: BTreeMap<String, &'static str>,
    /// The smallest and the largest number of turns in a record.
    turns: Option<(usize, usize)>,
    /// The lines of the records whose conversation continues after the last message of the user.
    answered: Vec<usize>,
}

impl Census {
    fn count(&mut self, line: usize, found: &FoundUnits, keys: &[String]) {
        if self.records == 0 {
            self.keys = keys.to_vec();
        }
        self.records += 1;
        let mut here: BTreeMap<&str, usize> = BTreeMap::new();
        for unit in &found.units {
            *here.entry(&unit.unit_type).or_default() += 1;
            if unit.list.is_some() && !self.in_lists.contains(&unit.unit_type) {
                self.in_lists.insert(unit.unit_type.clone());
            }
        }
        for (name, count) in here {
            let known = self.types.entry(name.to_owned()).or_default();
            *known = (known.0 + count, known.1 + 1);
        }
        if found.answered {
            self.answered.push(line);
        }
        for name in &found.absent {
            self.absent.entry(name.clone()).or_default().push(line);
        }
        for (key, kind) in &found.passed {
            self.passed.entry(key.clone()).or_insert(kind.name());
        }
        for (key, kind) in &found.beside {
            self.beside.entry(key.clone()).or_insert(kind.name());
        }
        if found.count_of_turns > 0 {
            let (count, known) = (found.count_of_turns, self.turns);
            let (least, most) = known.unwrap_or((count, count));
            self.turns = Some((least.min(count), most.max(count)));
        }
    }

    /// The declared places that do not exist in any record.
    fn nowhere(&self, file: &CaseFile, rules: &RecordSettings) -> Vec<Misuse> {
        let is_nowhere = |name: &str| {
            let lines = self.absent.get(name);
            self.records > 0 && lines.is_some_and(|lines| lines.len() == self.records)
        };
        let nowhere = rules
            .units
            .iter()
            .filter(|unit| is_nowhere(&unit.unit_type));
        nowhere
            .map(|unit| {
                let key = format!("records.units.{}", unit.unit_type);
                let what = format!(
                    "`{}` names `{}`, and no record of {} has a text there",
                    shown(&key),
                    shown(&unit.place),
                    shown(&file.shown)
                );
                let fields = listed(self.keys.iter().map(String::as_str));
                let help = format!(
                    "name a field, or a JSON pointer such as `/customer/history/*`; the first record has {fields}"
                );
                Misuse::new(what.clone())
                    .help(shown(&help))
                    .finding(Finding {
                        key: Some(key),
                        what,
                        help: Some(help),
                        ..Finding::default()
                    })
            })
            .collect()
    }

    /// A description of which values count as units, and which do not.
    fn remark(&self, file: &CaseFile, rules: &RecordSettings, records: usize) -> Notice {
        let types: Vec<String> = self
            .types
            .iter()
            .map(
                |(name, (units, records))| match self.in_lists.contains(name) {
                    true => format!(
                        "`{}` ({units}, elements of arrays in {records})",
                        shown(name)
                    ),
                    false => format!("`{}` ({units})", shown(name)),
                },
            )
            .collect();
        let mut text = format!("{}: {records} record(s); units: ", shown(&file.shown));
        text.push_str(&match types.is_empty() {
            true => "none".to_owned(),
            false => types.join(", "),
        });
        let listed = |fields: &BTreeMap<String, &str>| {
            let fields = fields.iter().take(12);
            let fields: Vec<String> = fields
                .map(|(key, kind)| format!("`{}` ({kind})", shown(key)))
                .collect();
            fields.join(", ")
        };
        if !self.passed.is_empty() {
            text.push_str("; given to the pipeline and never changed: ");
            text.push_str(&listed(&self.passed));
        }
        if let Some((least, most)) = self.turns {
            text.push_str(&match least == most {
                true => format!("; {least} turn(s) in each"),
                false => format!("; {least} to {most} turns in each"),
            });
        }
        if !self.beside.is_empty() {
            text.push_str("; no part of a turn, and not given to the pipeline: ");
            text.push_str(&listed(&self.beside));
        }
        if rules.units.is_empty() {
            text.push_str("; `records: {units: {...}}` declares others");
        }
        if !self.has_ids {
            let id = rules.id.as_deref().unwrap_or(DEFAULT_ID);
            let _ = write!(
                text,
                "; no record has an `{id}`, so that a case is named by its text, and an edited one is known by its place \
                 alone: `records: {{id: FIELD}}` names a field"
            );
        }
        Notice::new(Code::own("units"), text).minor()
    }

    /// Notices about records without a declared unit, and records that contain an answer.
    fn notices(&self, file: &CaseFile) -> Vec<Notice> {
        let named = |lines: &[usize]| {
            let named: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
            let more = match lines.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("line {}{more}", named.join(", "))
        };
        let file = shown(&file.shown);
        let of = |lines: &[usize]| format!("{} of {} records", lines.len(), self.records);
        let absent = self.absent.iter().map(|(name, lines)| {
            let (of, name, named) = (of(lines), shown(name), named(lines));
            let have = have(lines.len());
            let text = format!("{file}: {of} {have} no unit `{name}`: {named}");
            Notice::new(Code::own("absent_units"), text).minor()
        });
        let mut notices: Vec<Notice> = absent.collect();
        if !self.answered.is_empty() {
            let (of, named) = (of(&self.answered), named(&self.answered));
            let text = format!(
                "{file}: in {of} the conversation goes on behind the last message of the user, so that the pipeline is \
                 given what was answered: {named}; take these messages out"
            );
            notices.push(Notice::new(Code::own("answered_chats"), text));
        }
        notices
    }
}

/// The digest of the values of a record: neither its layout nor the order of its keys makes another input of it.
pub(super) fn digest_of_values(document: &str) -> Digest {
    let values = canonical(document, KeyOrder::Sorted) + "\n";
    Digest::of(values.as_bytes())
}

/// A case that is one record of a file.
#[derive(Debug)]
pub struct RecordForm {
    /// The JSON text of the record in its canonical form, as the pipeline gets it.
    pub document: String,
    /// The position of each unit in the document, in the order of the units.
    pub slots: Vec<Slot>,
    /// The arrays whose elements are units, by number.
    pub lists: Vec<RecordList>,
    /// The name of the turns in the configuration; none if the record is one input, or if its turns are one of the
    /// arrays.
    pub turns: Option<Arc<str>>,
}

/// The position of a unit in the document of its case.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The range that moves with the unit: an element of an array with all its fields. For a unit that cannot be moved,
    /// this is its text.
    pub element: Range<usize>,
    /// The text of the unit, as JSON.
    pub value: Range<usize>,
}

/// An array whose elements are units.
#[derive(Clone, Debug)]
pub struct RecordList {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Whether its elements are texts, not objects, so that any text can be an element.
    pub takes_texts: bool,
    /// Whether its elements are messages of a conversation.
    pub is_chat: bool,
}

impl RecordForm {
    /// The JSON text for a new value: if the old value is a number and the new text is one too, it stays a number.
    pub fn value_of(&self, slot: &Slot, text: &str) -> String {
        let was_text = self.document[slot.value.clone()].starts_with('"');
        let same_type = |value: &serde_json::Value| value.is_number() || value.is_boolean();
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if !was_text && same_type(&value) => text.trim().to_owned(),
            _ => serde_json::Value::from(text).to_string(),
        }
    }
}
