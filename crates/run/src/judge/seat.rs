//! What a judge calls, and what it asks there.

use serde_json::{Value, json};

use super::{Ungraded, UngradedCode};
use crate::targets::Address;
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;

/// Something that a judge calls. A run makes one step of each.
#[derive(Debug)]
pub struct Seat {
    /// How it is reached.
    address: Address,
    reading: Box<dyn Reading>,
}

impl Seat {
    /// A seat whose answers are read in one way.
    pub(super) fn new(address: Address, reading: impl Reading + 'static) -> Self {
        Self {
            address: address.by_a_judge(),
            reading: Box::new(reading),
        }
    }

    /// How it is reached.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Tells apart what is read of an answer.
    pub fn digest(&self) -> Digest {
        self.reading.digest()
    }

    /// Takes the score from an answer, as an object with `score` and, where there are any, `notes`.
    ///
    /// # Errors
    ///
    /// Why the answer has no score.
    pub fn read(&self, output: &[u8]) -> Result<Value, Failure> {
        self.reading.read(output)
    }

    /// The smallest answer of which the same would be read.
    pub fn smallest(&self, read: &Value) -> Vec<u8> {
        self.reading.smallest(read)
    }
}

/// How an answer is read.
pub(super) trait Reading: Send + Sync + std::fmt::Debug {
    /// Tells apart what is read of an answer.
    fn digest(&self) -> Digest;

    /// Takes the score from an answer, as an object with `score` and, where there are any, `notes`.
    ///
    /// # Errors
    ///
    /// Why the answer has no score.
    fn read(&self, output: &[u8]) -> Result<Value, Failure>;

    /// The smallest answer of which the same would be read.
    fn smallest(&self, read: &Value) -> Vec<u8>;
}

/// What is asked of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The place of the seat in [`Judge::seats`](super::Judge::seats).
    pub seat: usize,
    /// What the seat is sent. Two questions to one seat always differ in it, so that the cache has an
    /// answer for each.
    pub text: String,
    /// Names the question among those to the same exhibit, e.g. `swapped-2`; fits a file name.
    pub name: String,
}

/// What a reading keeps of an answer.
pub(super) fn read(score: f64, notes: &str) -> Value {
    match notes {
        "" => json!({ "score": score }),
        notes => json!({ "score": score, "notes": notes }),
    }
}

/// The score and the notes of such a value.
///
/// # Errors
///
/// Where it is none: it comes from the cache or the journal of another version.
pub(super) fn score(read: &Value) -> Result<(f64, &str), Ungraded> {
    let score = read.get("score").and_then(Value::as_f64);
    let notes = read.get("notes").and_then(Value::as_str);
    let score = score.ok_or_else(no_answer)?;
    Ok((score, notes.unwrap_or_default()))
}

/// The reason where an answer that was asked for is not there.
pub(super) fn no_answer() -> Ungraded {
    Ungraded::new(UngradedCode::NotAsked, "an answer of the judge is missing")
}
