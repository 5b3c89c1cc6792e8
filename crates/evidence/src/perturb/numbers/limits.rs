//! The limits for changing an amount: percentages stay below 100, and the ends of a range keep their order.

use std::ops::Range;

use super::units::{counts, is_unit};
use super::{MASK, is_currency, is_dash, value};
use crate::perturb::sentence::words;

/// A number with a unit of measure or a counted noun, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::perturb) struct Amount {
    /// The range of the digits, including the separators between them.
    pub(in crate::perturb) range: Range<usize>,
    /// The new number must be greater than this.
    above: f64,
    /// The new number must not be greater than this.
    most: f64,
}

impl Amount {
    /// Whether another number may replace this amount.
    pub(in crate::perturb) fn allows(&self, number: &str) -> bool {
        let value = value(number);
        value > self.above && value <= self.most
    }

    /// The same amount, relative to a longer text in which this text begins at `start`.
    pub(super) fn after(mut self, start: usize) -> Self {
        self.range = start + self.range.start..start + self.range.end;
        self
    }
}

/// The amounts at the given positions. "4" in "3 out of 4" is not a separate amount: it is only the whole for "3".
pub(super) fn limited(text: &str, found: &[Range<usize>]) -> Vec<Amount> {
    let number = |range: &Range<usize>| value(&text[range.clone()]);
    let mut amounts: Vec<Amount> = found
        .iter()
        .map(|range| Amount {
            range: range.clone(),
            above: 0.0,
            most: ceiling(text, range),
        })
        .collect();
    let mut is_whole = vec![false; found.len()];
    for right in 0..found.len() {
        is_whole[right] |= is_whole_of_words(&text[..found[right].start]);
        let Some(left) = right.checked_sub(1) else {
            continue;
        };
        let between = &text[found[left].end..found[right].start];
        let (part, whole) = (number(&found[left]), number(&found[right]));
        if part <= whole && is_share(between, is_measured(text, &found[right])) {
            amounts[left].most = amounts[left].most.min(whole);
            is_whole[right] = true;
        } else if part < whole && is_range(&text[..found[left].start], between) {
            // The ends of a range must stay different.
            amounts[left].most = amounts[left].most.min(whole * (1.0 - 1e-9));
            amounts[right].above = part;
        }
    }
    let kept = amounts.into_iter().zip(is_whole);
    kept.filter(|(_, is_whole)| !is_whole)
        .map(|(amount, _)| amount)
        .collect()
}

/// Whether a symbol or a word next to the number says what it measures.
pub(super) fn is_measured(text: &str, range: &Range<usize>) -> bool {
    let (before, after) = (&text[..range.start], &text[range.end..]);
    before.ends_with(is_currency)
        || is_percentage(after)
        || has_unit(after)
        || counts(before, after)
}

fn has_unit(after: &str) -> bool {
    let next = after.trim_start_matches([' ', '\u{a0}', '-']);
    let unit: String = next.chars().take_while(|c| c.is_alphabetic()).collect();
    // "in" in "9 in 10" is not the unit of length.
    is_unit(&unit) && (unit != "in" || next.len() == after.len())
}

pub(super) fn is_percentage(after: &str) -> bool {
    let after = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '\n', '-']);
    after.starts_with('%')
        || ["percent", "per cent", "pct"]
            .iter()
            .any(|word| after.starts_with(word))
}

