//! Makes the units of a case of a conversation: a list of messages with `role` and `content`, as the interfaces of
//! OpenAI and Anthropic take it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use kelvin_base::exit::Misuse;
use kelvin_evidence::cases::{NewUnit, compose};
use kelvin_page::safe;

/// The headings of the turns, in the order in which `keep_order` lists their types.
pub(super) const HEADINGS: [&str; 4] = ["System", "User turn", "Assistant turn", LAST];

/// The heading of the message that the pipeline is to answer.
const LAST: &str = "Last user turn";

/// Keys of a message that carry a part of the conversation. Without them it would be another conversation.
const PARTS_OF_IT: [&str; 5] = [
    "tool_calls",
    "function_call",
    "tool_call_id",
    "audio",
    "refusal",
];

/// What can be done about a conversation that is no text.
const ONLY_TEXT: &str = "a case is text: write what stands there as text into `content`, or leave this conversation out \
                         of the file";

/// The turns of a conversation.
#[derive(Debug, Default)]
pub(super) struct ConversationTurns {
    /// The units, in the order of the messages.
    pub(super) units: Vec<NewUnit>,
    /// How many system messages say nothing; no unit is made of them.
    pub(super) empty: usize,
    /// How many messages follow the last user turn and its system messages. The pipeline is to write them itself.
    pub(super) after: usize,
    /// The keys of messages that are in no unit, such as `name`.
    pub(super) left_out: BTreeSet<String>,
}

/// Whether a value looks like a conversation.
pub(super) fn is_conversation(value: &Value) -> bool {
    let is_message = |value: &Value| value["role"].is_string() && value.get("content").is_some();
    let messages = value.as_array();
    messages.is_some_and(|messages| {
        messages.iter().all(is_message) && messages.iter().any(|message| message["role"] == "user")
    })
}

/// Makes units of the messages that stand in a field of the record at `place`.
///
/// # Errors
///
/// A [`Misuse`] with the place and the number of the message, where a message is no text of a known role.
pub(super) fn turns(value: &Value, field: &str, place: &str) -> Result<ConversationTurns, Misuse> {
    let field = safe::line(field);
    let Some(messages) = value.as_array() else {
        return Err(Misuse::new(format!(
            "{place}: `{field}` is no list of messages: {}",
            safe::cut(&value.to_string(), 60)
        ))
        .help("name with `--messages` a list of objects with `role` and `content`"));
    };
    let is_of = |message: &Value, role: &str| message["role"] == role;
    let Some(last) = messages.iter().rposition(|message| is_of(message, "user")) else {
        return Err(Misuse::new(format!(
            "{place}: no message of `{field}` has the role `user`, so there is no turn to answer"
        ))
        .help("leave this conversation out of the file, or name with `--messages` another field"));
    };
    // Instructions behind the last user turn are a part of what the pipeline is asked.
    let is_system = |message: &&Value| is_of(message, "system") || is_of(message, "developer");
    let instructions = messages[last + 1..].iter().take_while(is_system).count();
    let end = last + 1 + instructions;
    let mut turns = ConversationTurns {
        after: messages.len() - end,
        ..ConversationTurns::default()
    };
    for (at, message) in messages[..end].iter().enumerate() {
        let place = format!("{place}: message {} of `{field}`", at + 1);
        turns.take(message, at == last, &place)?;
    }
    Ok(turns)
}

