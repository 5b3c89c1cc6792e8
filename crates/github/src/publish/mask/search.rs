//! Searches for secrets in JSON while it is written, so that a report of a hundred megabytes is never held as one text.

use std::io::{self, Write};

use super::Masker;

/// The number of bytes that are searched together.
const TOGETHER: usize = 256 * 1024;

/// Receives JSON in which each text is on one line.
pub(super) struct MaskSearch<'a> {
    masker: &'a Masker,
    /// The text that was written but not yet searched.
    text: Vec<u8>,
    found: bool,
}

impl<'a> MaskSearch<'a> {
    pub(super) const fn new(masker: &'a Masker) -> Self {
        Self {
            masker,
            text: Vec::new(),
            found: false,
        }
    }

    /// Whether the written text may contain a secret.
    pub(super) fn ends(mut self) -> bool {
        self.look(self.text.len());
        self.found
    }

    /// Searches the first bytes and drops them.
    fn look(&mut self, end: usize) {
        let json = String::from_utf8_lossy(&self.text[..end]);
        self.found = self.found || self.masker.may_be_in(&json);
        self.text.drain(..end);
    }
}

impl Write for MaskSearch<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        // A line that is longer than `TOGETHER` is searched as a whole.
        if self.text.len() >= TOGETHER
            && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n')
        {
            self.look(self.text.len() - bytes.len() + end + 1);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_wherever_what_is_looked_at_together_ends() {
        let pair = ("API_KEY".to_owned(), "open-sesame-42".to_owned());
        let masker = Masker::new([pair], []);
        for before in (TOGETHER - 40)..(TOGETHER + 10) {
            let texts = ["x".repeat(before), "open-sesame-42".to_owned()];
            assert!(masker.may_find(&texts).expect("JSON"), "after {before}");
            let texts = ["x".repeat(before), "open-sesame-41".to_owned()];
            assert!(!masker.may_find(&texts).expect("JSON"), "after {before}");
            let text = format!("{} open-sesame-42", texts[0]);
            assert!(masker.may_find(&[text]).expect("JSON"), "within {before}");
        }
    }

    #[test]
    fn what_was_looked_at_is_not_kept() {
        let masker = Masker::default();
        let mut search = MaskSearch::new(&masker);
        for _ in 0..100_000 {
            search
                .write_all(b"\"a text of a report\"\n")
                .expect("taken");
            assert!(search.text.len() < 2 * TOGETHER);
        }
        assert!(!search.ends());
    }
}
