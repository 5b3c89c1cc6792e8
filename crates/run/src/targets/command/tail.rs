//! The last part of a stream, in bounded memory.

use crate::targets::StandardOutput;

/// How many of the last bytes are held in memory. The text made from them is shorter.
const HELD: usize = 8 * 1024;
/// The maximum size of the text in bytes.
const SHOWN_BYTES: usize = 4 * 1024;
/// The length of the longest word that may be a secret.
const LONGEST_SECRET: usize = 512;
/// The maximum number of lines in the text.
const SHOWN_LINES: usize = 20;

/// Receives a stream of any length and stores its last 8 KiB.
#[derive(Debug, Default)]
pub(in crate::targets) struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    /// Receives the next bytes.
    pub(in crate::targets) fn push(&mut self, bytes: &[u8]) {
        let fresh = &bytes[bytes.len().saturating_sub(HELD)..];
        self.cut |= fresh.len() < bytes.len();
        // The buffer may grow to twice `HELD`, so that bytes are rarely moved to its front.
        if self.bytes.len() + fresh.len() > 2 * HELD {
            let kept = HELD.min(self.bytes.len());
            self.bytes.drain(..self.bytes.len() - kept);
            self.cut = true;
        }
        self.bytes.extend_from_slice(fresh);
    }

    /// The last 20 lines or 4 KiB, if that is shorter. Bytes that are not valid UTF-8 are replaced.
    pub(in crate::targets) fn text(&self) -> String {
        let start = self.bytes.len().saturating_sub(HELD);
        let mut bytes = &self.bytes[start..];
        if self.cut || start > 0 {
            // The text may begin inside a character.
            let torn = bytes
                .iter()
                .take(3)
                .take_while(|byte| **byte >> 6 == 0b10)
                .count();
            bytes = &bytes[torn..];
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end();
        let start = text
            .rmatch_indices('\n')
            .nth(SHOWN_LINES - 1)
            .map_or(0, |(at, _)| at + 1);
        let start = text.ceil_char_boundary(start.max(text.len().saturating_sub(SHOWN_BYTES)));
        let is_torn = match start {
            0 => self.cut || self.bytes.len() > HELD,
            start => !text[..start].ends_with('\n'),
        };
        let text = &text[start..];
        text[if is_torn { torn_word(text) } else { 0 }..].to_owned()
    }
}

/// The length of the partial word at the beginning of a shortened text. It is removed because it may be the end of a
/// secret, which no masker would recognise. A word that is too long for a secret stays.
fn torn_word(text: &str) -> usize {
    let is_of_word = |letter: char| letter.is_alphanumeric() || "+/=_-.~%".contains(letter);
    match text.find(|letter| !is_of_word(letter)) {
        Some(end) if end <= LONGEST_SECRET => end,
        _ => 0,
    }
}

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

/// A stream whose beginning is stored unchanged, up to a limit, and whose end is stored as a text for people.
#[derive(Debug)]
pub(super) struct Printed {
    /// The last part of the stream.
    pub(super) tail: Tail,
    start: Vec<u8>,
    most: usize,
    is_cut: bool,
}

impl Printed {
    /// An empty stream that stores at most this many bytes of its beginning.
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
    fn a_word_that_is_cut_in_two_is_left_out() {
        let secret = "hunter2-hunter2-hunter2";
        for shift in 0..secret.len() + 2 {
            let after = "y ".repeat((SHOWN_BYTES - shift) / 2);
            let text = tail(&[format!("begin {secret} {after}end").as_bytes()]).text();
            let left = text.contains("hunter2");
            assert!(!left || text.contains(secret), "{shift}: {}", &text[..40]);
        }
        let lines = format!("{secret}\n").repeat(30);
        assert_eq!(
            tail(&[lines.as_bytes()]).text().lines().next(),
            Some(secret)
        );
    }

    fn tail(chunks: &[&[u8]]) -> Tail {
        let mut tail = Tail::default();
        chunks.iter().for_each(|chunk| tail.push(chunk));
        tail
    }

    #[test]
    fn kel_48_the_tail_is_the_last_20_lines() {
        let text: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let shown = tail(&[text.as_bytes()]).text();
        assert_eq!(shown.lines().count(), 20);
        assert!(shown.starts_with("line 11\n") && shown.ends_with("line 30"));
    }

    #[test]
    fn p10_memory_stays_bounded_whatever_the_size_of_the_chunks() {
        let mut tail = Tail::default();
        for size in [1, 100, 4096, 8191, 8192, 8193, 65536, 7] {
            for _ in 0..100 {
                tail.push(&vec![b'x'; size]);
                assert!(tail.bytes.len() <= 2 * HELD);
            }
        }
        tail.push(b"end");
        assert!(tail.text().ends_with("xend"));
        assert_eq!(tail.text().len(), SHOWN_BYTES);
    }

    #[test]
    fn what_is_not_utf_8_is_replaced_and_a_torn_character_dropped() {
        assert_eq!(tail(&[b"a\xff\xfeb\n"]).text(), "a\u{fffd}\u{fffd}b");
        let long = "é".repeat(HELD);
        let shown = tail(&[b"x", long.as_bytes()]).text();
        assert!(shown.chars().all(|c| c == 'é'), "{shown:?}");
        assert_eq!(Tail::default().text(), "");
    }

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
