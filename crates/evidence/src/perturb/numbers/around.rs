//! Checks whether a number can be an amount, judging by the text around it.

use std::ops::Range;

use super::label::is_month;
use super::limits::is_percentage;
use super::units::{counts, is_unit};
use super::{MASK, is_currency, is_dash, is_year};
use crate::perturb::sentence::words;

/// Whether a token can be an amount, judging by the text around it.
pub(super) fn is_amount_between(text: &str, token: &Range<usize>) -> bool {
    let (before, after) = (&text[..token.start], &text[token.end..]);
    let bare = before.trim_end_matches(is_currency);
    let money = bare.len() < before.len();
    is_free_before(bare, after, money)
        && is_free_after(before, after)
        && !is_web_like(before, after)
        && (money || !is_year(&text[token.clone()]) || counts(before, after))
}

fn is_free_before(before: &str, after: &str, money: bool) -> bool {
    let Some(last) = before.chars().next_back() else {
        return true;
    };
    let rest = &before[..before.len() - last.len_utf8()];
    match last {
        // "US$5" is money; "AB5" is a name.
        _ if last.is_alphanumeric() => money && last.is_uppercase(),
        '-' | '−' | '–' | '\u{2011}' => match rest.chars().next_back() {
            None => true,
            Some(c) => {
                c.is_whitespace()
                    || c.is_ascii_digit()
                    || "([{\"'“‘<>=≤≥~$€£%".contains(c)
                    || ends_with_unit(rest)
            }
        },
        '+' => is_gain(rest, after),
        // Groups of digits that are separated by a space but have the wrong length: a phone number, or an account
        // number.
        ' ' => !rest.ends_with(|c: char| c.is_ascii_digit()),
        '[' | '#' | '№' | '§' | '¶' | '@' | '/' | '\\' | '_' | '.' | '^' => false,
        '\'' | '’' => false,
        _ => true,
    }
}

/// Whether a plus sign before a number marks an increase; otherwise the number is the country code of a phone number.
fn is_gain(before: &str, after: &str) -> bool {
    let opens = before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "([|".contains(c));
    let unit = words(after).into_iter().next();
    let unit = unit.filter(|word| after[..word.start].trim().is_empty());
    opens && (is_percentage(after) || unit.is_some_and(|word| is_unit(&after[word])))
        || opens && counts("", after) && !after.starts_with(is_dash)
}

/// Whether a text ends with a number and its unit, as the left side of "5k-10k" does.
fn ends_with_unit(text: &str) -> bool {
    let number = text.trim_end_matches(char::is_alphabetic);
    number.ends_with(|c: char| c.is_ascii_digit()) && is_unit(&text[number.len()..])
}

fn is_free_after(before: &str, after: &str) -> bool {
    let Some(first) = after.chars().next() else {
        return true;
    };
    let rest = &after[first.len_utf8()..];
    let run = |text: &str| -> String { text.chars().take_while(|c| c.is_alphabetic()).collect() };
    match first {
        _ if first.is_alphabetic() => {
            let unit = run(after);
            let next = after[unit.len()..].chars().next();
            is_unit(&unit) && !next.is_some_and(|c| c.is_ascii_digit() || c == '_')
        }
        _ if is_dash(first) => {
            let word = run(rest);
            let digits = rest.starts_with(|c: char| c.is_ascii_digit());
            // "A 30-day notice" contains an amount; "a 2-factor login" names a kind of login.
            word.is_empty() && !digits || MEASURES.contains(&&*word)
        }
        ')' => before.matches('(').count() > before.matches(')').count() && !before.ends_with('('),
        ']' => !before.ends_with('['),
        '.' => {
            let begins = before.trim_end_matches([' ', '\t']);
            // "1. A form. 2. A stamp" and "either 1. a form or 2. a stamp"
            let numbered = begins.is_empty()
                || begins.ends_with(['\n', '\r', '.', ';', '!', '?'])
                || rest.trim_start().starts_with(char::is_lowercase);
            !(rest.starts_with(char::is_alphanumeric) || (numbered && rest.starts_with(' ')))
        }
        '/' => run(rest).chars().count() >= 2,
        ' ' | '\u{a0}' => {
            let word = run(rest);
            let clock = ["am", "pm", "AM", "PM", "o"].contains(&&*word)
                && (word != "o" || rest[1..].starts_with(['\'', '’']));
            let clock = clock || rest.starts_with("a.m") || rest.starts_with("p.m");
            !clock && !is_month(&word) && !rest.starts_with(|c: char| c.is_ascii_digit())
        }
        '@' | '_' | '\\' | '^' => false,
        // "401(k)", "12(3)"
        '(' => false,
        // "2½"
        _ => !first.is_numeric(),
    }
}

/// Words that make the number before a hyphen an amount: "a 30-day notice".
const MEASURES: &[&str] = &[
    "bed",
    "character",
    "cm",
    "day",
    "degree",
    "dollar",
    "euro",
    "fold",
    "foot",
    "gallon",
    "hour",
    "inch",
    "kg",
    "kilometer",
    "kilometre",
    "km",
    "liter",
    "litre",
    "man",
    "meter",
    "metre",
    "mg",
    "mile",
    "minute",
    "ml",
    "month",
    "night",
    "page",
    "percent",
    "person",
    "point",
    "pound",
    "seat",
    "second",
    "storey",
    "story",
    "ton",
    "tonne",
    "volt",
    "watt",
    "week",
    "word",
    "year",
];

/// Whether the number is part of a web address, a mail address or a path.
fn is_web_like(before: &str, after: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || c == MASK;
    let head = before.rsplit(ends).next().unwrap_or_default();
    let tail = after.split(ends).next().unwrap_or_default();
    ["://", "www.", "@", "\\"]
        .iter()
        .any(|mark| head.contains(mark) || tail.contains(mark))
}
