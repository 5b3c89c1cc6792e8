//! What a judge calls, and what it asks there.

use serde_json::Value;

use crate::digest::Digest;
use crate::target::{Address, Failure};

/// Something that a judge calls. A run makes one step of each.
#[derive(Debug)]
pub(crate) struct Seat {
    /// How it is reached.
    address: Address,
    reading: Box<dyn Reading>,
}

impl Seat {
    /// A seat whose answers are read in one way.
    pub(super) fn new(address: Address, reading: impl Reading + 'static) -> Self {
        Self {
            address,
            reading: Box::new(reading),
        }
    }

    /// How it is reached.
    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// Tells apart what is read of an answer.
    pub(crate) fn digest(&self) -> Digest {
        self.reading.digest()
    }

    /// Takes the score from an answer, as an object with `score` and, where there are any, `notes`.
    ///
    /// # Errors
    ///
    /// Why the answer has no score.
    pub(crate) fn read(&self, output: &[u8]) -> Result<Value, Failure> {
        self.reading.read(output)
    }

    /// The smallest answer of which the same would be read.
    pub(crate) fn smallest(&self, read: &Value) -> Vec<u8> {
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
pub(crate) struct Question {
    /// The place of the seat in [`Judge::seats`](super::Judge::seats).
    pub(crate) seat: usize,
    /// What the seat is sent. Two questions to one seat always differ in it, so that the cache has an
    /// answer for each.
    pub(crate) text: String,
    /// Names the question among those to the same exhibit, e.g. `swapped-2`; fits a file name.
    pub(crate) name: String,
}
