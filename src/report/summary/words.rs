//! The words of the reports: bands, quadrants, and sentences with names in them.

use serde::Serialize;

/// The lower ends of the bands, half-open: a value of exactly 0.90 is in the first.
pub(crate) const BANDS: [f64; 4] = [0.90, 0.70, 0.50, 0.30];

/// Invariance and following are high from here on.
pub(crate) const QUADRANT: f64 = 0.70;

/// One of the two signals; each has words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The decision holds while the governing evidence is the same.
    Invariance,
    /// It goes where the governing evidence leads.
    Following,
}

impl Signal {
    /// The words for the bands, best first.
    pub(crate) const fn words(self) -> [&'static str; 5] {
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
    pub(crate) fn word(self, value: f64) -> &'static str {
        self.words()[band(value)]
    }
}

/// The place of the band of an unrounded value, 0 for the best.
pub(crate) fn band(value: f64) -> usize {
    let place = BANDS.iter().position(|low| value >= *low);
    place.unwrap_or(BANDS.len())
}

/// A sentence of ours with names in it that are not: each renderer shows those in its own way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Phrase(Vec<(Part, String)>);

/// What a part of a [`Phrase`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// Ours.
    Text,
    /// A name or a value of the user's: untrusted.
    Name,
    /// A longer text of the user's or of the pipeline's: untrusted.
    Quote,
}

impl Phrase {
    /// Begins with text of ours.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    /// Begins with a name.
    pub(crate) fn of_name(name: impl Into<String>) -> Self {
        Self::default().name(name)
    }

    /// Goes on with text of ours.
    #[must_use]
    pub(crate) fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push((Part::Text, text.into()));
        self
    }

    /// Goes on with a name.
    #[must_use]
    pub(crate) fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push((Part::Name, name.into()));
        self
    }

    /// Goes on with a longer text.
    #[must_use]
    pub(crate) fn quote(mut self, quote: impl Into<String>) -> Self {
        self.0.push((Part::Quote, quote.into()));
        self
    }

    /// Goes on with another phrase.
    #[must_use]
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Goes on with names, parted by commas.
    #[must_use]
    pub(crate) fn names<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        let first = names.next().map(|first| self.clone().name(first));
        let begun = first.unwrap_or(self);
        names.fold(begun, |phrase, name| phrase.and(", ").name(name))
    }

    /// Begins with a capital, unless it begins with a name.
    pub(crate) fn capitalize(&mut self) {
        if let Some((Part::Text, text)) = self.0.first_mut() {
            let mut letters = text.chars();
            if let Some(first) = letters.next() {
                *text = first.to_uppercase().chain(letters).collect();
            }
        }
    }

    /// The parts of it, for a renderer that shows them one by one.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Part, &str)> {
        self.0.iter().map(|(part, text)| (*part, text.as_str()))
    }

    /// The whole of it, with a way to show what is not ours.
    pub(crate) fn show(&self, foreign: impl Fn(Part, &str) -> String) -> String {
        self.parts()
            .map(|(part, text)| match part {
                Part::Text => text.to_owned(),
                Part::Name | Part::Quote => foreign(part, text),
            })
            .collect()
    }

    /// The same with another form of what is not ours.
    pub(crate) fn each_foreign(&self, form: impl Fn(&str) -> String) -> Self {
        let parts = self.0.iter().map(|(part, text)| match part {
            Part::Text => (*part, text.clone()),
            Part::Name | Part::Quote => (*part, form(text)),
        });
        Self(parts.collect())
    }
}

/// `1 case`, `2 cases`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

/// A duration for people.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 9.95 {
        format!("{:.1} s", seconds.max(0.0))
    } else if seconds < 119.5 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_half_open_and_judge_unrounded_values() {
        let word = |value| Signal::Invariance.word(value);
        assert_eq!(word(0.9), "firm");
        assert_eq!(word(0.899_999_9), "mostly firm");
        assert_eq!(
            (word(0.7), word(0.5), word(0.3)),
            ("mostly firm", "wavering", "shaky")
        );
        assert_eq!(word(0.299_999), "erratic");
        assert_eq!(Signal::Following.word(1.0), "attentive");
        assert_eq!(Signal::Following.word(0.0), "unresponsive");
    }

    #[test]
    fn the_two_signals_share_no_word() {
        for word in Signal::Invariance.words() {
            assert!(!Signal::Following.words().contains(&word), "{word}");
        }
    }

    #[test]
    fn durations_and_counts_read_well() {
        assert_eq!(
            [duration(0.04), duration(9.96), duration(240.0)],
            ["0.0 s", "10 s", "4.0 min"]
        );
        assert_eq!(
            [counted(1, "case"), counted(0, "case")],
            ["1 case", "0 cases"]
        );
    }
}
