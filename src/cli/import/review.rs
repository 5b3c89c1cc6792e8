//! The list of cases that a person reads before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};

use super::assemble::{INPUT, PASSAGES, UnusedTrace};
use super::file::UnreadPart;
use super::messages;
use super::redact::{RuleCounts, without_numbers};
use super::store::CaseStore;
use crate::cli::init::{LAST_USER_TURN, unit_type};
use kelvin_base::clock;
use kelvin_page::{counted, safe};

/// A case after everything that the rules found was replaced.
#[derive(Debug)]
pub(super) struct ReviewedCase {
    pub(super) id: String,
    /// When the trace began, in nanoseconds since the epoch.
    pub(super) start: Option<i128>,
    pub(super) name: String,
    pub(super) remarks: Vec<String>,
    pub(super) fields: Map<String, Value>,
    /// The answer in production.
    pub(super) answer: Option<Value>,
    /// How often each rule has matched.
    pub(super) replaced: RuleCounts,
}

impl ReviewedCase {
    /// The line of the case in a file of records.
    pub(super) fn line(&self, id_field: &str) -> String {
        let fields = Value::Object(self.fields.clone()).to_string();
        format!(
            "{{{}:{},{}",
            Value::from(id_field),
            Value::from(&*self.id),
            &fields[1..]
        )
    }

    /// The line for the answer in production.
    pub(super) fn answer_line(&self, id_field: &str) -> Option<String> {
        let answer = self.answer.as_ref()?;
        Some(format!(
            "{{{}:{},\"production_output\":{answer}}}",
            Value::from(id_field),
            Value::from(&*self.id)
        ))
    }
}

/// The findings of the rules in the files, for review.
#[derive(Debug, Default)]
pub(super) struct ReviewList {
    pub(super) spans: usize,
    pub(super) traces: usize,
    pub(super) cases: Vec<ReviewedCase>,
    pub(super) unused: Vec<UnusedTrace>,
    pub(super) unread: Vec<UnreadPart>,
    /// How many different values each rule has found.
    pub(super) values: RuleCounts,
}

/// How many columns of a text the list shows.
const SHOWN: usize = 72;

impl ReviewList {
    /// Leaves out cases that a file already has, by id or by equal input. The numbers in placeholders are ignored,
    /// because two imports number the values differently.
    pub(super) fn compare(&mut self, store: &CaseStore) {
        let known = store.ids();
        let contents: BTreeMap<String, String> = store
            .contents()
            .map(|(text, id)| (without_numbers(&text), id))
            .collect();
        for case in std::mem::take(&mut self.cases) {
            let content = without_numbers(&Value::Object(case.fields.clone()).to_string());
            let why = match contents.get(&content) {
                _ if known.contains(&*case.id) => "it is in the file already".to_owned(),
                Some(id) => format!("its input is that of `{id}`, which is in the file"),
                None => {
                    self.cases.push(case);
                    continue;
                }
            };
            self.unused.push(UnusedTrace { id: case.id, why });
        }
    }

    /// Shows every case, and the parts from which no case is made.
    pub(super) fn show(&self, full: bool, out: &mut dyn Write) -> io::Result<()> {
        for case in &self.cases {
            let time = case
                .start
                .and_then(|start| i64::try_from(start / 1_000_000_000).ok());
            let time = time.map_or_else(|| "at no known time".to_owned(), clock::of_seconds);
            writeln!(
                out,
                "{}  {time}  {}",
                safe::line(&case.id),
                safe::cut(&case.name, 40)
            )?;
            let width = case
                .fields
                .keys()
                .map(|key| safe::columns(&safe::cut(key, 24)))
                .max()
                .unwrap_or(0)
                .max(8);
            let mut row = |name: &str, text: &str| {
                let name = safe::cut(name, 24);
                let gap = " ".repeat(width.saturating_sub(safe::columns(&name)) + 2);
                writeln!(out, "  {name}{gap}{text}")
            };
            for (key, value) in &case.fields {
                row(key, &shown(value, full))?;
            }
            if let Some(answer) = &case.answer {
                row(
                    "answered",
                    &format!("{} (in production; not in the case)", shown(answer, full)),
                )?;
            }
            if !case.replaced.is_empty() {
                let replaced: Vec<String> = case
                    .replaced
                    .iter()
                    .map(|(rule, count)| format!("{rule} {count}"))
                    .collect();
                row("replaced", &replaced.join(", "))?;
            }
            for remark in &case.remarks {
                row("note", &safe::line(remark))?;
            }
            writeln!(out)?;
        }
        self.show_left_out(out)
    }

