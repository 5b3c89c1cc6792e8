//! What the items of a probe were answered: as they are, and where evidence was exchanged that should govern the answer.
//! Answers are compared before any figure is made of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::KeptText;
use kelvin_base::digest::Digest;

/// The answers of one section.
#[derive(Clone, Debug, Default)]
pub struct Answered<'a> {
    /// The declared types of evidence, each with the metric that it is gated by; empty where nothing is exchanged.
    pub types: Vec<(&'a str, String)>,
    /// The items by name.
    pub items: BTreeMap<&'a str, AnsweredItem<'a>>,
}

/// The answers to one item.
#[derive(Clone, Debug, Default)]
pub struct AnsweredItem<'a> {
    /// What was asked, for people: a question or a title, and no more than its beginning; none where the record does
    /// not tell.
    pub asked: Option<Cow<'a, str>>,
    /// What should be answered, for people; none where nobody has said it.
    pub expected: Option<Cow<'a, str>>,
    /// To the item as it is.
    pub itself: Vec<Option<Answer>>,
    /// To its variants that should be answered like it.
    pub own: Vec<AnsweredInput<'a>>,
    /// To its variants in which evidence was exchanged.
    pub swaps: Vec<AnsweredSwap<'a>>,
}

/// The answers to one input, one for each time that it was run; none where that failed.
#[derive(Clone, Debug)]
pub struct AnsweredInput<'a> {
    /// The name of the variant.
    pub variant: &'a str,
    /// The digest of the input.
    pub input: Digest,
    /// The answers.
    pub answers: Vec<Option<Answer>>,
}

/// The answers to a variant in which a unit was exchanged.
#[derive(Clone, Debug)]
pub struct AnsweredSwap<'a> {
    /// What was answered.
    pub asked: AnsweredInput<'a>,
    /// The type of the unit.
    pub of_type: &'a str,
    /// The item that the unit comes from.
    pub donor: Option<&'a str>,
}

/// One answer, as far as it is compared and shown.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number.
    Number(f64),
    /// Anything else; two answers are the same where the texts are.
    Text(String),
    /// A text of which no more than its beginning may be kept; two are the same where their digests are.
    Kept(KeptText),
    /// The null of JSON: where no item is given it as it is, it is no answer.
    Null,
}

impl Answer {
    /// What two answers that are the same have in common, and no others.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Kept(kept) => Cow::Owned(kept.digest.to_string()),
            Self::Null => Cow::Borrowed("null"),
        }
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Kept(one), Self::Kept(other)) => one.digest == other.digest,
            (Self::Null, Self::Null) => true,
            _ => false,
        }
    }
}

/// For people; a decision as JSON.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Kept(kept) => f.write_str(&kept.shown()),
            Self::Null => f.write_str("null"),
        }
    }
}
