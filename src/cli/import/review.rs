//! The list of cases and of what no case is made of, for a person.

use std::io::{self, Write};

use serde_json::Value;

use super::assemble::{INPUT, PASSAGES, TraceCase, UnusedTrace};
use super::file::UnreadPart;
use super::messages;
use super::redact::RuleCounts;
use crate::cli::init::LAST_USER_TURN;
use kelvin_base::clock;
use kelvin_page::{counted, safe};

impl TraceCase {
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

/// What was found in the files, after everything that the rules find was replaced.
#[derive(Debug, Default)]
pub(super) struct ReviewList {
    pub(super) spans: usize,
    pub(super) traces: usize,
    pub(super) cases: Vec<TraceCase>,
    pub(super) unused: Vec<UnusedTrace>,
    pub(super) unread: Vec<UnreadPart>,
    /// How often each rule has matched.
    pub(super) replaced: RuleCounts,
}

/// How many columns of a text the list shows.
const SHOWN: usize = 72;

impl ReviewList {
    /// Shows every case.
    pub(super) fn show_cases(&self, out: &mut dyn Write) -> io::Result<()> {
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
                row(key, &shown(value))?;
            }
            if let Some(answer) = &case.answer {
                row(
                    "answered",
                    &format!("{} (in production; not in the case)", shown(answer)),
                )?;
            }
            for remark in &case.remarks {
                row("note", &safe::line(remark))?;
            }
            writeln!(out)?;
        }
        Ok(())
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
        let words: Vec<String> = self
            .replaced
            .iter()
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect();
        match words.is_empty() {
            true => writeln!(out, "replaced: nothing")?,
            false => writeln!(out, "replaced: {}", words.join(", "))?,
        }
        writeln!(
            out,
            "no rule finds names of people, streets or birthdays: read the file before you commit it, and use \
             `--redact NAME=REGEX`"
        )
    }

    /// The unit types that the decision should follow, judging by the form of the cases.
    pub(super) fn governing(&self) -> Vec<String> {
        let has = |name: &str| self.cases.iter().any(|case| case.fields.contains_key(name));
        let mut types = Vec::new();
        let is_asked = |case: &TraceCase| {
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
        types
    }
}

/// The beginning of a value.
fn shown(value: &Value) -> String {
    let quoted = |text: &str| format!("\"{}\"", safe::cut(text, SHOWN));
    if let Some(messages) = messages::conversation(value) {
        let turns = messages.iter().map(|message| {
            let role = safe::line(message["role"].as_str().unwrap_or_default());
            match &message["content"] {
                Value::String(text) => format!("{role} {}", quoted(text)),
                other => format!("{role} {}", quoted(&other.to_string())),
            }
        });
        return ends(
            counted(messages.len(), "message"),
            &turns.collect::<Vec<_>>(),
        );
    }
    match value {
        Value::String(text) => quoted(text),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let texts = values.iter().filter_map(Value::as_str).map(quoted);
            ends(counted(values.len(), "text"), &texts.collect::<Vec<_>>())
        }
        other => safe::cut(&other.to_string(), SHOWN),
    }
}

/// A count with the first and the last of the counted parts.
fn ends(count: String, parts: &[String]) -> String {
    match parts {
        [] => count,
        [only] => format!("{count}: {only}"),
        [first, .., last] => format!("{count}: {first} … {last}"),
    }
}
