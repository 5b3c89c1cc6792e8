//! Cases: Markdown files that are split into a preamble and typed units, byte for byte, or the records of one file.

mod expected;
#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod folder_tests;
mod markdown;
#[cfg(test)]
mod markdown_tests;
pub mod outline;
pub mod prose;
#[cfg(test)]
mod prose_tests;
mod records;
mod types;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::EvidenceSettings;
use crate::config::is_file_of_records;
use kelvin_base::digest::Digest;
use kelvin_base::exit::{Finding, Misuse};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::threads;
use kelvin_probe::case_files::{self, CaseFile, one, shown};
use kelvin_run::judge;
pub(crate) use markdown::{type_of, with_newline};
use records::digest_of_values;
pub(crate) use records::is_named_by_content;
pub use records::{RecordForm, RecordList, Slot};

/// All the cases of a run, sorted by name, with their unit types.
#[derive(Debug)]
pub struct Corpus {
    /// The cases, sorted by name; names are distinct.
    pub cases: Vec<Case>,
    /// The files from which the labels come, relative to the root of the configuration.
    pub labels: Vec<Arc<str>>,
    /// Notes on which parts of records count as units, for a person who checks a configuration.
    pub remarks: Vec<Notice>,
}

/// One case: a document and its units.
#[derive(Debug)]
pub struct Case {
    /// The file name without its extension: a folder name, never a path.
    pub name: Arc<str>,
    /// The path of the file, relative to the root of the configuration, with `/` on every platform.
    pub file: Arc<str>,
    /// The text of the file, byte for byte, with its byte order mark and its line breaks. For a record, these are the
    /// texts of its units, one after another.
    pub text: String,
    /// The units in the order of the document. The preamble comes before the first unit; each unit begins where the
    /// previous one ends, and the last unit ends with the text.
    pub units: Vec<Unit>,
    /// The line break of the text, for text that is inserted.
    pub newline: &'static str,
    /// Whether all lines end in `\n`.
    pub is_unix: bool,
    /// The expected answer as a person wrote it; none if the case has no label.
    pub expected: Option<String>,
    /// The format of the case and its variants.
    pub form: DocumentForm,
}

/// The format of a case.
#[derive(Debug)]
pub enum DocumentForm {
    /// A separate Markdown file, whose sections are the units.
    Markdown,
    /// A record in a file with many records; its units are texts.
    Record(Box<RecordForm>),
}

/// A section of a case that begins with a level-2 heading, or a text of a record.
#[derive(Debug)]
pub struct Unit {
    /// The type: the heading, trimmed and lower-cased, with white space replaced by `_`; shared between cases.
    pub unit_type: Arc<str>,
    /// From the first `#` of the heading to the last byte that is not white space. The indentation of the heading
    /// belongs to the white space before the unit: if the unit were moved after a list, its indentation would make it a
    /// part of the list.
    pub body: Range<usize>,
    /// The end of the heading line: `body.start..heading_end` is the heading without its line break.
    pub heading_end: usize,
    /// The end of the white space after the unit, `body.end..end`: here the next unit begins, or the text ends.
    pub end: usize,
    /// The line of the heading, or of the record, from 1.
    pub line: usize,
    /// The digest of the body with its line breaks as `\n`: units with equal content have equal digests.
    pub content: Digest,
    /// The array of the record that contains the unit as an element; none for a section of a Markdown file.
    pub list: Option<u32>,
    /// Whether the unit can neither be moved nor left out, like a field of a record.
    pub fixed: bool,
    /// The turn of a conversation to which the unit belongs, from 0; none if a case is one input.
    pub turn: Option<u32>,
}

impl Corpus {
    /// The index of the case with this name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.cases
            .binary_search_by(|case| (*case.name).cmp(name))
            .ok()
    }
}