impl ConversationTurns {
    /// Makes a unit of a message.
    fn take(&mut self, message: &Value, is_last: bool, place: &str) -> Result<(), Misuse> {
        let Some(message) = message.as_object() else {
            return Err(
                Misuse::new(format!("{place} is no object: {}", shown(message)))
                    .help("a message is an object with `role` and `content`"),
            );
        };
        let heading = match message.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => HEADINGS[0],
            Some("user") if is_last => LAST,
            Some("user") => HEADINGS[1],
            Some("assistant") => HEADINGS[2],
            Some(role) => {
                return Err(Misuse::new(format!(
                    "{place} has the role `{}`, which no turn of a case has",
                    safe::cut(&safe::line(role), 40)
                ))
                .help(ONLY_TEXT));
            }
            None => return Err(no_key(message, "role", place)),
        };
        let says_something = |value: &Value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            _ => true,
        };
        for (key, value) in message.iter().filter(|(_, value)| says_something(value)) {
            if PARTS_OF_IT.contains(&&**key) {
                return Err(
                    Misuse::new(format!("{place} has `{key}`: {}", shown(value))).help(ONLY_TEXT),
                );
            }
            if key != "role" && key != "content" {
                self.left_out.insert(key.clone());
            }
        }
        let content = message.get("content");
        let text = match content {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => self.joined(parts, place)?,
            Some(other) => {
                return Err(Misuse::new(format!(
                    "{place} has a `content` that is neither a text nor a list of parts: {}",
                    shown(other)
                ))
                .help(ONLY_TEXT));
            }
            None => return Err(no_key(message, "content", place)),
        };
        if !text.trim().is_empty() {
            let heading = heading.to_owned();
            let unit = NewUnit { heading, text };
            check_headings(&unit, place)?;
            self.units.push(unit);
        } else if heading == HEADINGS[0] {
            self.empty += 1;
        } else {
            return Err(Misuse::new(format!("{place} says nothing"))
                .help("give it a text, or leave this conversation out of the file"));
        }
        Ok(())
    }

    /// The texts of the parts of a message, with a blank line between two of them.
    fn joined(&mut self, parts: &[Value], place: &str) -> Result<String, Misuse> {
        let mut texts = Vec::with_capacity(parts.len());
        for part in parts {
            let is_text = matches!(
                part["type"].as_str(),
                Some("text" | "input_text" | "output_text")
            );
            let (true, Some(text)) = (is_text, part["text"].as_str()) else {
                return Err(Misuse::new(format!(
                    "{place} has a part that is no text: {}",
                    shown(part)
                ))
                .help(ONLY_TEXT));
            };
            let keys = part.as_object().into_iter().flat_map(Map::keys);
            let others = keys.filter(|key| *key != "type" && *key != "text");
            self.left_out.extend(others.cloned());
            texts.push(text);
        }
        Ok(texts.join("\n\n"))
    }
}

/// Refuses a text with a line such as `## System` inside a code block of its own. Such a text is written as it is, and
/// pipelines that look for the headings of turns alone would take that line for one.
fn check_headings(unit: &NewUnit, place: &str) -> Result<(), Misuse> {
    let is_heading = |line: &&str| {
        line.strip_prefix("## ")
            .is_some_and(|name| HEADINGS.contains(&name))
    };
    let Some(line) = unit.text.lines().find(is_heading) else {
        return Ok(());
    };
    let is_plain = format!("## {}\n\n{}\n", unit.heading, unit.text);
    match compose("", std::slice::from_ref(unit)) {
        Ok(case) if case == is_plain => Err(Misuse::new(format!(
            "{place} has the line `{line}` inside a code block, which could be taken for the heading of a turn"
        ))
        .help("put a space before that line, or leave this conversation out of the file")),
        // Otherwise all of the text stands in a code block, or is refused with the whole case.
        _ => Ok(()),
    }
}

/// The beginning of a value, as it stands in a message.
fn shown(value: &Value) -> String {
    safe::cut(&safe::line(&value.to_string()), 60)
}

/// The error of a message that lacks a key, with those that it has.
fn no_key(message: &Map<String, Value>, key: &str, place: &str) -> Misuse {
    let keys: Vec<&str> = message.keys().map(String::as_str).collect();
    Misuse::new(format!(
        "{place} has no `{key}` that could be read; it has {}",
        safe::cut(&safe::line(&keys.join(", ")), 120)
    ))
    .help("a message is an object with `role` and `content`, e.g. {\"role\": \"user\", \"content\": \"Hello\"}")
}
