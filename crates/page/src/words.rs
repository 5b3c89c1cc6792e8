//! Sentences that contain external text, and the few words that every page needs.

use std::fmt::Write as _;

use serde::Serialize;

use super::safe;
use kelvin_base::cost::Cost;
use kelvin_base::usage::Usage;

/// The tone of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The sentence reports a problem.
    Alarm,
    /// The reader has to know the sentence before using the figures.
    Caution,
    /// The sentence reports no problem.
    Calm,
}

/// A statement for the reader.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The tone of the statement.
    pub tone: Tone,
    /// A sentence without a full stop.
    pub text: Phrase,
}

impl Statement {
    /// A statement in this tone.
    pub const fn new(tone: Tone, text: Phrase) -> Self {
        Self { tone, text }
    }
}

/// A sentence of ours that may contain external names: each renderer shows those in its own way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Phrase(Vec<(PhrasePart, String)>);

/// The kind of a part of a [`Phrase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhrasePart {
    /// Our own text.
    Text,
    /// A name or a value from the user: untrusted.
    Name,
    /// A setting that the reader may copy, with a name from the user in it: untrusted, and of no use if it is cut.
    Setting,
    /// A longer text from the user or from the pipeline: untrusted.
    Quote,
}

/// The longest setting that is shown whole.
pub const SETTING: usize = 240;

impl Phrase {
    /// A phrase that begins with our own text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    /// A phrase that begins with a name.
    pub fn of_name(name: impl Into<String>) -> Self {
        Self::default().name(name)
    }

    /// A sentence in which names are between backticks. It may contain external names or messages, so characters that a
    /// page cannot show are removed, and a long sentence is shortened.
    pub fn marked(text: &str) -> Self {
        const MOST: usize = 1_000;
        let text = safe::cut(text, MOST);
        let pieces = text.split('`').enumerate();
        let pieces = pieces.filter(|(_, piece)| !piece.is_empty());
        Self(
            pieces
                .map(|(at, piece)| match at % 2 {
                    1 => (PhrasePart::Name, piece.to_owned()),
                    _ => (PhrasePart::Text, piece.to_owned()),
                })
                .collect(),
        )
    }

    /// Whether the phrase is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds our own text.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push((PhrasePart::Text, text.into()));
        self
    }

    /// Adds a name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push((PhrasePart::Name, name.into()));
        self
    }

    /// Adds a setting to copy.
    #[must_use]
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.0.push((PhrasePart::Setting, setting.into()));
        self
    }

    /// Adds a longer text.
    #[must_use]
    pub fn quote(mut self, quote: impl Into<String>) -> Self {
        self.0.push((PhrasePart::Quote, quote.into()));
        self
    }

    /// Adds another phrase.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Adds names, separated by commas.
    #[must_use]
    pub fn names<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = names.into_iter();
        let first = names.next().map(|first| self.clone().name(first));
        let begun = first.unwrap_or(self);
        names.fold(begun, |phrase, name| phrase.and(", ").name(name))
    }

    /// Makes the first letter a capital, unless the phrase begins with a name.
    pub fn capitalize(&mut self) {
        if let Some((PhrasePart::Text, text)) = self.0.first_mut() {
            *text = capitalized(text);
        }
    }

    /// The parts of the phrase, for a renderer that shows them one by one.
    pub fn parts(&self) -> impl Iterator<Item = (PhrasePart, &str)> {
        self.0.iter().map(|(part, text)| (*part, text.as_str()))
    }

    /// The whole phrase; `foreign` renders its external parts.
    pub fn show(&self, foreign: impl Fn(PhrasePart, &str) -> String) -> String {
        self.parts()
            .map(|(part, text)| match part {
                PhrasePart::Text => text.to_owned(),
                PhrasePart::Name | PhrasePart::Setting | PhrasePart::Quote => foreign(part, text),
            })
            .collect()
    }

    /// The same phrase with every external part in another form.
    pub(crate) fn each_foreign(&self, form: impl Fn(&str) -> String) -> Self {
        let parts = self.0.iter().map(|(part, text)| match part {
            PhrasePart::Text => (*part, text.clone()),
            PhrasePart::Name | PhrasePart::Setting | PhrasePart::Quote => (*part, form(text)),
        });
        Self(parts.collect())
    }
}

/// `1 case`, `2 cases`.
pub fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

