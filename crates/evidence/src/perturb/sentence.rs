//! Splits running text into sentences; abbreviations, initials and decimals do not end a sentence.

use std::ops::Range;

use crate::cases::prose::MASK;

/// The sentences of a range of masked text, without the white space between them.
pub(super) fn sentences(
    masked: &str,
    range: Range<usize>,
    abbreviations: &[String],
) -> Vec<Range<usize>> {
    let text = &masked[range.clone()];
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if at < start || !matches!(c, '.' | '!' | '?' | '…') {
            continue;
        }
        let after = &text[at + c.len_utf8()..];
        let closing = after.len() - after.trim_start_matches(is_closing).len();
        let rest = &after[closing..];
        let next = rest.trim_start();
        if next.len() == rest.len() || next.is_empty() || !begins_sentence(next) {
            continue;
        }
        if c == '.' && closing == 0 && !ends_sentence(&text[start..at], next, abbreviations) {
            continue;
        }
        let end = text.len() - rest.len();
        found.push(range.start + start..range.start + end);
        start = text.len() - next.len();
    }
    let last = text[start..].trim_end();
    if !last.is_empty() {
        found.push(range.start + start..range.start + start + last.len());
    }
    found
}

/// Whether a full stop after `before` ends a sentence if `next` follows.
fn ends_sentence(before: &str, next: &str, abbreviations: &[String]) -> bool {
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
        .trim_start_matches(|c: char| !c.is_alphanumeric());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    // "2. 5" is a decimal with a typing mistake; "1. Scope" has a number before a title.
    let numbered = digits(word)
        && (next.starts_with(|c: char| c.is_ascii_digit()) || word.len() == before.trim().len());
    let shortened = abbreviations.iter().any(|known| {
        known
            .strip_suffix('.')
            .is_some_and(|known| known.to_lowercase() == word.to_lowercase())
    });
    !(initial || numbered || shortened)
}

fn begins_sentence(next: &str) -> bool {
    next.chars().next().is_some_and(|c| {
        c.is_uppercase() || c.is_numeric() || c == MASK || "\"'“‘«([$€£".contains(c)
    })
}

fn is_closing(c: char) -> bool {
    c == MASK || "\"'”’»)]".contains(c)
}

/// The words of a text with their ranges. A word has letters and digits, with hyphens and apostrophes inside.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut joined = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if c.is_alphanumeric() {
            match found.last_mut() {
                Some(word) if word.end == at || joined => word.end = end,
                _ => found.push(at..end),
            }
            joined = false;
        } else {
            let inner = matches!(c, '-' | '\'' | '’' | '\u{2011}');
            joined = inner && found.last().is_some_and(|word| word.end == at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        let abbreviations = ["e.g.", "no.", "Inc."].map(str::to_owned);
        sentences(text, 0..text.len(), &abbreviations)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn abbreviations_decimals_and_initials_do_not_end_a_sentence() {
        assert_eq!(
            cut("Fees of 2.5 (e.g. Visa, no. 7) or 2. 5 apply. J. Doe of Acme Inc. Signed it."),
            [
                "Fees of 2.5 (e.g. Visa, no. 7) or 2. 5 apply.",
                "J. Doe of Acme Inc. Signed it."
            ]
        );
        assert_eq!(
            cut("1. Scope is wide. It ends"),
            ["1. Scope is wide.", "It ends"]
        );
    }

    #[test]
    fn quotes_brackets_and_markup_belong_to_their_sentence() {
        assert_eq!(
            cut("He said \"yes.\" (Twice.) Was it so? ‘It was!’\nThen… No end; see v1.2.b here"),
            [
                "He said \"yes.\"",
                "(Twice.)",
                "Was it so?",
                "‘It was!’",
                "Then…",
                "No end; see v1.2.b here"
            ]
        );
        assert_eq!(
            cut("One is \u{1}\u{1}bold.\u{1}\u{1} \u{1}\u{1}Two\u{1} is not. lower").len(),
            2
        );
        assert_eq!(cut("  "), Vec::<&str>::new());
    }

    #[test]
    fn words_keep_their_inner_hyphens_and_apostrophes() {
        let text = "non-compliant isn’t - the 'end' of co-";
        let words: Vec<&str> = words(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(words, ["non-compliant", "isn’t", "the", "end", "of", "co"]);
    }
}
