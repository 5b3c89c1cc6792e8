//! Makes a case of a record: decides which field is the name, which the preamble, and which are units.

use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use super::messages;
use super::records::ImportedRecord;
use crate::cli::field;
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_evidence::cases::{NewUnit, compose};
use kelvin_page::safe;

/// No pipeline takes a larger file in one piece, and an unclosed quote would make one record of a whole table.
const LARGEST: usize = 32 << 20;

/// What the fields are used for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(super) struct Mapping {
    /// The field with the name of the case; `/a/b` for `b` inside `a`. Without it cases are numbered.
    #[arg(long, value_name = "FIELD")]
    pub(super) id: Option<String>,
    /// The field with what stands before the units and is never changed, such as a question.
    #[arg(long, value_name = "FIELD")]
    pub(super) preamble: Option<String>,
    /// The field with the answer that is right, which becomes the label of the case, in `expected.csv` beside the cases.
    /// No pipeline is given it.
    #[arg(long, value_name = "FIELD")]
    pub(super) expected: Option<String>,
    /// The field with a conversation, a list of messages with `role` and `content`: each turn is a unit, and the last
    /// one of the user is what the pipeline is to answer.
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["units", "text_key", "heading_key"])]
    pub(super) messages: Option<String>,
    /// A field that is a unit, or a list of which each item is one; `rule=Gate Rule` gives it another heading. May
    /// be repeated. Without it the fields of the first record are shown, with a proposal.
    #[arg(long, value_name = "FIELD", value_parser = UnitField::parse)]
    pub(super) units: Vec<UnitField>,
    /// Where the items of a list are objects: the key of the text of a unit.
    #[arg(long, value_name = "KEY")]
    pub(super) text_key: Option<String>,
    /// Where the items of a list are objects: the key of the heading of a unit, which is its type.
    #[arg(long, value_name = "KEY")]
    pub(super) heading_key: Option<String>,
}

impl Mapping {
    /// Whether no flag says what the units are.
    pub(super) const fn is_empty(&self) -> bool {
        self.units.is_empty() && self.messages.is_none()
    }

    /// Those right answers, by their names, that the pipeline would read all the same.
    pub(super) fn answers(&self) -> impl Iterator<Item = &str> {
        let units = self.units.iter().map(|unit| &*unit.field);
        let fields = self.preamble.as_deref().into_iter().chain(units);
        fields.filter(|field| is_answer(field))
    }
}

/// A field whose value is a unit, or a list of units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitField {
    pub(super) field: String,
    /// The heading, where it is not derived from the name of the field.
    pub(super) heading: Option<String>,
}

impl UnitField {
    /// Parses the form of the command line: `FIELD` or `FIELD=HEADING`.
    pub(super) fn parse(text: &str) -> Result<Self, Infallible> {
        let (field, heading) = match text.split_once('=') {
            Some((field, heading)) => (field, Some(heading.to_owned())),
            None => (text, None),
        };
        Ok(Self {
            field: field.to_owned(),
            heading,
        })
    }

    /// The unit of a key at the top of a record. A key that begins with `/` would be taken for a pointer.
    pub(super) fn of_key(key: &str) -> Self {
        Self {
            field: field::of_key(key),
            heading: None,
        }
    }

    /// The form of the command line.
    pub(super) fn written(&self) -> String {
        match &self.heading {
            Some(heading) => format!("{}={heading}", self.field),
            // A `=` in the name would begin a heading, so the heading is written out.
            None if self.field.contains('=') => format!("{}={}", self.field, self.heading()),
            None => self.field.clone(),
        }
    }

    /// The heading of the units: as given, or the last part of the field's name, with spaces for `_`.
    fn heading(&self) -> String {
        self.heading.clone().unwrap_or_else(|| {
            let name = self.field.rsplit('/').next().unwrap_or(&self.field);
            let words = name.replace("~1", "/").replace("~0", "~").replace('_', " ");
            let mut letters = words.chars();
            let first = letters.next().map(|first| first.to_uppercase().to_string());
            first.unwrap_or_default() + letters.as_str()
        })
    }
}

/// The cases that were made so far.
#[derive(Debug, Default)]
pub(super) struct MadeCases {
    /// The cases, in the order of the file.
    pub(super) cases: Vec<MadeCase>,
    /// How many units there are of each heading.
    pub(super) headings: BTreeMap<String, usize>,
    /// How many values were missing, null or empty where a unit was looked for.
    pub(super) empty: usize,
    /// How many messages stand behind what the pipeline is to answer, and are in no case.
    pub(super) after: usize,
    /// The keys of messages that are in no case.
    pub(super) left_out: BTreeSet<String>,
    /// How many records have instructions beside their conversation that are in no case.
    pub(super) systems: usize,
    /// The names in lower case, each with the place of its record.
    names: BTreeMap<String, String>,
}

