//! Flips phrases to their opposites, all at once or one by one, so that a second flip restores the text.

mod occurrence;
mod role;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::rewrite::{Edits, apply_edits};
use super::sentence::words;
use crate::cases::prose::MASK;
use crate::words::Words;

/// Pairs of opposites, prepared for lookup.
pub(super) struct Flipper {
    /// The opposites by phrase; a phrase is in lower case, with one space between its words.
    opposites: BTreeMap<String, Opposite>,
    /// The number of words in the longest phrase.
    longest: usize,
    auxiliaries: BTreeSet<String>,
    /// Words that are never a noun: prepositions, conjunctions and determiners.
    particles: BTreeSet<String>,
}

struct Opposite {
    phrase: String,
    guard: PhraseGuard,
}

/// The condition under which a phrase counts as part of a pair; elsewhere it has another meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PhraseGuard {
    Anywhere,
    BeforeNumber,
    /// The phrase is an outcome: "approve", "denial".
    Outcome,
    /// The phrase is the state of a subject: "are met", "is valid".
    State,
}

impl Flipper {
    /// Flips comparators.
    pub(super) fn of_comparators(words: &Words) -> Self {
        let mut flipper = Self::empty(words);
        flipper.add(&words.comparators, PhraseGuard::Anywhere);
        flipper.add(&words.number_comparators, PhraseGuard::BeforeNumber);
        flipper
    }

    /// Flips antonyms.
    pub(super) fn of_antonyms(words: &Words) -> Self {
        let mut flipper = Self::empty(words);
        flipper.add(&words.antonyms, PhraseGuard::Outcome);
        flipper.add(&words.participles, PhraseGuard::State);
        flipper
    }

    fn empty(words: &Words) -> Self {
        Self {
            opposites: BTreeMap::new(),
            longest: 0,
            auxiliaries: lower(&words.auxiliaries),
            particles: lower(words.prepositions.iter().chain(&words.determiners)),
        }
    }

    fn add(&mut self, pairs: &[(String, String)], guard: PhraseGuard) {
        for (one, other) in pairs {
            for (from, to) in [(one, other), (other, one)] {
                self.longest = self.longest.max(from.split(' ').count());
                let phrase = to.clone();
                self.opposites
                    .insert(from.to_lowercase(), Opposite { phrase, guard });
            }
        }
    }

    /// The edits that flip a block of masked text; none if a second flip would not restore the text.
    pub(super) fn flip(&self, masked: &str, block: Range<usize>) -> Edits {
        let text = &masked[block.clone()];
        let edits = self.edits(text);
        let flipped = apply_edits(text, &edits);
        if apply_edits(&flipped, &self.edits(&flipped)) != text {
            return Edits::new();
        }
        shifted(edits, block.start)
    }

    /// The flips of a block of masked text, one by one, each with the article before it corrected. A flip is left out
    /// if a second flip would not restore the text.
    pub(super) fn flip_each(&self, masked: &str, block: Range<usize>) -> Vec<Edits> {
        let text = &masked[block.clone()];
        self.single(text)
            .into_iter()
            .filter(|edits| {
                let flipped = apply_edits(text, edits);
                let back = self.single(&flipped);
                back.iter()
                    .any(|edits| apply_edits(&flipped, edits) == text)
            })
            .map(|edits| shifted(edits, block.start))
            .collect()
    }

    /// The flips of a text, one by one, each with the article before it corrected.
    fn single(&self, text: &str) -> Vec<Edits> {
        let mended = |edit: (Range<usize>, String)| {
            let article = mended_article(text, edit.0.start, &edit.1);
            article.into_iter().chain([edit]).collect()
        };
        self.edits(text).into_iter().map(mended).collect()
    }

