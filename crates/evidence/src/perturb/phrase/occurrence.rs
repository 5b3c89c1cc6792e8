//! The position of a phrase in its sentence.

use std::ops::Range;

use super::Flipper;
use crate::cases::prose::MASK;

/// An occurrence of a phrase in a text.
pub(super) struct Occurrence<'a> {
    flipper: &'a Flipper,
    text: &'a str,
    tokens: &'a [Range<usize>],
    /// The tokens of the phrase.
    pub(super) at: Range<usize>,
}

/// Adverbs that can be between an auxiliary and its phrase.
const ADVERBS: &[&str] = &[
    "not",
    "already",
    "currently",
    "yet",
    "still",
    "fully",
    "duly",
    "also",
    "now",
    "no",
    "longer",
    "clearly",
    "therefore",
    "then",
];

/// Words that begin a clause with its own subject.
const CLAUSES: &[&str] = &[
    "if", "unless", "when", "where", "that", "which", "but", "because", "while", "until", "after",
    "before", "once", "provided", "since",
];

/// Words that can come right after a verb, a participle or a noun, if no noun follows.
const FOLLOWERS: &[&str] = &[
    "all",
    "any",
    "each",
    "every",
    "it",
    "is",
    "are",
    "was",
    "were",
    "be",
    "has",
    "have",
    "shall",
    "should",
    "must",
    "may",
    "can",
    "will",
    "only",
    "not",
    "no",
    "requires",
    "require",
    "needs",
    "depends",
    "becomes",
    "means",
    "lapses",
    "expires",
    "applies",
    "takes",
    "follows",
    "comes",
    "automatically",
    "immediately",
    "today",
    "then",
    "them",
    "him",
    "her",
    "those",
    "that",
    "what",
    "enough",
    "except",
    "without",
    "also",
    "otherwise",
    "whenever",
    "whichever",
    "so",
    "such",
    "and",
    "or",
    "nor",
    "but",
    "how",
    "both",
    "now",
    "regardless",
    "pursuant",
    "subject",
];

impl Flipper {
    /// The occurrence of a phrase of `count` tokens, from token `at` on.
    pub(super) const fn place<'a>(
        &'a self,
        text: &'a str,
        tokens: &'a [Range<usize>],
        at: usize,
        count: usize,
    ) -> Occurrence<'a> {
        Occurrence {
            flipper: self,
            text,
            tokens,
            at: at..at + count,
        }
    }
}

impl Occurrence<'_> {
    pub(super) fn word(&self, token: usize) -> String {
        self.text[self.tokens[token].clone()].to_lowercase()
    }

    pub(super) fn phrase(&self) -> String {
        self.word(self.at.start)
    }

    /// The text between a token and the previous one, without markup.
    pub(super) fn gap(&self, token: usize) -> &str {
        let start = token.checked_sub(1).map_or(0, |last| self.tokens[last].end);
        let end = self
            .tokens
            .get(token)
            .map_or(self.text.len(), |token| token.start);
        self.text[start..end].trim_matches(|c: char| c.is_whitespace() || c == MASK)
    }

    /// The word right before the phrase.
    pub(super) fn last(&self) -> Option<String> {
        let last = self.at.start.checked_sub(1)?;
        self.gap(self.at.start).is_empty().then(|| self.word(last))
    }

    /// The word right after the phrase.
    pub(super) fn next(&self) -> Option<String> {
        let there = self.at.end < self.tokens.len() && self.gap(self.at.end).is_empty();
        there.then(|| self.word(self.at.end))
    }

    /// The tokens of the sentence.
    pub(super) fn sentence(&self) -> Range<usize> {
        let ends = |token: &usize| self.gap(*token).contains(['.', '!', '?', ';']);
        let start = (1..=self.at.start).rev().find(ends).unwrap_or(0);
        let after = (self.at.end..self.tokens.len()).find(ends);
        start..after.unwrap_or(self.tokens.len())
    }

    /// The words of the clause before a token, from the last word backwards.
    pub(super) fn clause(&self, end: usize) -> impl Iterator<Item = String> {
        let start = self.sentence().start;
        let cut = (start + 1..=end)
            .rev()
            .find(|token| self.gap(*token).contains([',', ':', '(', ')', '–', '—']));
        let words = (cut.unwrap_or(start)..end)
            .rev()
            .map(|token| self.word(token));
        words.take_while(|word| !CLAUSES.contains(&&**word))
    }

    /// The auxiliary before the phrase, if only adverbs are between them.
    pub(super) fn auxiliary(&self) -> Option<usize> {
        let mut negated = None;
        for token in (0..self.at.start).rev() {
            if !self.gap(token + 1).is_empty() {
                return negated;
            }
            let word = self.word(token);
            if word == "not" {
                negated = Some(token);
            }
            if !ADVERBS.contains(&&*word) {
                let is_verb = self.flipper.auxiliaries.contains(&word);
                return is_verb.then_some(token).or(negated);
            }
        }
        negated
    }

    pub(super) fn has_no_noun_after(&self) -> bool {
        self.next().is_none_or(|next| {
            FOLLOWERS.contains(&&*next) || self.flipper.particles.contains(&next)
        })
    }

    pub(super) fn follows_determiner(&self) -> bool {
        const DETERMINERS: &[&str] =
            &["any", "each", "every", "no", "all", "only", "such", "those"];
        self.last().is_some_and(|last| {
            DETERMINERS.contains(&&*last)
                || [
                    "a", "an", "the", "this", "these", "its", "their", "our", "his", "her", "your",
                ]
                .contains(&&*last)
        })
    }
}