/// The largest value that a number can have in its context: 100 for a percentage, 24 for the hours of a day. If a
/// number is already above such a limit, it has another meaning, so the limit does not apply.
fn ceiling(text: &str, range: &Range<usize>) -> f64 {
    /// A counted unit, the period in which it is counted, and how many of the units the period has.
    const PERIODS: &[(&str, &str, f64)] = &[
        ("minutes", "hour", 60.0),
        ("hours", "day", 24.0),
        ("hours", "week", 168.0),
        ("days", "week", 7.0),
        ("days", "month", 31.0),
        ("days", "year", 366.0),
        ("weeks", "year", 53.0),
        ("months", "year", 12.0),
    ];
    /// The upper limit for the age of a person.
    const AGE: f64 = 120.0;
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let number = &text[range.clone()];
    let next: Vec<String> = words(after)
        .into_iter()
        .take(3)
        .map(|word| after[word].to_lowercase())
        .collect();
    let next: Vec<&str> = next.iter().map(String::as_str).collect();
    let last = words(before).pop().map(|word| before[word].to_lowercase());
    let ages = ["age", "aged", "ages"];
    let most = match next.as_slice() {
        _ if is_percentage(after) => 100.0,
        ["years", "old", ..] | ["years", "of", "age"] => AGE,
        [word, ..] if *word == "year-old" || *word == "years-old" => AGE,
        ["star" | "stars", ..] => 5.0,
        [counted, "a" | "an" | "per" | "each", period] => PERIODS
            .iter()
            .find(|(known, of, _)| known == counted && of == period)
            .map_or(f64::INFINITY, |(.., most)| *most),
        _ if last.is_some_and(|last| ages.contains(&&*last)) => AGE,
        // The number can be a probability, a score of a classifier, or a ratio.
        _ if value(number) < 1.0 && number.contains('.') && !is_measured(text, range) => 1.0,
        _ => f64::INFINITY,
    };
    if value(number) > most {
        f64::INFINITY
    } else {
        most
    }
}

/// Whether the text between two numbers makes them a part and its whole: "3 out of 4", "9 in 10".
fn is_share(between: &str, measured: bool) -> bool {
    let between = between.replace(MASK, " ");
    let plain = between.trim_end_matches(is_currency);
    if plain.contains(|c: char| !c.is_alphabetic() && !c.is_whitespace()) {
        return false;
    }
    let plain = plain.to_lowercase();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let bare = match words.as_slice() {
        [
            first @ ..,
            "the" | "its" | "these" | "those" | "their" | "our" | "all" | "every",
        ] => first,
        all => all,
    };
    match bare {
        ["of"] | ["out", "of"] => true,
        ["in"] => !measured,
        // "3 conditions out of 4"
        [.., "out", "of"] => bare.len() <= 6,
        _ => false,
    }
}

/// Whether the text before a number makes it the whole for a part in words: "two of 5".
fn is_whole_of_words(before: &str) -> bool {
    const PARTS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "half", "both", "some", "most", "any", "none",
    ];
    let plain = before.trim_end_matches(is_currency);
    let last: Vec<&str> = plain.rsplitn(5, char::is_whitespace).collect();
    let last: Vec<String> = last
        .iter()
        .take(4)
        .map(|word| word.to_lowercase())
        .collect();
    let last: Vec<&str> = last.iter().map(String::as_str).collect();
    let parts = |word: &str| PARTS.contains(&word);
    match last.as_slice() {
        // The words are in reverse order from the number; the empty word stands for the white space right before it.
        ["", "of", "out", part] | ["", "of" | "in", part, ..] => parts(part),
        [
            "",
            "the" | "its" | "these" | "those" | "their" | "our",
            "of",
            part,
        ] => parts(part),
        _ => false,
    }
}

/// Whether the text between two numbers makes them the ends of a range.
fn is_range(before: &str, between: &str) -> bool {
    let between = between.replace(MASK, " ");
    let plain = between.trim().trim_matches(is_currency).trim();
    if !plain.is_empty() && plain.chars().all(|c| is_dash(c) || c == '—') {
        return true;
    }
    let plain = plain.trim_start_matches(['%', ' ', '°']);
    let mut words: Vec<&str> = plain.split_whitespace().collect();
    // The left end may have its own unit: "from 5 kg to 10 kg".
    if let [unit, _] = words.as_slice()
        && (is_unit(unit) || counts("", &format!(" {unit}")) || is_percentage(unit))
    {
        words.remove(0);
    }
    let last = before.trim_end_matches(is_currency).trim_end();
    let opened = last.rsplit(char::is_whitespace).next().unwrap_or_default();
    match words.as_slice() {
        ["to" | "through" | "until"] => true,
        ["and"] => opened.eq_ignore_ascii_case("between"),
        _ => plain.len() < between.trim().len() && plain.chars().all(is_dash) && !plain.is_empty(),
    }
}