/// The verb of `1 of 5 cases is`, `2 of 5 cases are`.
pub const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The verb of `1 of 5 cases has`, `2 of 5 cases have`.
pub const fn have(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

/// The tokens and the money that model calls have used, as a text for people; none if no model was called.
pub fn used(usage: Option<&Usage>) -> Option<String> {
    let usage = usage?;
    let mut text = match usage.tokens() {
        0 => "tokens unknown".to_owned(),
        tokens => format!("{} tokens", grouped(tokens)),
    };
    if let Some(usd) = usage.usd {
        // The money has two significant digits, even for a small sum.
        let _ = match usd {
            usd if usd >= 1.0 || usd == 0.0 => write!(text, ", ${usd:.2}"),
            usd if usd >= 0.01 => write!(text, ", ${usd:.3}"),
            usd => write!(text, ", ${usd:.5}"),
        };
    }
    if usage.untold > 0 && usage.tokens() > 0 {
        let _ = write!(text, " without {}", counted(usage.untold, "call"));
    }
    Some(text)
}

/// The cost of the judges, as a text for people. It is shown separately from the cost of the pipeline.
pub fn of_judges(cost: &Cost) -> String {
    let mut text = format!("judges: {}", counted(cost.invocations, "call"));
    for (count, word) in [
        (cost.cache_hits, "cached"),
        (cost.resumed, "resumed"),
        (cost.retries, "retried"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {word}");
        }
    }
    if let Some(used) = used(cost.usage_of_answers.as_ref()) {
        let _ = write!(text, ", {used}");
    }
    text
}

/// A text with a capital as its first letter, unless it begins with the name of a file or of a metric.
pub fn capitalized(text: &str) -> String {
    let first = text.split([' ', ':']).next().unwrap_or(text);
    if first.trim_end_matches('.').contains(['/', '.']) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next();
    let first = first.into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// A number with a thin space between thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 9.95 {
        format!("{:.1} s", seconds.max(0.0))
    } else if seconds < 119.5 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}

/// Ids for a person: the first few, and how many others there are.
pub fn listed(ids: &[&str]) -> String {
    const MOST: usize = 8;
    let shown = ids[..ids.len().min(MOST)].join(", ");
    shown + &and_more(ids.len().saturating_sub(MOST))
}

/// The end of a list whose other entries are only counted; empty if there are none.
pub fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn names_of_a_sentence_stand_between_backticks_and_nothing_of_it_moves_the_text_around() {
        let phrase = Phrase::marked("`a` fell to \u{202e}0.5\n in `b`");
        let parts: Vec<(PhrasePart, &str)> = phrase.parts().collect();
        assert_eq!(
            parts,
            [
                (PhrasePart::Name, "a"),
                (PhrasePart::Text, " fell to 0.5 in "),
                (PhrasePart::Name, "b"),
            ]
        );
        assert!(Phrase::marked("").is_empty());
    }

    #[test]
    fn what_was_used_is_told_as_far_as_it_is_known() {
        let usage = |tokens, usd, untold| Usage {
            input_tokens: tokens,
            output_tokens: 0,
            usd,
            untold,
        };
        let shown = |usage: Usage| used(Some(&usage)).expect("something was used");
        assert_eq!(used(None), None);
        assert_eq!(
            shown(usage(1_234_567, Some(12.345), 0)),
            "1,234,567 tokens, $12.35"
        );
        assert_eq!(shown(usage(999, Some(0.0123), 0)), "999 tokens, $0.012");
        assert_eq!(shown(usage(10, Some(0.000_04), 0)), "10 tokens, $0.00004");
        assert_eq!(shown(usage(1000, None, 1)), "1,000 tokens without 1 call");
        assert_eq!(shown(Usage::untold()), "tokens unknown");
    }

    #[test]
    fn a_sentence_begins_with_a_capital_unless_it_begins_with_a_name() {
        let capital = |mut phrase: Phrase| {
            phrase.capitalize();
            phrase.show(|_, text| format!("<{text}>"))
        };
        assert_eq!(capital(Phrase::text("it holds")), "It holds");
        assert_eq!(capital(Phrase::of_name("it").and(" holds")), "<it> holds");
        for name in ["data/test.csv: no record", "probe.metric was not measured"] {
            assert_eq!(capitalized(name), name);
        }
        assert_eq!(capitalized("it. and"), "It. and");
    }
}
