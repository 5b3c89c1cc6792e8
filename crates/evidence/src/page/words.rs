//! The words for the two signals of the evidence probe.

use kelvin_page::band;

/// From this value on, invariance and following are high.
pub const QUADRANT: f64 = 0.70;

/// One of the two signals, each of which has words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalWords {
    /// The decision holds while the governing evidence is the same.
    Invariance,
    /// The decision goes where the governing evidence leads.
    Following,
}

impl SignalWords {
    /// The words for the bands, best first.
    pub const fn words(self) -> [&'static str; 5] {
        match self {
            Self::Invariance => ["firm", "mostly firm", "wavering", "shaky", "erratic"],
            Self::Following => [
                "attentive",
                "mostly attentive",
                "half attentive",
                "inattentive",
                "unresponsive",
            ],
        }
    }

    /// The word for an unrounded value.
    pub fn word(self, value: f64) -> &'static str {
        self.words()[band(value)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_half_open_and_judge_unrounded_values() {
        let word = |value| SignalWords::Invariance.word(value);
        assert_eq!(word(0.9), "firm");
        assert_eq!(word(0.899_999_9), "mostly firm");
        assert_eq!(
            (word(0.7), word(0.5), word(0.3)),
            ("mostly firm", "wavering", "shaky")
        );
        assert_eq!(word(0.299_999), "erratic");
        assert_eq!(SignalWords::Following.word(1.0), "attentive");
        assert_eq!(SignalWords::Following.word(0.0), "unresponsive");
    }

    #[test]
    fn the_two_signals_share_no_word() {
        for word in SignalWords::Invariance.words() {
            assert!(!SignalWords::Following.words().contains(&word), "{word}");
        }
    }
}
