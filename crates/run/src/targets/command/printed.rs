//! The printed output of a process, of any length, in bounded memory.

use super::tail::Tail;
use crate::targets::StandardOutput;

/// Receives a stream.
pub(super) trait Sink {
    /// Receives the next bytes.
    fn push(&mut self, bytes: &[u8]);
}

impl Sink for Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// A stream whose beginning is kept unchanged, up to a limit, and whose end is kept as a text for people.
#[derive(Debug)]
pub(super) struct Printed {
    /// The end of the stream.
    pub(super) tail: Tail,
    start: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Printed {
    /// An empty stream that keeps at most this many bytes of its beginning.
    pub(super) fn at_most(bytes: u64) -> Self {
        Self {
            tail: Tail::default(),
            start: Vec::new(),
            most: usize::try_from(bytes).unwrap_or(usize::MAX),
            is_cut: false,
        }
    }

    /// Returns the beginning of the stream.
    pub(super) fn start(self) -> StandardOutput {
        StandardOutput {
            bytes: self.start,
            is_cut: self.is_cut,
        }
    }
}

impl Sink for Printed {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.most - self.start.len();
        self.start
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_cut |= bytes.len() > room;
        self.tail.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_up_to_the_limit_and_the_end_always() {
        let mut printed = Printed::at_most(10);
        for _ in 0..100_000 {
            printed.push(b"abc\n");
        }
        printed.push(b"the end\n");
        assert!(printed.start.capacity() < 64);
        assert!(printed.tail.text().ends_with("abc\nthe end"));
        let start = printed.start();
        assert!(start.is_cut, "a part is missing");
        assert_eq!(start.bytes, b"abc\nabc\nab");
        let mut whole = Printed::at_most(10);
        whole.push(b"0123456789");
        let whole = whole.start();
        assert!(!whole.is_cut);
        assert_eq!(whole.bytes, b"0123456789");
    }
}
