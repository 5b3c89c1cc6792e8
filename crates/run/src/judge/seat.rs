//! The seats of a judge, i.e. the targets that it calls, and the questions to them.

use serde_json::{Value, json};

use super::{Ungraded, UngradedCode};
use crate::targets::Address;
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;

/// A target that a judge calls. A run has one step for each seat.
#[derive(Debug)]
pub struct Seat {
    /// The address of the model or command that is called.
    address: Address,
    reading: Box<dyn Reading>,
}

impl Seat {
    /// A seat with its address and the way to read its answers.
    pub(super) fn new(address: Address, reading: impl Reading + 'static) -> Self {
        Self {
            address: address.by_a_judge(),
            reading: Box::new(reading),
        }
    }

    /// The address of the model or command that is called.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Identifies how an answer is read.
    pub fn digest(&self) -> Digest {
        self.reading.digest()
    }

    /// Reads the score from an answer, as an object with `score` and, if there are any, `notes`.
    ///
    /// # Errors
    ///
    /// Fails with the reason why the answer has no score.
    pub fn read(&self, output: &[u8]) -> Result<Value, Failure> {
        self.reading.read(output)
    }

    /// The smallest answer from which the same value would be read.
    pub fn smallest(&self, read: &Value) -> Vec<u8> {
        self.reading.smallest(read)
    }
}

/// Reads the answers of a seat.
pub(super) trait Reading: Send + Sync + std::fmt::Debug {
    /// Identifies how an answer is read.
    fn digest(&self) -> Digest;

    /// Reads the score from an answer, as an object with `score` and, if there are any, `notes`. Fails with the reason
    /// why the answer has no score.
    fn read(&self, output: &[u8]) -> Result<Value, Failure>;

    /// The smallest answer from which the same value would be read.
    fn smallest(&self, read: &Value) -> Vec<u8>;
}

/// A question to a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The index of the seat in [`Judge::seats`](super::Judge::seats).
    pub seat: usize,
    /// The text that is sent to the seat. Two questions to one seat always have different texts, so that the cache has
    /// an answer for each.
    pub text: String,
    /// The name of the question among all questions about the same exhibit, e.g. `swapped-2`; it is a valid file name.
    pub name: String,
}

/// The value that a reading returns for an answer.
pub(super) fn read(score: f64, notes: &str) -> Value {
    match notes {
        "" => json!({ "score": score }),
        notes => json!({ "score": score, "notes": notes }),
    }
}

/// The score and the notes in the value of a reading. Fails if the value has another form, because it comes from the
/// cache or the journal of another version.
pub(super) fn score(read: &Value) -> Result<(f64, &str), Ungraded> {
    let score = read.get("score").and_then(Value::as_f64);
    let notes = read.get("notes").and_then(Value::as_str);
    let score = score.ok_or_else(no_answer)?;
    Ok((score, notes.unwrap_or_default()))
}

/// The reason for a missing answer to a question.
pub(super) fn no_answer() -> Ungraded {
    Ungraded::new(UngradedCode::NotAsked, "an answer of the judge is missing")
}
