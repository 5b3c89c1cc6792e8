//! The data that are read from a span, whichever tool recorded it, and the texts of the documents that a search
//! returned.

use serde_json::{Map, Value};

use kelvin_base::clock;

/// A span, reduced to the data that the cases need.
#[derive(Debug, Default)]
pub(super) struct RecordedSpan {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    /// When it began, in nanoseconds since the epoch.
    pub(super) start: Option<i128>,
    /// Why the span failed, if it did; the reason may be empty.
    pub(super) error: Option<String>,
    /// Whether the span stands for the whole trace.
    pub(super) is_trace: bool,
    /// Whether the span is a step whose input the pipeline makes itself, such as a search.
    pub(super) is_step: bool,
    pub(super) input: Option<Value>,
    /// Why its input may be incomplete.
    pub(super) cut: Option<String>,
    pub(super) output: Option<Value>,
    pub(super) found: FoundDocuments,
}

/// The documents that a search returned.
#[derive(Debug, Default)]
pub(super) struct FoundDocuments {
    pub(super) texts: Vec<String>,
    /// How many documents have no text.
    pub(super) textless: usize,
    /// Whether this was a reranking step, so that these documents replace those found earlier.
    pub(super) reranked: bool,
    /// Why the list of documents may be incomplete.
    pub(super) cut: Option<String>,
}

/// The words that Langfuse's SDK writes in place of a value that is too large.
const TRUNCATED: &str = "<truncated due to size exceeding limit>";

/// The value behind a recorded value: many tools write JSON as a string. Fails with the reason why the value is
/// incomplete.
pub(super) fn meant(value: &Value, is_json: bool) -> Result<Value, String> {
    let Value::String(text) = value else {
        return Ok(value.clone());
    };
    if text.contains(TRUNCATED) {
        return Err(format!("it says `{TRUNCATED}`"));
    }
    let begins = text.trim_start().starts_with(['{', '[']);
    if !begins && !is_json {
        return Ok(value.clone());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(meant) => Ok(meant),
        Err(error) if begins && (error.is_eof() || is_json) => Err(format!(
            "it is no whole JSON, as where a limit has cut it off: {error}"
        )),
        Err(_) => Ok(value.clone()),
    }
}

/// Whether a value has any content.
pub(super) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The first keys of an object that is not a trace, for a message.
pub(super) fn first_keys(fields: &Map<String, Value>) -> String {
    let keys = fields.keys().take(6).map(|key| format!("`{key}`"));
    keys.collect::<Vec<String>>().join(", ")
}

/// A time in nanoseconds since the epoch: from a number, a number in a string, or RFC 3339.
pub(super) fn moment(value: &Value) -> Option<i128> {
    let text = match value {
        Value::Number(number) => return number.as_i64().map(i128::from),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    if let Ok(number) = text.parse::<i128>() {
        return Some(number);
    }
    let time = clock::in_utc(text).ok()?;
    let fraction = time.split_once('.').map_or("", |(_, rest)| rest);
    let digits: String = fraction
        .chars()
        .take_while(char::is_ascii_digit)
        .take(9)
        .collect();
    let nanoseconds: i128 = format!("{digits:0<9}").parse().ok()?;
    Some(i128::from(clock::to_seconds(&time).ok()?) * 1_000_000_000 + nanoseconds)
}

/// The keys under which a document may have its text.
const TEXTS: [&str; 9] = [
    "page_content",
    "pageContent",
    "content",
    "text",
    "document",
    "passage",
    "chunk",
    "body",
    "snippet",
];

/// The keys under which an object may have documents.
const LISTS: [&str; 10] = [
    "documents",
    "passages",
    "results",
    "context",
    "chunks",
    "nodes",
    "source_nodes",
    "matches",
    "hits",
    "output",
];

impl FoundDocuments {
    /// The documents in the output of a search.
    pub(super) fn of_output(value: &Value) -> Self {
        let mut found = Self::default();
        found.take(value, 3);
        found
    }

    fn take(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Array(items) => {
                for item in items {
                    match item {
                        Value::Array(_) if depth > 0 => self.take(item, depth - 1),
                        item => self.push(text_of(item, 3)),
                    }
                }
            }
            Value::Object(fields) if depth > 0 => {
                if let Some(list) = LISTS.iter().find_map(|key| fields.get(*key)) {
                    self.take(list, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Adds a document; a document without text is only counted.
    pub(super) fn push(&mut self, text: Option<&str>) {
        match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => self.texts.push(text.to_owned()),
            None => self.textless += 1,
        }
    }
}

/// The text of a document.
fn text_of(document: &Value, depth: usize) -> Option<&str> {
    match document {
        Value::String(text) => Some(text),
        Value::Object(fields) => {
            let own = TEXTS.iter().find_map(|key| match fields.get(*key)? {
                Value::String(text) => Some(text.as_str()),
                inside if depth > 0 => text_of(inside, depth - 1),
                _ => None,
            });
            let wrapped = || {
                let keys = ["node", "kwargs", "payload", "metadata", "_source"];
                let mut inside = keys.iter().filter_map(|key| fields.get(*key));
                inside.find_map(|inside| {
                    inside
                        .as_object()
                        .filter(|_| depth > 0)
                        .and_then(|_| text_of(inside, depth - 1))
                })
            };
            own.or_else(wrapped)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_texts_of_documents_are_found_in_the_forms_of_the_libraries() {
        for output in [
            json!(["a", "b"]),
            json!([{"page_content": "a", "metadata": {"text": "no"}}, {"pageContent": "b"}]),
            json!({"documents": [[{"content": "a"}, {"text": "b"}]]}),
            json!({"source_nodes": [{"node": {"text": "a"}, "score": 0.5}, {"document": {"content": "b"}}]}),
            json!([{"kwargs": {"page_content": "a"}}, {"_source": {"body": "b"}}]),
        ] {
            let found = FoundDocuments::of_output(&output);
            assert_eq!(found.texts, ["a", "b"], "{output}");
        }
        let bare = FoundDocuments::of_output(&json!([{"id": "d1", "score": 0.5}, {"text": " "}]));
        assert_eq!((bare.texts.len(), bare.textless), (0, 2));
        assert_eq!(FoundDocuments::of_output(&json!("x")).texts.len(), 0);
    }

    #[test]
    fn what_was_cut_off_is_told_from_plain_text() {
        let text = |text: &str| meant(&json!(text), false);
        assert_eq!(text("{\"a\": [1]}"), Ok(json!({"a": [1]})));
        for plain in ["[Ann] hello", "plain", "{not json}"] {
            assert_eq!(text(plain), Ok(json!(plain)), "{plain}");
        }
        for cut in [
            "{\"a\": \"b",
            "[{\"role\": \"user\", \"cont",
            "x <truncated due to size exceeding limit>",
        ] {
            assert!(text(cut).is_err(), "{cut}");
        }
        assert!(meant(&json!("[x]"), true).is_err());
    }

    #[test]
    fn times_are_read_in_every_form() {
        let wanted = Some(1_700_000_000_123_000_000);
        for time in [
            json!("1700000000123000000"),
            json!(1_700_000_000_123_000_000_i64),
            json!("2023-11-14T22:13:20.123Z"),
        ] {
            assert_eq!(moment(&time), wanted, "{time}");
        }
        assert_eq!(
            moment(&json!("2023-11-14T22:13:20")),
            Some(1_700_000_000_000_000_000)
        );
        assert_eq!(moment(&json!("soon")), None);
    }
}