    /// The edits of one pass from left to right; at each word the longest phrase is tried first.
    fn edits(&self, text: &str) -> Edits {
        let tokens = tokens(text);
        let mut edits = Edits::new();
        let mut at = 0;
        while at < tokens.len() {
            let found = (1..=self.longest.min(tokens.len() - at))
                .rev()
                .find_map(|count| {
                    let phrase = &tokens[at..at + count];
                    let (_, opposite) = self.opposites.get_key_value(&key(text, phrase)?)?;
                    self.stands(text, &tokens, at, count, opposite)
                        .then_some((count, opposite))
                });
            let Some((count, opposite)) = found else {
                at += 1;
                continue;
            };
            let range = tokens[at].start..tokens[at + count - 1].end;
            if let Some(new) = rewritten(&text[range.clone()], &opposite.phrase) {
                edits.push((range, new));
            }
            at += count;
        }
        edits
    }

    fn stands(
        &self,
        text: &str,
        tokens: &[Range<usize>],
        at: usize,
        count: usize,
        opposite: &Opposite,
    ) -> bool {
        let range = tokens[at].start..tokens[at + count - 1].end;
        if !is_sign_free(text, &range) {
            return false;
        }
        let Opposite {
            phrase: opposite,
            guard,
        } = opposite;
        match guard {
            PhraseGuard::Anywhere => true,
            PhraseGuard::BeforeNumber => begins_with_number(&text[range.end..]),
            PhraseGuard::Outcome => self.place(text, tokens, at, count).is_outcome(opposite),
            PhraseGuard::State => self.place(text, tokens, at, count).is_state(opposite),
        }
    }
}

/// The edits of a text, relative to a longer text in which it begins at `start`.
fn shifted(edits: Edits, start: usize) -> Edits {
    let shift =
        |(range, new): (Range<usize>, String)| (start + range.start..start + range.end, new);
    edits.into_iter().map(shift).collect()
}

fn lower<'a>(words: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    words.into_iter().map(|word| word.to_lowercase()).collect()
}

/// Words, and sequences of symbols.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens = words(text);
    let mut run: Option<Range<usize>> = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_sign(c) {
            run = Some(run.map_or(at, |run| run.start)..at + c.len_utf8());
        } else {
            tokens.extend(run.take());
        }
    }
    tokens.sort_by_key(|token| token.start);
    tokens
}

const fn is_sign(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '≥' | '≤' | '⩾' | '⩽')
}

/// The words of a phrase in lower case with one space between them; none if the text between the words is not white
/// space.
fn key(text: &str, phrase: &[Range<usize>]) -> Option<String> {
    let mut key = String::new();
    let mut end = None;
    for word in phrase {
        if let Some(end) = end {
            let between: &str = &text[end..word.start];
            if between.is_empty() || !between.chars().all(char::is_whitespace) {
                return None;
            }
            key.push(' ');
        }
        key.push_str(&text[word.clone()].to_lowercase());
        end = Some(word.end);
    }
    Some(key)
}

/// Whether a symbol is a comparison of its two sides. An arrow, a tag or an operator of a programming language is not;
/// a phrase of words needs no such check.
fn is_sign_free(text: &str, range: &Range<usize>) -> bool {
    if !text[range.clone()].starts_with(is_sign) {
        return true;
    }
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].trim_start_matches(['-', '−', '.']);
    let number = after.starts_with(|c: char| c.is_ascii_digit() || "$€£¥₹".contains(c));
    let apart = before.is_none_or(char::is_whitespace);
    !before.is_some_and(|c| "-!|~:".contains(c))
        && (number || (apart && text[range.end..].starts_with(char::is_whitespace)))
}

fn begins_with_number(after: &str) -> bool {
    const NUMBERS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "ninety", "hundred",
        "half",
    ];
    let next = after.trim_start_matches(|c: char| c.is_whitespace() || c == MASK);
    next.len() < after.len()
        && (next.starts_with(|c: char| c.is_ascii_digit() || "$€£¥₹".contains(c))
            || words(next).first().is_some_and(|word| {
                word.start == 0 && NUMBERS.contains(&&*next[word.clone()].to_lowercase())
            }))
}