impl Case {
    /// Splits a document into its units. `file` is only used in messages.
    ///
    /// # Errors
    ///
    /// Fails with everything that makes the document unusable, each with its line and advice.
    pub fn parse(
        name: impl Into<Arc<str>>,
        file: impl Into<Arc<str>>,
        text: impl Into<String>,
    ) -> Result<Self, Vec<Misuse>> {
        let (name, file, text) = (name.into(), file.into(), text.into());
        let is_unix = memchr::memchr(b'\r', text.as_bytes()).is_none();
        let cuts = markdown::cut(&text);
        if !cuts.problems.is_empty() {
            let misuse = |problem: markdown::DocumentProblem| {
                Misuse::new(format!(
                    "{}:{}: {}",
                    shown(&file),
                    problem.line,
                    problem.what
                ))
                .help(problem.help)
                .finding(Finding {
                    line: Some(problem.line),
                    what: problem.what,
                    help: Some(problem.help.into()),
                    ..Finding::default()
                })
            };
            return Err(cuts.problems.into_iter().map(misuse).collect());
        }
        let ends: Vec<usize> = cuts
            .units
            .iter()
            .skip(1)
            .map(|next| next.start)
            .chain([text.len()])
            .collect();
        let units = cuts
            .units
            .into_iter()
            .zip(ends)
            .map(|(cut, end)| {
                let body = text[cut.start..end].trim_end_matches(markdown::BLANK);
                let content = match is_unix {
                    true => Digest::of(body.as_bytes()),
                    false => Digest::of(with_newline(body, "\n").as_bytes()),
                };
                Unit {
                    unit_type: cut.unit_type.into(),
                    body: cut.start..cut.start + body.len(),
                    heading_end: cut.heading_end.min(cut.start + body.len()),
                    end,
                    line: cut.line,
                    content,
                    list: None,
                    fixed: false,
                    turn: None,
                }
            })
            .collect();
        Ok(Self {
            name,
            file,
            newline: match is_unix {
                true => "\n",
                false => markdown::newline(&text),
            },
            is_unix,
            units,
            text,
            expected: None,
            form: DocumentForm::Markdown,
        })
    }

    /// The text that the pipeline gets.
    pub fn input(&self) -> &str {
        match &self.form {
            DocumentForm::Markdown => &self.text,
            DocumentForm::Record(record) => &record.document,
        }
    }

    /// The JSON text of the case with the positions of its units; none for a Markdown file.
    pub fn record(&self) -> Option<&RecordForm> {
        match &self.form {
            DocumentForm::Markdown => None,
            DocumentForm::Record(record) => Some(record),
        }
    }

    /// The digest of the input: of the text that the pipeline gets, or of the values of the record.
    pub fn digest(&self) -> Digest {
        self.digest_of(self.input())
    }

    /// The digest of an input in the form of this case, e.g. of a variant.
    pub(crate) fn digest_of(&self, input: &str) -> Digest {
        match &self.form {
            DocumentForm::Markdown => Digest::of(input.as_bytes()),
            DocumentForm::Record(_) => digest_of_values(input),
        }
    }

    /// The title of the case for people: its first heading of level 1, otherwise its first line that is not a heading,
    /// otherwise its first heading. Of a chat it is the message to be answered. Markup at its beginning is left out, and
    /// a long title is shortened. None if there are no words.
    pub fn title(&self) -> Option<String> {
        let line = match self.form {
            DocumentForm::Markdown => markdown::title(&self.text),
            DocumentForm::Record(_) => {
                let is_last = |unit: &&Unit| &*unit.unit_type == LAST_USER_TURN;
                let last = self.units.iter().filter(is_last);
                let mut units = last.chain(&self.units);
                units.find_map(|unit| markdown::title(self.body(unit)))
            }
        };
        line.map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.join(" ").chars().take(LONGEST_TITLE).collect()
        })
    }

    /// The text before the first unit; it is never perturbed and always comes first.
    pub fn preamble(&self) -> &str {
        let end = self
            .units
            .first()
            .map_or(self.text.len(), |unit| unit.body.start);
        &self.text[..end]
    }

    /// The text of a unit, with its heading line but without the white space after it.
    pub fn body(&self, unit: &Unit) -> &str {
        &self.text[unit.body.clone()]
    }

    /// The heading line of a unit, as written.
    #[cfg(test)]
    pub fn heading(&self, unit: &Unit) -> &str {
        &self.text[unit.body.start..unit.heading_end]
    }

    /// The white space after a unit.
    pub fn tail(&self, unit: &Unit) -> &str {
        &self.text[unit.body.end..unit.end]
    }
}