    /// Shows the parts from which no case is made, with the reason.
    pub(super) fn show_left_out(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.unused.is_empty() {
            writeln!(out, "left out, {}:", counted(self.unused.len(), "trace"))?;
            for trace in &self.unused {
                writeln!(
                    out,
                    "  {}  {}",
                    safe::cut(&trace.id, 40),
                    safe::cut(&trace.why, 160)
                )?;
            }
            writeln!(out)?;
        }
        if !self.unread.is_empty() {
            /// How many parts without a case are named at most: a file of another format has such a part in each line.
            const NAMED: usize = 20;
            writeln!(
                out,
                "not read, {}; export them again, or take the lines out:",
                counted(self.unread.len(), "part")
            )?;
            for part in self.unread.iter().take(NAMED) {
                writeln!(out, "  {}: {}", part.place, safe::cut(&part.why, 160))?;
            }
            if let more @ 1.. = self.unread.len().saturating_sub(NAMED) {
                writeln!(out, "  and {more} more")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Shows the totals.
    pub(super) fn show_sums(&self, out: &mut dyn Write) -> io::Result<()> {
        let spans = counted(self.spans, "span");
        writeln!(out, "{} of {spans}", counted(self.traces, "trace"))?;
        let mut replaced = RuleCounts::new();
        for (rule, count) in self.cases.iter().flat_map(|case| &case.replaced) {
            *replaced.entry(rule.clone()).or_default() += count;
        }
        let words: Vec<String> = replaced
            .iter()
            .map(|(rule, count)| {
                let values = self.values.get(rule).copied().unwrap_or_default();
                format!("{rule} {count} ({values} different)")
            })
            .collect();
        match words.is_empty() {
            true => writeln!(out, "replaced: nothing")?,
            false => writeln!(out, "replaced: {}", words.join(", "))?,
        }
        writeln!(
            out,
            "no rule finds names of people, streets or birthdays: read the texts (`--full`), and use `--redact NAME=REGEX`, \
             `--drop FIELD` or `--without ID`"
        )
    }

    /// The unit types that the decision should follow, judging by the form of the cases.
    pub(super) fn governing(&self) -> Vec<String> {
        let has = |name: &str| self.cases.iter().any(|case| case.fields.contains_key(name));
        let mut types = Vec::new();
        let is_asked = |case: &ReviewedCase| {
            let chats = case.fields.values().filter_map(messages::conversation);
            chats.flatten().any(|message| message["role"] == "user")
        };
        if self.cases.iter().any(is_asked) {
            types.push(LAST_USER_TURN.to_owned());
        }
        for name in [PASSAGES, INPUT] {
            let is_text = |value: &Value| value.is_string() || value.is_array();
            if has(name)
                && self
                    .cases
                    .iter()
                    .filter_map(|case| case.fields.get(name))
                    .all(is_text)
            {
                types.push(name.to_owned());
            }
        }
        if types.is_empty() {
            let texts = self
                .cases
                .iter()
                .flat_map(|case| case.fields.iter().filter(|(_, value)| value.is_string()));
            let names: BTreeSet<String> = texts.map(|(key, _)| unit_type(key)).collect();
            // If several types are possible, none is suggested, and a person has to choose.
            types.extend(names.into_iter().filter(|name| !name.is_empty()));
            types.truncate(usize::from(types.len() == 1));
        }
        types
    }

    /// Shows the lines that the configuration needs for these cases.
    pub(super) fn show_configuration(
        &self,
        file: &Path,
        id_field: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        writeln!(
            out,
            "the lines for kelvin.yaml:\n\ncases: {}",
            safe::line(&file.display().to_string())
        )?;
        let types = self.governing();
        match types.is_empty() {
            true => writeln!(
                out,
                "governing_types: []  # the fields that the decision should follow"
            )?,
            false => writeln!(out, "governing_types: [{}]", types.join(", "))?,
        }
        let fields: BTreeSet<&str> = self
            .cases
            .iter()
            .flat_map(|case| case.fields.keys().map(String::as_str))
            .collect();
        let mut records = Vec::new();
        if id_field != "id" {
            records.push(format!("id: {id_field}"));
        }
        // A field with this name would be used as the label.
        if fields.contains("expected") {
            let names = ["label", "right_answer", "kelvin_label"];
            let free = names
                .into_iter()
                .find(|name| !fields.contains(name))
                .unwrap_or("kelvin_label");
            records.push(format!("expected: {free}"));
        }
        if !records.is_empty() {
            writeln!(out, "records: {{{}}}", records.join(", "))?;
        }
        writeln!(out)?;
        let is_unit = |value: &Value| match value {
            Value::String(_) => true,
            Value::Array(values) => {
                values.iter().all(Value::is_string) || messages::conversation(value).is_some()
            }
            _ => false,
        };
        if !self
            .cases
            .iter()
            .all(|case| case.fields.values().any(is_unit))
        {
            writeln!(
                out,
                "some cases have no text at their top: `records: {{units: {{NAME: /FIELD/INSIDE}}}}` names texts further inside"
            )?;
        }
        Ok(())
    }
}

/// The beginning of a value, or the whole value.
fn shown(value: &Value, full: bool) -> String {
    let quoted = |text: &str| match full {
        true => format!("\"{}\"", safe::lines(text).replace('\n', "\n    ")),
        false => format!("\"{}\"", safe::cut(text, SHOWN)),
    };
    if let Some(messages) = messages::conversation(value) {
        let turns = messages.iter().map(|message| {
            let role = safe::line(message["role"].as_str().unwrap_or_default());
            match &message["content"] {
                Value::String(text) => format!("{role} {}", quoted(text)),
                other => format!("{role} {}", quoted(&other.to_string())),
            }
        });
        let count = counted(messages.len(), "message");
        return joined(count, turns.collect(), full);
    }
    match value {
        Value::String(text) => quoted(text),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let texts = values.iter().filter_map(Value::as_str).map(quoted);
            joined(counted(values.len(), "text"), texts.collect(), full)
        }
        other if full => safe::lines(&other.to_string()),
        other => safe::cut(&other.to_string(), SHOWN),
    }
}

/// A count and the counted parts: all of them, one per line, or only the first and the last.
fn joined(count: String, parts: Vec<String>, full: bool) -> String {
    match (full, parts.as_slice()) {
        (true, parts) => parts
            .iter()
            .fold(count, |text, part| format!("{text}\n    {part}")),
        (false, []) => count,
        (false, [only]) => format!("{count}: {only}"),
        (false, [first, .., last]) => format!("{count}: {first} … {last}"),
    }
}
