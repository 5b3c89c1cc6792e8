//! Reads the answer from an output.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::{DecisionField, answer};
use kelvin_run::Reader;
use kelvin_run::targets::Reply;

/// Reads the text of an answer: the whole output, or one field of it.
#[derive(Clone, Debug)]
pub(super) struct AnswerReader {
    field: Option<DecisionField>,
    /// Where the retrieved passages are in the same output.
    passages: Option<DecisionField>,
}

/// The key of the text in an answer that was read with its passages.
const TEXT: &str = "answer";
/// The key of the passages in an answer that was read with its passages.
const PASSAGES: &str = "passages";

/// The text of an answer that was read.
pub(super) fn text_of(answer: &Value) -> Option<&str> {
    answer.get(TEXT).unwrap_or(answer).as_str()
}

/// The passages of an answer that was read with them.
pub(super) fn passages_of(answer: &Value) -> Option<Arc<[String]>> {
    let passages = answer.get(PASSAGES)?.as_array()?.iter();
    passages
        .map(|passage| passage.as_str().map(str::to_owned))
        .collect()
}

/// The texts of a list of passages: each is a string, or an object that contains one.
fn passages(found: &Value, field: &DecisionField) -> Result<Vec<Value>, Failure> {
    let refused = |what: String| {
        let message = format!("`{}` in its output {what}", field.as_str());
        Failure::new(FailureKind::DecisionRefused, message)
    };
    let Value::Array(list) = found else {
        return Err(refused(format!("is no list but {found:.40}")));
    };
    let text = |(number, one): (usize, &Value)| {
        let text = one.get("text").unwrap_or(one);
        match text {
            Value::String(_) => Ok(text.clone()),
            _ => Err(refused(format!(
                "has at place {number} neither a text nor an object with a `text`: {one:.40}"
            ))),
        }
    };
    (1..).zip(list).map(text).collect()
}

impl AnswerReader {
    /// Reads a field of a JSON output; without a field, the whole output is the answer.
    pub(super) fn new(field: Option<&str>, passages: Option<&str>) -> Self {
        let place = |field: &str| match field.starts_with('/') {
            true => DecisionField::Pointer(field.to_owned()),
            false => DecisionField::Key(field.to_owned()),
        };
        Self {
            field: field.map(place),
            passages: passages.map(place),
        }
    }
}

impl Reader for AnswerReader {
    fn digest(&self) -> Digest {
        let field = self.field.as_ref().map_or("", DecisionField::as_str);
        let fields = Fields::of("kelvin/reader/answer/v2");
        let fields = fields.field("field", field);
        match &self.passages {
            Some(passages) => fields.field("passages", passages.as_str()).digest(),
            None => fields.digest(),
        }
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let text = match &self.field {
            None => {
                let text = std::str::from_utf8(output).map_err(|error| {
                    let at = error.valid_up_to();
                    let message =
                        format!("its output is not UTF-8: byte {at} is 0x{:02x}", output[at]);
                    Failure::new(FailureKind::OutputUnreadable, message)
                })?;
                only_text(text).unwrap_or_else(|| text.to_owned())
            }
            Some(field) => match answer::find(output, field)? {
                Value::String(text) => text,
                other => {
                    let message = format!(
                        "`{}` in its output is no text but {other:.40}",
                        field.as_str()
                    );
                    return Err(Failure::new(FailureKind::DecisionRefused, message));
                }
            },
        };
        // An empty text is not an answer: a judge must not grade it.
        if text.trim().is_empty() {
            return Err(Failure::new(
                FailureKind::OutputMissing,
                "its answer is empty",
            ));
        }
        let Some(field) = &self.passages else {
            return Ok(Value::String(text));
        };
        let passages = passages(&answer::find(output, field)?, field)?;
        Ok(json!({ TEXT: text, PASSAGES: passages }))
    }

    fn smallest(&self, answer: &Value) -> Vec<u8> {
        let text = text_of(answer).unwrap_or_default();
        let Some(field) = &self.field else {
            // If the text itself looks like a JSON object with an answer, only the text inside it would be read, so it
            // is put into another object.
            return match only_text(text) {
                None => text.as_bytes().to_vec(),
                Some(_) => json!({ "answer": text }).to_string().into_bytes(),
            };
        };
        let output = answer::smallest(&text.into(), field);
        match (&self.passages, answer.get(PASSAGES)) {
            (Some(place), Some(passages)) => {
                let other = answer::smallest(passages, place);
                merged(&output, &other)
            }
            _ => output,
        }
    }
}