/// Loads every case that the settings name; their paths are relative to the root. Notices report ignored files, cases
/// without units, and unit types that look alike.
///
/// # Errors
///
/// A [`Misuse`] that lists every case that cannot be used, with file, line and advice.
pub fn load(root: &Path, settings: &EvidenceSettings) -> anyhow::Result<(Corpus, Vec<Notice>)> {
    if is_file_of_records(&settings.cases) {
        return load_records(root, settings);
    }
    let found = case_files::find(root, &settings.cases)?;
    let mut notices = found.notices;
    let mut problems = found.problems;
    let mut cases = Vec::with_capacity(found.files.len());
    let mut types = types::Types::default();
    for parsed in threads::map_blocks(&found.files, BLOCK, parse) {
        types.join(cases.len(), parsed.types);
        cases.extend(parsed.cases);
        problems.extend(parsed.problems);
    }
    // If a case cannot be read, a row that labels it would wrongly be reported as naming a case that does not exist.
    if problems.is_empty() {
        let scorer = judge::chosen_scorer(&settings.scorer);
        problems = expected::label(&found.labels, &mut cases, &*scorer);
    }
    if !problems.is_empty() {
        return Err(one(problems).into());
    }
    for case in cases.iter().filter(|case| case.units.is_empty()) {
        let text = format!(
            "{}: there is nothing to perturb: no level-2 heading (`## Gate Rule`) starts a unit",
            shown(&case.file)
        );
        notices.push(Notice::new(Code::own("no_units"), text).case(&*case.name));
    }
    types::all_occur("governing_types", &settings.governing_types, &types)?;
    types::all_occur("keep_order", &settings.keep_order, &types)?;
    notices.extend(types::look_alikes(&types, &cases));
    let labels = found.labels.into_iter().map(|table| table.shown).collect();
    let remarks = Vec::new();
    let corpus = Corpus {
        cases,
        labels,
        remarks,
    };
    Ok((corpus, notices))
}

/// Loads the cases of a file of records.
fn load_records(root: &Path, settings: &EvidenceSettings) -> anyhow::Result<(Corpus, Vec<Notice>)> {
    let records::ReadRecords {
        mut cases,
        mut notices,
        remarks,
        problems,
    } = records::read(root, settings);
    if !problems.is_empty() {
        return Err(one(problems).into());
    }
    let mut types = types::Types::default();
    for (place, case) in cases.iter_mut().enumerate() {
        types.take(place, case);
    }
    for case in cases.iter().filter(|case| case.units.is_empty()) {
        let text = format!(
            "{}: there is nothing to perturb: the record has no text that is a unit",
            shown(&case.file)
        );
        notices.push(Notice::new(Code::own("no_units"), text).case(&*case.name));
    }
    types::all_occur("governing_types", &settings.governing_types, &types)?;
    types::all_occur("keep_order", &settings.keep_order, &types)?;
    notices.extend(types::look_alikes(&types, &cases));
    let labels = Vec::new();
    let corpus = Corpus {
        cases,
        labels,
        remarks,
    };
    Ok((corpus, notices))
}

/// The type of the message of a chat that is to be answered.
const LAST_USER_TURN: &str = "last_user_turn";

/// How many characters a title has at most.
const LONGEST_TITLE: usize = 200;

/// How many files are read at a time.
const BLOCK: usize = 128;

/// Nearly every file of a case has fewer bytes than this.
const BUFFER: usize = 1 << 16;

/// The cases of some files, as far as they could be parsed.
#[derive(Default)]
struct Parsed {
    cases: Vec<Case>,
    types: types::Types,
    problems: Vec<Misuse>,
}

/// Reads some files.
fn parse(entries: &[CaseFile]) -> Parsed {
    let mut parsed = Parsed::default();
    let mut bytes = Vec::with_capacity(BUFFER);
    for entry in entries {
        let (name, file) = (Arc::clone(&entry.name), Arc::clone(&entry.shown));
        let case = case_files::read(entry, &mut bytes)
            .map_err(|misuse| vec![misuse])
            .and_then(|text| Case::parse(name, file, text));
        match case {
            Ok(mut case) => {
                parsed.types.take(parsed.cases.len(), &mut case);
                parsed.cases.push(case);
            }
            Err(mut problems) => {
                for finding in problems.iter_mut().flat_map(|one| &mut one.findings) {
                    finding.file = Some(entry.path.clone());
                }
                parsed.problems.extend(problems);
            }
        }
    }
    parsed
}