/// The opposite, with the capitals and the white space of the phrase; none if the phrase uses them in an unusual way.
fn rewritten(phrase: &str, opposite: &str) -> Option<String> {
    let dressed = match Dress::of(phrase)? {
        Dress::Lower => opposite.to_owned(),
        Dress::Capital => capitalised(opposite),
        Dress::Title => {
            let words: Vec<String> = opposite.split(' ').map(capitalised).collect();
            words.join(" ")
        }
        Dress::Upper => opposite.to_uppercase(),
    };
    let gaps = |text: &str| text.split_whitespace().count();
    if gaps(phrase) == gaps(&dressed) {
        return Some(with_gaps_of(phrase, &dressed));
    }
    // If the number of words changes, a line break or a wide space could not be restored.
    let plain = phrase
        .split(' ')
        .all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
    plain.then_some(dressed)
}

/// The words of the second text, with the white space of the first between them.
fn with_gaps_of(phrase: &str, words: &str) -> String {
    let mut words = words.split(' ');
    let mut out = words.next().unwrap_or_default().to_owned();
    let mut rest = phrase.trim_start_matches(|c: char| !c.is_whitespace());
    for word in words {
        let next = rest.trim_start();
        out.push_str(&rest[..rest.len() - next.len()]);
        out.push_str(word);
        rest = next.trim_start_matches(|c: char| !c.is_whitespace());
    }
    out
}

/// How a phrase uses capitals.
enum Dress {
    Lower,
    Capital,
    Title,
    Upper,
}

impl Dress {
    fn of(phrase: &str) -> Option<Self> {
        let letters = || phrase.chars().filter(|c| c.is_alphabetic());
        let tail_is_lower = |word: &str| !word.chars().skip(1).any(char::is_uppercase);
        if !letters().any(char::is_uppercase) {
            return Some(Self::Lower);
        }
        if letters().count() > 1 && letters().all(char::is_uppercase) {
            return Some(Self::Upper);
        }
        if phrase.starts_with(char::is_uppercase) && tail_is_lower(phrase) {
            return Some(Self::Capital);
        }
        let titled = |word: &str| word.starts_with(char::is_uppercase) && tail_is_lower(word);
        phrase.split_whitespace().all(titled).then_some(Self::Title)
    }
}

/// A word with a capital first letter.
fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// The article before a position in a text, in the form for this new word; none if there is no article, or if it
/// already has that form.
pub(super) fn mended_article(
    text: &str,
    place: usize,
    word: &str,
) -> Option<(Range<usize>, String)> {
    let before = text[..place].trim_end_matches(MASK);
    let head = before.trim_end_matches([' ', '\n']);
    let article = head.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    if head.len() == before.len() || !["a", "an"].contains(&&*article.to_lowercase()) {
        return None;
    }
    let fits = if begins_with_vowel(word) { "an" } else { "a" };
    if article.eq_ignore_ascii_case(fits) {
        return None;
    }
    let capital = article.starts_with('A');
    let shouted = capital && word.chars().all(|c| !c.is_lowercase()) && word.len() > 1;
    let new = match (capital, fits) {
        (false, fits) => fits.to_owned(),
        (true, "an") if shouted => "AN".to_owned(),
        (true, "an") => "An".to_owned(),
        (true, _) => "A".to_owned(),
    };
    Some((head.len() - article.len()..head.len(), new))
}

/// Whether the pronunciation of a word begins with a vowel.
fn begins_with_vowel(word: &str) -> bool {
    const SILENT: &[&str] = &["heir", "honest", "honor", "honour", "hour"];
    const CONSONANT: &[&str] = &["eu", "one", "once", "uni", "use", "usa", "usu", "uti"];
    let word = word.to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    // "Uninsured" begins with the sound of a vowel, "united" does not.
    let negated = word.starts_with("unin") || word.starts_with("unim");
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    begins(SILENT) || (vowel && (negated || !begins(CONSONANT)))
}

#[cfg(test)]
mod tests;
