//! Numbers that are a part of a name: "Section 3", "seat 14C", "Windows 11", "0150 Oslo", "4 May".

use std::ops::Range;

use super::limits::{is_measured, is_percentage};
use super::{MASK, is_currency};
use crate::perturb::sentence::words;

/// After one of these words, the word before the number is an ordinary noun, not a label, and the number is a count.
const DETERMINERS: &[&str] = &[
    "a", "an", "any", "each", "every", "last", "next", "past", "per", "previous", "this",
];

/// After one of these words, the word before the number is a verb: "to order 3 parts".
const MODALS: &[&str] = &["to", "must", "shall", "should", "may", "can", "will"];

/// Whether the words before a number make it a label, a date or a version.
pub(super) fn is_label(text: &str, token: &Range<usize>, labels: &[String]) -> bool {
    let (before, after) = (&text[..token.start], &text[token.end..]);
    let mut last = Backwards(before.trim_end_matches(is_gap));
    if last.0.len() == before.len() {
        return false;
    }
    let tail = last.next().unwrap_or_default();
    let word = tail.trim_start_matches(|c: char| !c.is_alphanumeric());
    if is_month(word.trim_end_matches('.')) || tail.ends_with(['§', '¶', '№', '#']) {
        return true;
    }
    if is_percentage(after) {
        return false;
    }
    if refers(before, text, token) {
        return true;
    }
    let second = last.next().unwrap_or_default();
    // "Flight SK 4712", "Room B 12"
    let between = word.len() <= 3 && is_upper(word) && is_named_by(second, labels);
    if !between && !is_named_by(word, labels) {
        return false;
    }
    // The numbers in "per patient 2 hours", "must order 5 readings" and "in case 3 or more" are amounts, not labels.
    let second = second.to_lowercase();
    let is_second = |words: &[&str]| words.contains(&&*second);
    let free = is_second(DETERMINERS)
        || (is_second(MODALS) && is_plural(after))
        || (second == "the" && is_measured(text, token))
        || (second == "in" && word == "case");
    !free
}

/// Whether a list of labels that ends at `end` continues up to another number.
pub(super) fn continues(text: &str, end: usize, token: &Range<usize>) -> bool {
    goes_on(&text[end..token.start]) && !is_measured(text, token)
}

/// Whether a number is a name, or a part of a name.
pub(super) fn is_code(text: &str, token: &Range<usize>) -> bool {
    let (before, after) = (&text[..token.start], &text[token.end..]);
    let number = &text[token.clone()];
    is_named(before, after, number)
        || is_post_code(before, after, number)
        || is_in_street(after)
        || is_day(after)
        || is_regulation(after)
        || (is_scale(after) && !is_measured(text, token))
}

const fn is_gap(c: char) -> bool {
    matches!(c, MASK | ' ' | '\t' | '\n' | '\r' | '\u{a0}' | '\u{202f}')
}

/// The words of a text in reverse order, in their original spelling.
struct Backwards<'a>(&'a str);

impl<'a> Iterator for Backwards<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_end_matches(is_gap);
        let start = text.rfind(is_gap).map_or(0, |at| {
            at + text[at..].chars().next().map_or(0, char::len_utf8)
        });
        self.0 = &text[..start];
        (!text.is_empty()).then(|| &text[start..])
    }
}

fn is_named_by(word: &str, labels: &[String]) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = word.to_lowercase();
    labels.iter().any(|label| {
        let label = label.to_lowercase();
        // "Claim: 3" names the claim with this number; "Claims: 3" says how many claims there are.
        lower == label
            || lower.strip_suffix(':') == Some(&*label)
            || lower == format!("{label}s")
            || plural_of(&label) == lower
    })
}

/// The plural of a label that does not just get an `s`: category, appendix, class.
fn plural_of(label: &str) -> String {
    match label {
        _ if label.ends_with('y') => format!("{}ies", &label[..label.len() - 1]),
        _ if label.ends_with("ix") || label.ends_with("ex") => {
            format!("{}ices", &label[..label.len() - 2])
        }
        _ => format!("{label}es"),
    }
}

/// Whether the text between two numbers continues a list of labels: it is only a comma or a small word.
fn goes_on(between: &str) -> bool {
    matches!(
        between.trim_matches(is_gap),
        "," | "and" | "or" | "to" | "of" | "&" | "through" | ", and" | ", or" | "-" | "–"
    )
}

/// Whether the next word is a plural, so that the number counts it.
fn is_plural(after: &str) -> bool {
    let next = words(after).into_iter().next();
    next.is_some_and(|word| {
        let blank = after[..word.start].chars().all(is_gap);
        let word = &after[word];
        blank && word.len() > 3 && word.ends_with('s') && word.chars().all(char::is_lowercase)
    })
}

/// Whether the text before a number makes it a reference to a part of a document: "as set out in
/// 4.2".
fn refers(before: &str, text: &str, token: &Range<usize>) -> bool {
    const TO_A_PLACE: &[&str] = &[
        "see",
        "cf.",
        "as per",
        "set out in",
        "set forth in",
        "defined in",
        "described in",
        "specified in",
        "listed in",
        "referred to in",
        "in accordance with",
        "pursuant to",
        "subject to",
    ];
    const ALWAYS: &[&str] = &["scale of", "scale from", "country code", "dial"];
    let lower = before.trim_end_matches(is_gap).to_lowercase();
    let ends = |phrases: &[&str]| {
        phrases.iter().any(|phrase| {
            let rest = lower.strip_suffix(phrase);
            rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
        })
    };
    let dotted = text[token.clone()].contains('.') && !is_measured(text, token);
    ends(ALWAYS) || (dotted && ends(TO_A_PLACE))
}

