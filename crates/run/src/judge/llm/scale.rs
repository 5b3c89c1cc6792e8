//! The allowed answers of a model, and how an answer becomes a score.

use serde_json::{Map, Value, json};

use super::verdicts;
use crate::judge::RagMeasure;
use kelvin_base::failure::{Failure, FailureKind};

/// The key of a number.
const SCORE: &str = "quality_score";
/// The key of a choice.
const CHOICE: &str = "choice";
/// The key of the notes of the model.
const NOTES: &str = "notes";

/// The answers that a model may give.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::judge) enum Scale {
    /// A number from 0 to 1.
    Number,
    /// One of some words, each with its score, in the order in which they are shown.
    Choices(Vec<(String, f64)>),
    /// A list of claims, statements or passages with a verdict for each; this measure is computed from the verdicts.
    Verdicts(RagMeasure),
}

impl Scale {
    /// The scale for the better of two texts: 1 for the first one, 0 for the second one.
    pub(in crate::judge) fn winner() -> Self {
        let choices = [("one", 1.0), ("two", 0.0), ("tie", 0.5)];
        Self::Choices(choices.map(|(word, score)| (word.to_owned(), score)).into())
    }

    /// Whether there are so few possible scores that several answers can agree.
    pub(in crate::judge) const fn is_discrete(&self) -> bool {
        matches!(self, Self::Choices(_))
    }

    fn words(choices: &[(String, f64)]) -> Vec<&str> {
        choices.iter().map(|(word, _)| word.as_str()).collect()
    }

    /// The form of an answer, as the question shows it.
    pub(super) fn form(&self) -> String {
        match self {
            Self::Number => format!(
                "{{\"{NOTES}\": \"one short sentence with the reason\", \"{SCORE}\": a number from 0 \
                 (worst) to 1 (best)}}"
            ),
            Self::Verdicts(measure) => verdicts::form(*measure),
            Self::Choices(choices) => {
                // Only the words are shown: if the model also saw the scores, it would choose a word because of its
                // number.
                let quoted = Self::words(choices).into_iter().map(|word| json!(word));
                let words: Vec<String> = quoted.map(|word| word.to_string()).collect();
                format!(
                    "{{\"{NOTES}\": \"one short sentence with the reason\", \"{CHOICE}\": one of {}}}",
                    words.join(", ")
                )
            }
        }
    }

    /// The JSON schema of an answer, for a server that accepts one. Both keys are required because some servers accept
    /// no schema with optional keys.
    pub(super) fn schema(&self) -> Value {
        let (key, schema) = match self {
            Self::Verdicts(measure) => return verdicts::schema(*measure),
            Self::Number => (
                SCORE,
                json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            ),
            Self::Choices(choices) => (
                CHOICE,
                json!({ "type": "string", "enum": Self::words(choices) }),
            ),
        };
        json!({
            "type": "object",
            "properties": { NOTES: { "type": "string" }, key: schema },
            "required": [NOTES, key],
            "additionalProperties": false,
        })
    }

    /// The score of an answer. Fails if the answer has no score. Nothing is guessed: a string that contains a number is
    /// not a number.
    pub(super) fn score(&self, answer: &Map<String, Value>) -> Result<f64, Failure> {
        let invalid = |what: String| Failure::new(FailureKind::GradeInvalid, what);
        match self {
            Self::Verdicts(measure) => {
                let read = verdicts::read(*measure, answer)?;
                Ok(read["score"].as_f64().unwrap_or(f64::NAN))
            }
            Self::Number => {
                let value = answer.get(SCORE).ok_or_else(|| missing(SCORE))?;
                let Value::Number(number) = value else {
                    return Err(invalid(format!(
                        "`{SCORE}` is {}, not a number",
                        kind(value)
                    )));
                };
                let score = number.as_f64().unwrap_or(f64::NAN);
                match (0.0..=1.0).contains(&score) {
                    // Adding zero turns a negative zero into a positive one.
                    true => Ok(score + 0.0),
                    false => Err(invalid(format!(
                        "`{SCORE}` is {number}, not a number from 0 to 1"
                    ))),
                }
            }
            Self::Choices(choices) => {
                let value = answer.get(CHOICE).ok_or_else(|| missing(CHOICE))?;
                let Value::String(word) = value else {
                    return Err(invalid(format!(
                        "`{CHOICE}` is {}, not a text",
                        kind(value)
                    )));
                };
                chosen(choices, word.trim()).ok_or_else(|| {
                    let words = Self::words(choices).join(", ");
                    let found = super::parse::excerpt(word);
                    invalid(format!("`{CHOICE}` is `{found}`, none of {words}"))
                })
            }
        }
    }

    /// The notes of the model beside its score; only a string is accepted.
    pub(super) fn notes(answer: &Map<String, Value>) -> &str {
        answer
            .get(NOTES)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The shortest answer that has this score and these notes.
    pub(super) fn smallest(&self, score: f64, notes: &str) -> Value {
        match self {
            Self::Number | Self::Verdicts(_) => json!({ NOTES: notes, SCORE: score }),
            Self::Choices(choices) => {
                let word = choices.iter().find(|(_, of_word)| *of_word == score);
                json!({ NOTES: notes, CHOICE: word.map(|(word, _)| word) })
            }
        }
    }
}

/// The score of a chosen word. Capitals make no other word, unless two of the words differ in nothing else.
fn chosen(choices: &[(String, f64)], word: &str) -> Option<f64> {
    let exact = choices.iter().find(|(known, _)| known == word);
    let lower = word.to_lowercase();
    let mut alike = choices
        .iter()
        .filter(|(known, _)| known.to_lowercase() == lower);
    let only = match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    exact.or(only).map(|(_, score)| *score)
}

fn missing(key: &str) -> Failure {
    Failure::new(
        FailureKind::GradeMissing,
        format!("the answer of the judge has no `{key}`"),
    )
}

/// The type of the value that was found instead, for a message.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_word_is_known_in_other_capitals_unless_two_words_differ_by_them() {
        let says = |scale: &Scale, word: &str| {
            let answer = json!({ CHOICE: word });
            let answer = answer.as_object().expect("an object");
            scale.score(answer).ok()
        };
        let winner = Scale::winner();
        assert_eq!(says(&winner, "ONE"), Some(1.0));
        assert_eq!(says(&winner, " Two "), Some(0.0));
        assert_eq!(says(&winner, "TIES"), None);
        let both = ["Ok", "OK"].map(str::to_owned);
        let both = Scale::Choices(both.into_iter().zip([0.25, 0.75]).collect());
        assert_eq!(says(&both, "OK"), Some(0.75));
        assert_eq!(says(&both, "ok"), None);
    }
}