/// The text of an output that is a JSON object with only one string. Such an output is written for a function that
/// returns a string.
fn only_text(output: &str) -> Option<String> {
    if !output.trim_start().starts_with('{') {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(output).ok()?;
    match object.values().next() {
        Some(Value::String(text)) if object.len() == 1 => Some(text.clone()),
        _ => None,
    }
}

/// A JSON object with all the fields of two objects.
fn merged(one: &[u8], other: &[u8]) -> Vec<u8> {
    fn merge(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    merge(into.entry(key).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from,
        }
    }
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let mut whole: Value = read(one);
    merge(&mut whole, read(other));
    whole.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: Option<&str>, output: &str) -> Result<Value, FailureKind> {
        read_with(field, None, output)
    }

    fn read_with(
        field: Option<&str>,
        passages: Option<&str>,
        output: &str,
    ) -> Result<Value, FailureKind> {
        let reader = AnswerReader::new(field, passages);
        let read = reader.read(output.as_bytes(), &Reply::default());
        // The kept form of an output is read like the output itself.
        if let Ok(answer) = &read {
            let again = reader.read(&reader.smallest(answer), &Reply::default());
            assert_eq!(again.as_ref(), Ok(answer));
        }
        read.map_err(|failure| failure.kind)
    }

    #[test]
    fn the_whole_output_or_one_field_of_it_is_the_answer_and_an_empty_one_is_a_failure() {
        assert_eq!(read(None, " two\nlines\n"), Ok(" two\nlines\n".into()));
        assert_eq!(read(None, "{\"decision\": \"Yes.\"}"), Ok("Yes.".into()));
        let two = "{\"a\": \"Yes.\", \"b\": 1}";
        assert_eq!(read(None, two), Ok(two.into()));
        assert_eq!(read(Some("a"), r#"{"a": "x"}"#), Ok("x".into()));
        assert_eq!(read(Some("/a/b"), r#"{"a": {"b": "x"}}"#), Ok("x".into()));
        assert_eq!(read(None, " \n"), Err(FailureKind::OutputMissing));
        assert_eq!(
            read(Some("a"), r#"{"a": ""}"#),
            Err(FailureKind::OutputMissing)
        );
        assert_eq!(
            read(Some("a"), r#"{"a": 3}"#),
            Err(FailureKind::DecisionRefused)
        );
        assert_eq!(
            read(Some("a"), r#"{"b": "x"}"#),
            Err(FailureKind::DecisionMissing)
        );
        assert_eq!(read(Some("a"), "text"), Err(FailureKind::OutputNotJson));
        let broken = AnswerReader::new(None, None).read(b"a\xff", &Reply::default());
        assert_eq!(
            broken.map_err(|failure| failure.kind),
            Err(FailureKind::OutputUnreadable)
        );
    }

    #[test]
    fn passages_are_texts_or_objects_with_a_text_and_anything_else_is_a_failure() {
        let with = |output: &str| read_with(Some("/out/answer"), Some("/out/hits"), output);
        let read =
            with(r#"{"out": {"answer": "x", "hits": ["one", {"id": 7, "text": "two"}]}, "z": 1}"#);
        let read = read.expect("it is read");
        assert_eq!(text_of(&read), Some("x"));
        let found = passages_of(&read).expect("passages");
        assert_eq!(&*found, ["one".to_owned(), "two".to_owned()]);
        let none = with(r#"{"out": {"answer": "x", "hits": []}}"#).expect("it is read");
        assert_eq!(passages_of(&none).map(|found| found.len()), Some(0));
        for hits in ["[7]", "\"one\"", "[{\"id\": 1}]", "null"] {
            let output = format!(r#"{{"out": {{"answer": "x", "hits": {hits}}}}}"#);
            assert_eq!(with(&output), Err(FailureKind::DecisionRefused), "{hits}");
        }
        assert_eq!(
            with(r#"{"out": {"answer": "x"}}"#),
            Err(FailureKind::DecisionMissing)
        );
        let plain = Value::String("x".to_owned());
        assert_eq!((text_of(&plain), passages_of(&plain)), (Some("x"), None));
    }
}