/// A case to be written.
#[derive(Debug)]
pub(super) struct MadeCase {
    /// The name of the file, without `.md`.
    pub(super) name: String,
    pub(super) text: String,
    /// The label, as a table of labels has it.
    pub(super) label: Option<String>,
}

impl MadeCases {
    /// The paths of the cases in a folder.
    pub(super) fn files(&self, folder: &Path) -> Vec<PathBuf> {
        let files = self.cases.iter();
        files
            .map(|case| folder.join(format!("{}.md", case.name)))
            .collect()
    }

    /// Makes a case from a record.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that names the record and the field.
    pub(super) fn take(
        &mut self,
        record: &ImportedRecord,
        mapping: &Mapping,
    ) -> Result<(), Misuse> {
        let place = &record.place;
        let name = self.name(record, mapping)?;
        let preamble = match &mapping.preamble {
            Some(name) => {
                let value = field::at(&record.fields, name).ok_or_else(|| absent(record, name))?;
                text(value).unwrap_or_default()
            }
            None => String::new(),
        };
        let mut units = Vec::new();
        if let Some(name) = &mapping.messages {
            let value = field::at(&record.fields, name).ok_or_else(|| absent(record, name))?;
            let turns = messages::turns(value, name, place)?;
            units = turns.units;
            self.empty += turns.empty;
            self.after += turns.after;
            self.left_out.extend(turns.left_out);
            // The interface of Anthropic takes its instructions beside the messages.
            let has_system = record
                .fields
                .get("system")
                .is_some_and(|value| !value.is_null());
            let is_used = mapping.preamble.as_deref() == Some("system");
            self.systems += usize::from(has_system && !is_used);
        }
        for wanted in &mapping.units {
            let values: Vec<&Value> = match field::at(&record.fields, &wanted.field) {
                Some(Value::Array(values)) => values.iter().collect(),
                Some(value) => vec![value],
                None => Vec::new(),
            };
            self.empty += usize::from(values.is_empty());
            for value in values {
                match unit(value, wanted, mapping, place)? {
                    Some(unit) => units.push(unit),
                    None => self.empty += 1,
                }
            }
        }
        if units.is_empty() {
            let fields: Vec<String> = mapping
                .units
                .iter()
                .map(|unit| unit.field.clone())
                .collect();
            return Err(Misuse::new(format!(
                "{place}: nothing stands in the fields of the units: {}",
                safe::line(&fields.join(", "))
            ))
            .help("name with `--units` a field that every record has"));
        }
        let size = units.iter().map(|unit| unit.text.len()).sum::<usize>() + preamble.len();
        if size > LARGEST {
            return Err(Misuse::new(format!(
                "{place}: this record has over {} MiB of text, which is the most that a case has",
                LARGEST >> 20
            ))
            .help("look for a quote that is not closed, or split the record"));
        }
        let text = compose(&preamble, &units).map_err(|why| {
            Misuse::new(format!(
                "{place}: no case can be made of it: {}",
                safe::line(&why)
            ))
        })?;
        for unit in units {
            *self.headings.entry(unit.heading).or_default() += 1;
        }
        let label = match &mapping.expected {
            Some(field) => {
                let value =
                    field::at(&record.fields, field).ok_or_else(|| absent(record, field))?;
                label(value)
            }
            None => None,
        };
        self.cases.push(MadeCase { name, text, label });
        Ok(())
    }

    /// The table of their labels, and how many it has; none where there is no label.
    pub(super) fn table(&self) -> Option<(String, usize)> {
        let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
        let labels = self.cases.iter().filter_map(|case| {
            let label = quoted(case.label.as_deref()?);
            Some(format!("{},{label}\n", quoted(&case.name)))
        });
        let rows: Vec<String> = labels.collect();
        let table = || format!("case,expected\n{}", rows.concat());
        (!rows.is_empty()).then(|| (table(), rows.len()))
    }

    /// The name of the next case, which no other case has.
    fn name(&mut self, record: &ImportedRecord, mapping: &Mapping) -> Result<String, Misuse> {
        let Some(id) = &mapping.id else {
            return Ok(format!("case-{:04}", self.cases.len() + 1));
        };
        let value = field::at(&record.fields, id).ok_or_else(|| absent(record, id))?;
        let text = text(value).filter(|_| !value.is_object() && !value.is_array());
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return Err(Misuse::new(format!(
                "{}: `{}` is no name for a case: {}",
                record.place,
                safe::line(id),
                safe::cut(&value.to_string(), 60)
            ))
            .help("name with `--id` a field with a short text or a number in every record, or leave it out"));
        };
        let mut name = file::slug(text.trim());
        // Such names are reserved for the report itself.
        if name.to_lowercase().starts_with("report.") {
            name = format!("case-{name}");
        }
        // Two files whose names differ only in case are one file on many machines.
        match self.names.insert(name.to_lowercase(), record.place.clone()) {
            None => Ok(name),
            Some(first) => Err(Misuse::new(format!(
                "{}: the id `{}` is that of {first} too, or differs in upper and lower case only",
                record.place,
                safe::cut(&text, 60)
            ))
            .help("give every record an id of its own, or leave `--id` out and the cases are numbered")),
        }
    }
}

