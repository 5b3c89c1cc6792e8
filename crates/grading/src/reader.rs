//! Takes the answer from an output.

use serde_json::Value;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_probe::{DecisionField, answer};
use kelvin_run::Reader;
use kelvin_run::targets::Reply;

/// Takes the text of an answer: the whole output, or one field of it.
#[derive(Clone, Debug)]
pub(super) struct AnswerReader {
    field: Option<DecisionField>,
}

impl AnswerReader {
    /// Reads a field of a JSON output; without a field, the whole output is the answer.
    pub(super) fn new(field: Option<&str>) -> Self {
        let field = field.map(|field| match field.starts_with('/') {
            true => DecisionField::Pointer(field.to_owned()),
            false => DecisionField::Key(field.to_owned()),
        });
        Self { field }
    }
}

impl Reader for AnswerReader {
    fn digest(&self) -> Digest {
        let field = self.field.as_ref().map_or("", DecisionField::as_str);
        let fields = Fields::of("kelvin/reader/answer/v1");
        fields.field("field", field).digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let text = match &self.field {
            None => std::str::from_utf8(output)
                .map(str::to_owned)
                .map_err(|error| {
                    let at = error.valid_up_to();
                    let message =
                        format!("its output is not UTF-8: byte {at} is 0x{:02x}", output[at]);
                    Failure::new(FailureKind::OutputUnreadable, message)
                })?,
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
        // An empty text is no answer: a judge must not grade it.
        if text.trim().is_empty() {
            return Err(Failure::new(
                FailureKind::OutputMissing,
                "its answer is empty",
            ));
        }
        Ok(Value::String(text))
    }

    fn smallest(&self, answer: &Value) -> Vec<u8> {
        match &self.field {
            None => answer.as_str().unwrap_or_default().as_bytes().to_vec(),
            Some(field) => answer::smallest(answer, field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: Option<&str>, output: &str) -> Result<Value, FailureKind> {
        let reader = AnswerReader::new(field);
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
        let broken = AnswerReader::new(None).read(b"a\xff", &Reply::default());
        assert_eq!(
            broken.map_err(|failure| failure.kind),
            Err(FailureKind::OutputUnreadable)
        );
    }
}