/// Whether the word right before a number is a name that includes the number, such as the name of a product, a street
/// or a grade. At the beginning of a sentence, a name cannot be distinguished from another word, so it does not count.
fn is_named(before: &str, after: &str, number: &str) -> bool {
    /// Measures that some forms write with a capital letter: "Credit Score 640".
    const MEASURES: &[&str] = &[
        "age",
        "amount",
        "balance",
        "capacity",
        "cost",
        "count",
        "deposit",
        "distance",
        "dose",
        "duration",
        "fee",
        "height",
        "income",
        "index",
        "length",
        "limit",
        "maximum",
        "minimum",
        "price",
        "quantity",
        "rate",
        "ratio",
        "rent",
        "salary",
        "score",
        "size",
        "speed",
        "temperature",
        "term",
        "threshold",
        "total",
        "value",
        "weight",
        "width",
    ];
    const MONEY: &[&str] = &["rs", "fr", "kr", "zł"];
    let mut last = Backwards(before);
    let Some(tail) = last.next().filter(|_| before.ends_with(is_gap)) else {
        return false;
    };
    let text = format!("{number}{after}");
    let is_amount = is_measured(&text, &(0..number.len())) || number.contains([',', '\'', ' ']);
    let word = tail.trim_start_matches(['(', '"', '“', '‘', '\'']);
    if is_amount || !word.chars().all(|c| c.is_alphabetic() || c == '-') {
        return false;
    }
    if is_upper(word) && word.len() > 1 {
        // "ASA 3" is a grade, and "FICO 640" is a value.
        return number.len() <= 2 && super::value(number) <= 10.0 && !number.contains('.');
    }
    let lower = word.to_lowercase();
    let begins = last.next().is_none_or(|other| {
        word.len() < tail.len() || other.ends_with(['.', '!', '?', ':', ';', '|', '–', '—'])
    });
    word.starts_with(char::is_uppercase)
        && !begins
        && !MEASURES.contains(&&*lower)
        && !MONEY.contains(&&*lower)
}

fn is_upper(word: &str) -> bool {
    !word.is_empty() && word.chars().all(char::is_uppercase)
}

/// "Springfield, IL 62704", "10115 Berlin", "1017 AB Amsterdam"
fn is_post_code(before: &str, after: &str, number: &str) -> bool {
    let plain = (4..=6).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    if !plain || before.ends_with(is_currency) {
        return false;
    }
    let last = Backwards(before).next().unwrap_or_default();
    let state = number.len() == 5 && last.len() == 2 && is_upper(last);
    let mut next = after.strip_prefix(' ').unwrap_or_default().split(is_gap);
    let mut town = next.next().unwrap_or_default();
    if town.len() == 2 && is_upper(town) {
        town = next.next().unwrap_or_default();
    }
    let mut letters = town.chars();
    let is_name = letters.next().is_some_and(char::is_uppercase)
        && letters.next().is_some_and(char::is_lowercase)
        && !town.starts_with("Euro");
    let place = last.is_empty()
        || last.ends_with([',', ';', ':', '('])
        || ["in", "at", "to"].contains(&last);
    state || (is_name && place)
}

/// "12 Main Street", "221 Baker St."
fn is_in_street(after: &str) -> bool {
    const STREETS: &[&str] = &[
        "Street",
        "St",
        "Road",
        "Rd",
        "Avenue",
        "Ave",
        "Lane",
        "Drive",
        "Boulevard",
        "Blvd",
        "Way",
        "Place",
        "Court",
        "Square",
        "Terrace",
        "Crescent",
    ];
    let Some(after) = after.strip_prefix(' ') else {
        return false;
    };
    let names = after
        .split(' ')
        .take(4)
        .take_while(|word| word.starts_with(char::is_uppercase));
    names.skip(1).any(|word| {
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        STREETS.contains(&word)
    })
}

/// Whether a month follows, or more days and then a month: "4, 5 and 6 May".
fn is_day(after: &str) -> bool {
    let mut rest = after;
    loop {
        let next = rest.trim_start_matches(is_gap);
        let word: String = next.chars().take_while(|c| c.is_alphabetic()).collect();
        if next.len() < rest.len() && is_month(&word) {
            return true;
        }
        let Some(digit) = rest.find(|c: char| c.is_ascii_digit()) else {
            return false;
        };
        let day = rest[digit..].trim_start_matches(|c: char| c.is_ascii_digit());
        if !goes_on(&rest[..digit]) || rest.len() - digit - day.len() > 2 {
            return false;
        }
        rest = day;
    }
}

/// "49 CFR 173.4"
fn is_regulation(after: &str) -> bool {
    let next = words(after).into_iter().next();
    next.is_some_and(|word| ["CFR", "USC"].contains(&&after[word]) && after.starts_with(' '))
}

/// "4 on a scale of 1 to 5"
fn is_scale(after: &str) -> bool {
    let next = after.trim_start_matches(is_gap);
    next.starts_with("on a scale") || next.starts_with("on the scale")
}

pub(super) fn is_month(word: &str) -> bool {
    const MONTHS: &[&str] = &[
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "Jan",
        "Feb",
        "Mar",
        "Apr",
        "Jun",
        "Jul",
        "Aug",
        "Sep",
        "Sept",
        "Oct",
        "Nov",
        "Dec",
    ];
    MONTHS.contains(&word)
}
