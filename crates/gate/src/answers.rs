//! What is answered otherwise than on the base, before any figure is made of it.
//!
//! Whether another answer is a better one only labels can tell; that there are any, everybody has to know. So no
//! verdict ends with "Nothing to do" while there are some.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::governing::OwnAnswers;
use crate::compare::AnswerPairs;
use kelvin_page::{Phrase, safe};

/// So many are kept: the reports have them all.
const KEPT: usize = 20;

/// Longer answers are cut.
const LONGEST: usize = 80;

/// The items of a probe that are answered otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAnswers {
    /// What one of the items is called.
    pub item: String,
    /// What several are called.
    pub items: String,
    /// How many items both sides have answered.
    pub of: usize,
    /// How many of them usually get another answer than on the base, and that is not its noise.
    pub changed: usize,
    /// The first of them, in the order of their names.
    pub answers: Vec<ChangedAnswer>,
}

/// One item that is answered otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAnswer {
    /// Its name.
    pub item: String,
    /// What it was answered most often on the base; as JSON, and cut where it is long.
    pub base: String,
    /// The same on the head.
    pub head: String,
}

impl ChangedAnswers {
    /// Of the answers of one probe; none where it has none.
    pub(super) fn of(pairs: &AnswerPairs) -> Option<Self> {
        let own = OwnAnswers::of(pairs);
        let changed = own.changed();
        let kept = changed.iter().take(KEPT);
        (own.count() > 0).then(|| Self {
            item: pairs.nouns.item.to_string(),
            items: pairs.nouns.items.to_string(),
            of: own.count(),
            changed: changed.len(),
            answers: kept
                .map(|(item, base, head)| ChangedAnswer {
                    item: item.clone(),
                    base: safe::cut(base, LONGEST),
                    head: safe::cut(head, LONGEST),
                })
                .collect(),
        })
    }

    /// How many are answered otherwise, for a headline; none where all are answered as before.
    pub fn sentence(&self) -> Option<String> {
        let (of, changed) = (self.of, self.changed);
        let noun = if of == 1 { &self.item } else { &self.items };
        let are = if changed == 1 { "is" } else { "are" };
        (changed > 0).then(|| format!("{changed} of {of} {noun} {are} answered otherwise"))
    }

    /// What a reader does about it.
    pub fn advice(&self) -> Option<Phrase> {
        let first = self.answers.first()?;
        Some(
            Phrase::text(format!(
                "Look whether the other answers are right: {} ",
                self.item
            ))
            .name(&first.item)
            .and(" was answered ")
            .quote(super::flips::bare(&first.base))
            .and(" and is answered ")
            .quote(super::flips::bare(&first.head))
            .and(" now."),
        )
    }
}