/// A unit from a value; none where the value is empty.
fn unit(
    value: &Value,
    wanted: &UnitField,
    mapping: &Mapping,
    place: &str,
) -> Result<Option<NewUnit>, Misuse> {
    let mut heading = wanted.heading();
    let mut value = value;
    if let (Value::Object(object), true) = (
        value,
        mapping.text_key.is_some() || mapping.heading_key.is_some(),
    ) {
        let key = |name: &str, flag: &str| {
            object.get(name).ok_or_else(|| {
                let keys: Vec<&str> = object.keys().map(String::as_str).collect();
                Misuse::new(format!(
                    "{place}: an item of `{}` has no key `{}`; it has {}",
                    safe::line(&wanted.field),
                    safe::line(name),
                    safe::cut(&keys.join(", "), 120)
                ))
                .help(format!("`{flag}` names a key that every item has"))
            })
        };
        if let Some(name) = &mapping.heading_key {
            heading = text(key(name, "--heading-key")?).unwrap_or_default();
        }
        if let Some(name) = &mapping.text_key {
            value = key(name, "--text-key")?;
        }
    }
    let unit = text(value).map(|text| NewUnit { heading, text });
    Ok(unit.filter(|unit| !unit.text.trim().is_empty()))
}

/// A value as text; other values than texts are written as JSON. None for null.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).ok(),
        _ => Some(value.to_string()),
    }
}

/// A value as a label that says this value and no other; none of nothing. A text that would be read as a number or be
/// trimmed is written as JSON.
fn label(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => {
            let is_plain = text.trim() == text && serde_json::from_str::<Value>(text).is_err();
            Some(if is_plain {
                text.clone()
            } else {
                value.to_string()
            })
        }
        _ => Some(value.to_string()),
    }
}

fn absent(record: &ImportedRecord, field: &str) -> Misuse {
    let keys: Vec<&str> = record.fields.keys().map(String::as_str).collect();
    Misuse::new(format!(
        "{}: it has no field `{}`; it has {}",
        record.place,
        safe::line(field),
        safe::cut(&keys.join(", "), 120)
    ))
    .help("`/a/b` names the field `b` inside `a`")
}

/// Beginnings of words that name a right answer, as in `expected`, `answers` and `golden`.
const BEGINNINGS: [&str; 8] = [
    "expected",
    "answer",
    "gold",
    "reference",
    "label",
    "correct",
    "groundtruth",
    "solution",
];
/// Words that name a right answer only as a whole.
const WHOLE: [&str; 4] = ["target", "targets", "truth", "ideal"];

/// Whether a field is the right answer, by any word of its name, as in `expected_doc`, `goldAnswer` and
/// `/meta/ground-truth`.
pub(super) fn is_answer(field: &str) -> bool {
    words(field).iter().any(|word| {
        WHOLE.contains(&&**word) || BEGINNINGS.iter().any(|begin| word.starts_with(begin))
    })
}

/// The words of a name, in lower case. A character that is no letter ends a word, and a capital letter begins one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        // `goldAnswer` and `QAAnswer`: the last of several capitals belongs to the word behind it.
        let begins = sign.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && signs.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !sign.is_alphabetic() {
            words.push(String::new());
        }
        if sign.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(sign.to_lowercase());
        }
        before = sign;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_answer;

    #[test]
    fn a_name_with_a_word_for_the_right_answer_is_known_in_every_way_to_write_it() {
        for name in [
            "expected_doc",
            "expected_answer",
            "ExpectedAnswer",
            "EXPECTED",
            "goldAnswer",
            "golden",
            "QAAnswer",
            "answers",
            "reference-text",
            "/meta/ground_truth",
            "groundTruth",
            "GROUNDTRUTH",
            "label2",
            "2nd label",
            "target",
            "correct_option",
            "solution",
        ] {
            assert!(is_answer(name), "{name}");
        }
        for name in [
            "question",
            "unexpected",
            "marigold",
            "preference",
            "targeting",
            "rule",
            "facts",
            "context",
            "id",
            "",
            "_",
            "é",
        ] {
            assert!(!is_answer(name), "{name}");
        }
    }
}
