//! The answers to the items of a probe: to the unchanged items, and to variants with exchanged evidence that should
//! govern the answer. Answers are compared before any figure is computed from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::KeptText;
use kelvin_base::digest::Digest;

/// The answers of one section.
#[derive(Clone, Debug, Default)]
pub struct SectionAnswers<'a> {
    /// Whether the texts say how an item ended, such as which of its conditions hold, and not what was answered.
    pub are_endings: bool,
    /// Whether a program of the user scores the answers, so that nobody here knows what it looks at.
    pub are_scored_outside: bool,
    /// The declared types of evidence, each with its gated metric; empty if no evidence is exchanged.
    pub types: Vec<(&'a str, String)>,
    /// The items by name.
    pub items: BTreeMap<&'a str, AnsweredItem<'a>>,
}

/// The answers to one item.
#[derive(Clone, Debug, Default)]
pub struct AnsweredItem<'a> {
    /// The question as a text for people: the beginning of a question or a title; none if the record does not contain
    /// it.
    pub asked: Option<Cow<'a, str>>,
    /// The expected answer as a text for people; none if it is not known.
    pub expected: Option<Cow<'a, str>>,
    /// Whether only a comparison with the answer of the base can judge this answer, because there is no label, no judge
    /// and no check.
    pub is_only_compared: bool,
    /// Whether no label, no judge and no check looks at what the answer itself says. A search whose documents are
    /// labelled may have such a text as its answer.
    pub is_unjudged: bool,
    /// The answers to the unchanged item.
    pub itself: Vec<Option<Answer>>,
    /// The other output fields of the first of these answers, such as a reason, as texts for people.
    pub beside: &'a [BTreeMap<String, String>],
    /// What the pipeline did in each run, if the answers say how the item ended; none for a run that failed, and where
    /// it is not known.
    pub conduct: BTreeMap<Conduct, Vec<Option<Answer>>>,
    /// The answers to the variants that should get the same answer as the item.
    pub own: Vec<AnsweredInput<'a>>,
    /// The answers to the variants in which evidence was exchanged.
    pub swaps: Vec<AnsweredSwap<'a>>,
}

/// What an agent does beside how its scenario ends. First what matters most to those who are affected by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conduct {
    /// Its requests to services, in order.
    Calls,
    /// The events that it has logged, in order.
    Events,
    /// Its words.
    Words,
}

impl Conduct {
    /// The text in place of calls or events if there are none.
    pub const NOTHING: &str = "nothing";

    /// The name of the field in which a verdict has it; none for words.
    pub const fn field(self) -> Option<&'static str> {
        match self {
            Self::Calls => Some("calls"),
            Self::Events => Some("events"),
            Self::Words => None,
        }
    }
}

/// The answers to one input, one for each run; none if the run failed.
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
    /// The answers.
    pub asked: AnsweredInput<'a>,
    /// The type of the unit.
    pub of_type: &'a str,
    /// The item from which the unit comes.
    pub donor: Option<&'a str>,
}

/// An answer, in the form in which it is compared and shown.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number.
    Number(f64),
    /// Any other answer; two answers are equal if their texts are.
    Text(String),
    /// A text of which only the beginning may be kept; two answers are equal if their digests are.
    Kept(KeptText),
    /// A text that stands for an answer where the pipeline gives none of its own, such as its first hits. It is compared
    /// as a text.
    StandIn(String),
    /// The JSON null. If no unchanged item has this answer, it counts as a missing answer.
    Null,
}

impl Answer {
    /// A text that is the same for two answers exactly if they are equal.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) | Self::StandIn(text) => Cow::Borrowed(text),
            Self::Kept(kept) => Cow::Owned(kept.digest.to_string()),
            Self::Null => Cow::Borrowed("null"),
        }
    }

    /// The answer as a text for people; a decision as JSON.
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) | Self::StandIn(text) => Cow::Borrowed(text),
            Self::Kept(kept) => kept.shown(),
            Self::Null => Cow::Borrowed("null"),
        }
    }

    /// The most frequent answer; among equally frequent answers the first. None if there is no answer.
    pub fn usual<'a>(answers: impl Iterator<Item = &'a Self>) -> Option<&'a Self> {
        let mut counts: Vec<(&Self, usize)> = Vec::new();
        for answer in answers {
            match counts.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, count)) => *count += 1,
                None => counts.push((answer, 1)),
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max()?;
        let first = counts.into_iter().find(|(_, count)| *count == most);
        first.map(|(answer, _)| answer)
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Text(one), Self::Text(other)) | (Self::StandIn(one), Self::StandIn(other)) => {
                one == other
            }
            (Self::Kept(one), Self::Kept(other)) => one.digest == other.digest,
            (Self::Null, Self::Null) => true,
            _ => false,
        }
    }
}

/// The answer as a text for people; a decision as JSON.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// An item in which answers went wrong that were right on the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// The metric that got worse by these answers.
    pub metric: String,
    /// The item.
    pub item: String,
    /// What the answers ought to have done.
    pub ought: Ought,
    /// In how many parts of the item the answer flipped: on the head it is `head`, although it should have stayed
    /// `base`, or should have moved and did move on the base.
    pub flipped: usize,
    /// How many parts of the item have the same expectation and were asked on both sides.
    pub of: usize,
    /// One of the parts that flipped.
    pub part: String,
    /// The answer to that part that the base gives most often, as JSON.
    pub base: String,
    /// The answer to that part that the head gives most often, as JSON.
    pub head: String,
}

/// What an answer ought to do when an input is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ought {
    /// Stay as it is: the evidence is the same.
    Hold,
    /// Move: the evidence has changed.
    Move,
}

// No figures are computed from these hits; they are for people who look at the changes.

/// The first hits of the base and of the head for the same item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedHits {
    /// What is expected among the hits; empty if nobody has said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedHit>,
    /// The first hits of the base, in order.
    pub base: Vec<RankedHit>,
    /// How many more hits the base had.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub base_left: usize,
    /// The first hits of the head, in order.
    pub head: Vec<RankedHit>,
    /// How many more hits the head had.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub head_left: usize,
}

/// One expected document or passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedHit {
    /// Its name.
    pub name: String,
    /// Its title or the beginning of its text, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One hit of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankedHit {
    /// Its rank, from 1.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// Its title or the beginning of its text, if the output has either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is expected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
    /// The rank of the same hit on the other side, from 1; null if the other side does not have it among the hits that
    /// its report keeps.
    pub other_rank: Option<u32>,
}
