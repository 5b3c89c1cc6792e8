//! The data that a call passes to the pipeline: one input, or the turns of a conversation one after the other. The
//! answer to the last turn is the output of the call. All turns share a token that is drawn for each call, so it
//! reveals nothing about the case, the variant or the repeat. A call that is repeated is another conversation.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::Invocation;
use kelvin_base::failure::{Failure, FailureKind};

/// The place of the turns in an input that is a record: a JSON pointer to an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnsPlace {
    pointer: String,
}

impl TurnsPlace {
    /// The place with this pointer, which begins with `/`.
    pub fn new(pointer: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
        }
    }

    /// The pointer.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The turns of an input; none if there is no array at the given position.
    fn find<'i>(&self, input: &'i str) -> Option<Vec<&'i RawValue>> {
        let mut value: &RawValue = serde_json::from_str(input).ok()?;
        for part in self.pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            value = match value.get().starts_with('[') {
                true => {
                    let inside: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
                    *inside.get(key.parse::<usize>().ok()?)?
                }
                false => {
                    let inside: BTreeMap<String, &RawValue> =
                        serde_json::from_str(value.get()).ok()?;
                    *inside.get(&key)?
                }
            };
        }
        serde_json::from_str(value.get()).ok()
    }

    /// A conversation for people who read the folder of its call: a JSON array with the turns of an input and their
    /// outputs, as far as there are any.
    pub(crate) fn conversation(&self, input: &str, outputs: &[&[u8]]) -> Vec<u8> {
        let turns = self.find(input).unwrap_or_default();
        let lines = turns.iter().zip(1..).map(|(turn, number)| {
            let output = outputs.get(number - 1).map(|output| {
                let is_json = serde_json::from_slice::<&RawValue>(output).is_ok();
                let text = String::from_utf8_lossy(output);
                let output = match is_json {
                    true => text.trim().to_owned(),
                    false => Value::from(text).to_string(),
                };
                format!(",\"output\":{output}")
            });
            let output = output.unwrap_or_default();
            format!("{{\"turn\":{number},\"input\":{turn}{output}}}")
        });
        let lines: Vec<String> = lines.collect();
        format!("[\n{}\n]\n", lines.join(",\n")).into_bytes()
    }

    /// How many inputs a call passes.
    pub fn count(&self, input: &str) -> usize {
        self.find(input).map_or(1, |turns| turns.len())
    }
}

/// A text that is different for every call and contains no information about the call.
pub(super) fn token() -> String {
    // The standard library seeds the keys of a new `RandomState` with random numbers of the system.
    let [high, low] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
    format!("{high:016x}{low:016x}")
}

/// An input in the form in which a call passes it.
#[derive(Clone, Debug)]
pub(super) struct HandedInput<'c> {
    pub(super) text: Cow<'c, str>,
    /// Whether the input is a record, not a text.
    pub(super) is_record: bool,
    /// A file with the input; a turn has none, since a turn is only passed as a message.
    pub(super) file: Option<&'c Path>,
    /// The position of the input in a conversation.
    pub(super) turn: Option<HandedTurn>,
}

/// The place of an input in a conversation.
#[derive(Clone, Debug)]
pub(super) struct HandedTurn {
    /// The token that the turns of one call share.
    pub(super) conversation: Arc<str>,
    /// The number of the turn, from 1.
    pub(super) number: usize,
    /// How many turns there are.
    pub(super) of: usize,
}

/// The inputs that a call passes, in order; at least one. Fails if the input has no turns at their place.
pub(super) fn inputs<'c>(
    call: &Invocation<'c>,
    turns: Option<&TurnsPlace>,
) -> Result<Vec<HandedInput<'c>>, Failure> {
    let Some(place) = turns else {
        return Ok(vec![HandedInput {
            text: Cow::Borrowed(call.input),
            is_record: call.input_file.extension().is_some_and(|end| end == "json"),
            file: Some(call.input_file),
            turn: None,
        }]);
    };
    let found = place.find(call.input).filter(|turns| !turns.is_empty());
    let Some(found) = found else {
        let what = format!("the input has no turns at `{}`", place.pointer);
        return Err(Failure::new(FailureKind::NotStarted, what));
    };
    let conversation: Arc<str> = token().into();
    let of = found.len();
    let inputs = (1..).zip(found).map(|(number, turn)| {
        let said: Option<String> = serde_json::from_str(turn.get()).ok();
        HandedInput {
            is_record: said.is_none(),
            text: said.map_or(Cow::Borrowed(turn.get()), Cow::Owned),
            file: None,
            turn: Some(HandedTurn {
                conversation: Arc::clone(&conversation),
                number,
                of,
            }),
        }
    });
    Ok(inputs.collect())
}

impl HandedTurn {
    /// A message that begins with the turn.
    pub(super) fn said(&self, message: &str) -> String {
        format!("in turn {} of {}: {message}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(input: &str, pointer: &str) -> Vec<(String, bool)> {
        let call = Invocation {
            input,
            input_file: Path::new("a.json"),
            output_file: Path::new("b"),
            repeat: 1,
            sample: "",
            workplace: None,
        };
        let place = TurnsPlace::new(pointer);
        let inputs = inputs(&call, Some(&place)).unwrap_or_default();
        assert!(inputs.iter().all(|input| input.file.is_none()));
        let each = inputs.into_iter();
        each.map(|input| (input.text.into_owned(), input.is_record))
            .collect()
    }

    #[test]
    fn turns_keep_their_bytes_and_a_text_is_the_text_itself() {
        let input = r#"{"a/b": {"turns": ["x\ny", {"n": 1.50, "t": ["z"]}]}, "turns": [1]}"#;
        let turns = handed(input, "/a~1b/turns");
        let ought = [("x\ny", false), (r#"{"n": 1.50, "t": ["z"]}"#, true)];
        let ought = ought.map(|(text, is_record)| (text.to_owned(), is_record));
        assert_eq!(turns, ought);
        assert_eq!(TurnsPlace::new("/a~1b/turns").count(input), 2);
        assert_eq!(handed(r#"{"a": [0, ["x"]]}"#, "/a/1").len(), 1);
        for absent in ["/b", "/a~1b", "/turns/0"] {
            assert!(handed(input, absent).is_empty(), "{absent}");
        }
        assert!(handed("{\"turns\": []}", "/turns").is_empty());
    }

    #[test]
    fn the_turns_of_a_call_have_a_token_that_no_other_call_has() {
        let call = |input| Invocation {
            input,
            input_file: Path::new("a.json"),
            output_file: Path::new("b"),
            repeat: 1,
            sample: "",
            workplace: None,
        };
        let place = TurnsPlace::new("/turns");
        let tokens = || -> Vec<Arc<str>> {
            let call = call(r#"{"turns": ["x", "y"]}"#);
            let inputs = inputs(&call, Some(&place)).expect("turns").into_iter();
            let turns = inputs.filter_map(|input| input.turn);
            turns.map(|turn| turn.conversation).collect()
        };
        let (one, two) = (tokens(), tokens());
        assert_eq!(one[0], one[1]);
        assert_ne!(one[0], two[0]);
    }
}
