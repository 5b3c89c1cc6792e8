//! A stored text in a report: complete, its beginning, or only its digest.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::digest::Digest;

/// A text as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptText {
    /// The text, or its beginning.
    // Copies share the text, because there are several of each answer.
    pub text: Arc<str>,
    /// The digest of the whole text.
    pub digest: Digest,
    /// How many characters the whole text has, if only its beginning is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<usize>,
}

impl KeptText {
    /// How many characters of an answer are stored at most. A report of a thousand prompts with answers of a page each
    /// stays below ten megabytes, and nobody reads a longer answer in a review.
    pub const MOST: usize = 20_000;

    /// A text, of which at most [`MOST`](Self::MOST) characters are stored.
    pub fn of(text: &str) -> Self {
        Self::beginning(text, Self::MOST)
    }

    /// A text, of which at most `most` characters are stored.
    pub fn beginning(text: &str, most: usize) -> Self {
        let (kept, characters) = beginning(text, most);
        Self {
            text: kept.into(),
            digest: Digest::of(text.as_bytes()),
            characters,
        }
    }

    /// The text, if it is stored completely.
    pub fn whole(&self) -> Option<&str> {
        self.characters.is_none().then_some(&*self.text)
    }

    /// Shortens the text to the part that may be stored: see [`KeptTexts`].
    pub fn shorten(&mut self, texts: KeptTexts) {
        let Some(most) = texts.most() else { return };
        let (kept, characters) = beginning(&self.text, most);
        if characters.is_some() {
            self.characters = self.characters.or(characters);
            self.text = kept.into();
        }
    }

    /// The text for people: its beginning with a mark if it was shortened, or its digest if no text is stored.
    pub fn shown(&self) -> Cow<'_, str> {
        match self.characters {
            None => Cow::Borrowed(&self.text),
            Some(_) if !self.text.is_empty() => Cow::Owned(format!("{}…", self.text)),
            Some(_) => Cow::Owned(stand_in(self.digest)),
        }
    }
}

/// The beginning of the placeholder for a text that is not kept.
const STAND_IN: &str = "(not kept: ";

/// The number of digits of a digest in a [`stand_in`]: two texts of one pipeline never share them by chance.
const DIGITS: usize = 16;

/// The placeholder for a text that is not kept. Two texts have the same placeholder exactly if they are equal.
fn stand_in(digest: Digest) -> String {
    format!("{STAND_IN}{})", digest.short(DIGITS))
}

/// The placeholder for a text if no text may be kept: it contains the digest. A text that is already a placeholder
/// stays unchanged.
pub fn withheld(text: &str) -> String {
    match is_stand_in(text) {
        true => text.to_owned(),
        false => stand_in(Digest::of(text.as_bytes())),
    }
}

/// Whether a text for people contains a placeholder.
pub fn is_withheld(shown: &str) -> bool {
    shown.contains(STAND_IN)
}

fn is_stand_in(text: &str) -> bool {
    let inner = text.strip_prefix(STAND_IN);
    let digits = inner.and_then(|inner| inner.strip_suffix(')'));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// How much of the texts that a pipeline has written is kept where others can read it: on the branch of reports and,
/// with [`None`](Self::None), in everything that a workflow writes. Otherwise the report of a run has them unchanged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum KeptTexts {
    /// Only their digests, which show whether an answer is the same.
    None,
    /// The first [`SHORT`](Self::SHORT) characters.
    #[default]
    Short,
    /// The whole texts, as in the report of the run.
    Full,
}

impl KeptTexts {
    /// The number of characters of the short form of an answer.
    pub const SHORT: usize = 80;

    /// The maximum number of characters; none if there is no limit.
    pub const fn most(self) -> Option<usize> {
        match self {
            Self::None => Some(0),
            Self::Short => Some(Self::SHORT),
            Self::Full => None,
        }
    }
}

/// The beginning of a text, and the number of characters of the whole text if it is longer.
fn beginning(text: &str, most: usize) -> (&str, Option<usize>) {
    match text.char_indices().nth(most) {
        None => (text, None),
        Some((end, _)) => (&text[..end], Some(text.chars().count())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_is_known_to_be_the_same_one_and_how_long_it_was() {
        let whole = KeptText::of(&"é".repeat(100));
        let mut short = whole.clone();
        short.shorten(KeptTexts::Short);
        assert_eq!(*short.text, *"é".repeat(80));
        assert_eq!((short.characters, short.digest), (Some(100), whole.digest));
        assert_eq!(short.shown(), format!("{}…", "é".repeat(80)));
        short.shorten(KeptTexts::None);
        assert_eq!(short.shown(), withheld(&"é".repeat(100)));
        let mut same = KeptText::of("yes");
        same.shorten(KeptTexts::Full);
        same.shorten(KeptTexts::Short);
        assert_eq!(same.whole(), Some("yes"));
    }

    #[test]
    fn what_stands_in_place_of_a_text_tells_it_from_others_and_has_no_word_of_it() {
        let of_bug = withheld("bug");
        assert!(!of_bug.contains("bug") && is_withheld(&of_bug), "{of_bug}");
        assert_eq!(withheld(&of_bug), of_bug);
        assert_ne!(withheld("feature"), of_bug);
        for forged in ["(not kept: the word itself)", "(not kept: )", "(not kept: "] {
            assert_ne!(withheld(forged), forged);
        }
        assert!(!is_withheld("bug"));
    }
}
