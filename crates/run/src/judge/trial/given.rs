//! The answers on which a judge is tested, as a file of JSON lines.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;

/// An answer that somebody gave to a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenAnswer {
    /// The prompt. Answers to one prompt count as one cluster.
    pub prompt: String,
    /// The answer.
    pub response: String,
    /// The content of a good answer, if it is known.
    pub reference: Option<String>,
    /// A person's rating of the answer, in `[0, 1]`.
    pub label: Option<f64>,
    /// The family of models that wrote the answer.
    pub family: Option<String>,
}

/// The unchecked line of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    prompt: String,
    response: String,
    reference: Option<String>,
    label: Option<Value>,
    family: Option<String>,
    /// Files of labels often have ids in their lines; this program does not use them.
    #[serde(rename = "id")]
    _id: Option<Value>,
    #[serde(rename = "tags")]
    _tags: Option<Value>,
}

impl GivenAnswer {
    /// The answer from which the copies with planted faults are made: the given answer, unless a person says that it
    /// does not pass, and otherwise the reference. A fault does not make a bad answer worse, so copies of it would show
    /// nothing about the order. None if no good answer is known.
    pub(super) fn good(&self, pass: f64) -> Option<&str> {
        match self.label {
            Some(label) if label < pass => self.reference.as_deref(),
            _ => Some(&self.response),
        }
    }

    /// Adds the fields that distinguish this answer from others.
    fn field(&self, fields: Fields) -> Fields {
        let label = self.label.map(f64::to_be_bytes);
        fields
            .field("prompt", &self.prompt)
            .field("response", &self.response)
            .field("reference", self.reference.as_deref().unwrap_or("\0none"))
            .field("label", label.as_ref().map_or(&[][..], |bytes| &bytes[..]))
            .field("family", self.family.as_deref().unwrap_or("\0none"))
    }
}

/// The digest of all answers, which depends on their order.
pub(super) fn digest(answers: &[GivenAnswer]) -> Digest {
    let fields = Fields::of("kelvin/given-answers/v1");
    let each = |fields, answer: &GivenAnswer| answer.field(fields);
    answers.iter().fold(fields, each).digest()
}

/// Reads a file of JSON lines, `{prompt, response, reference?, label?, family?}` each. Blank lines are
/// skipped.
///
/// # Errors
///
/// A [`Misuse`] with the first line that cannot be used; then nothing of the file is used.
pub fn read(text: &str, file: &Path) -> Result<Vec<GivenAnswer>, Misuse> {
    let mut answers = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() {
            continue;
        }
        let answer = of_line(line).map_err(|what| {
            let place = format!("{}:{}", file.display(), at + 1);
            Misuse::new(format!("{place}: {what}"))
                .help(
                    "each line is a JSON object with `prompt` and `response`, and optionally \
                     `reference`, `label` from 0 to 1 and `family`",
                )
                .at(file, at + 1)
        })?;
        answers.push(answer);
    }
    if answers.is_empty() {
        let what = format!("`{}` holds no answers", file.display());
        return Err(Misuse::new(what).help("a trial needs 20 prompts or more, one answer a line"));
    }
    Ok(answers)
}

fn of_line(line: &str) -> Result<GivenAnswer, String> {
    let raw: RawAnswer = serde_json::from_str(line).map_err(|error| {
        let text = error.to_string();
        // The message keeps the column within the line, but not the line number, which is always 1 here.
        format!("the line is no answer: {}", text.replace(" at line 1", ","))
    })?;
    for (key, text) in [("prompt", &raw.prompt), ("response", &raw.response)] {
        if text.trim().is_empty() {
            return Err(format!("`{key}` is blank"));
        }
    }
    for (key, text, what) in [
        ("reference", &raw.reference, "none is known"),
        ("family", &raw.family, "it is not known"),
    ] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(format!("`{key}` is blank; leave the key out where {what}"));
        }
    }
    let label = match raw.label {
        None | Some(Value::Null) => None,
        Some(written) => {
            let number = written.as_f64().filter(|label| (0.0..=1.0).contains(label));
            let number = number.ok_or_else(|| {
                format!("`label` must be a number from 0 to 1, and is `{written}`")
            })?;
            Some(number)
        }
    };
    Ok(GivenAnswer {
        prompt: raw.prompt,
        response: raw.response,
        reference: raw.reference,
        label,
        family: raw.family,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let misuse = read(text, Path::new("labels.jsonl")).expect_err("refused");
        misuse.what
    }

    #[test]
    fn a_line_has_a_prompt_an_answer_and_what_is_known_of_it() {
        let text = "{\"prompt\": \"p\", \"response\": \"r\", \"id\": 7}\n\n\
                    {\"prompt\": \"p\", \"response\": \"s\", \"reference\": \"t\", \"label\": 0, \
                     \"family\": \"oak\"}\n";
        let answers = read(text, Path::new("labels.jsonl")).expect("they are valid");
        assert_eq!(answers.len(), 2);
        assert_eq!((answers[0].label, answers[1].label), (None, Some(0.0)));
        assert_eq!(answers[1].family.as_deref(), Some("oak"));
        assert_ne!(digest(&answers), digest(&answers[..1]));
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named() {
        let good = "{\"prompt\": \"p\", \"response\": \"r\"}\n";
        let mut told = Vec::new();
        for line in [
            "{\"prompt\": \"p\", \"response\": \"r\", \"label\": 1.1}",
            "{\"prompt\": \"p\", \"response\": \"r\", \"label\": true}",
            "{\"prompt\": \"p\", \"response\": \"r\", \"label\": \"1\"}",
            "{\"prompt\": \"p\", \"response\": \"r\", \"lable\": 1}",
            "{\"prompt\": \" \", \"response\": \"r\"}",
            "{\"prompt\": \"p\"}",
            "{\"prompt\": \"p\", \"response\": \"r\", \"reference\": \"\"}",
            "[1]",
            "p,r",
        ] {
            let what = refusal(&format!("{good}{line}\n"));
            assert!(what.starts_with("labels.jsonl:2: "), "{what}");
            told.push(what.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @r#"
        labels.jsonl:2: `label` must be a number from 0 to 1, and is `1.1`
        labels.jsonl:2: `label` must be a number from 0 to 1, and is `true`
        labels.jsonl:2: `label` must be a number from 0 to 1, and is `"1"`
        labels.jsonl:2: the line is no answer: unknown field `lable`, expected one of `prompt`, `response`, `reference`, `label`, `family`, `id`, `tags`, column 40
        labels.jsonl:2: `prompt` is blank
        labels.jsonl:2: the line is no answer: missing field `response`, column 15
        labels.jsonl:2: `reference` is blank; leave the key out where none is known
        labels.jsonl:2: the line is no answer: invalid type: integer `1`, expected a string, column 2
        labels.jsonl:2: the line is no answer: expected value, column 1
        "#);
        insta::assert_snapshot!(refusal("\n\n"), @"`labels.jsonl` holds no answers");
    }

    #[test]
    fn copies_are_made_from_an_answer_that_nobody_calls_bad() {
        let answer = |label, reference: Option<&str>| GivenAnswer {
            prompt: "p".to_owned(),
            response: "r".to_owned(),
            reference: reference.map(str::to_owned),
            label,
            family: None,
        };
        assert_eq!(answer(None, Some("t")).good(0.5), Some("r"));
        assert_eq!(answer(Some(0.5), Some("t")).good(0.5), Some("r"));
        assert_eq!(answer(Some(0.4), Some("t")).good(0.5), Some("t"));
        assert_eq!(answer(Some(0.4), None).good(0.5), None);
    }
}
