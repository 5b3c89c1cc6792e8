//! Finds the amounts of a text, and multiplies them exactly.
//!
//! An amount is a number that measures something. Dates, times, versions, ordinals, labels such as
//! "Section 3", list numbers, identifiers and phone numbers are none.

mod style;

use std::ops::Range;

use super::sentence::words;
use crate::cases::prose::MASK;
pub(super) use style::times;
use style::{Style, is_grouping_mark, value};

/// The amounts of a block of masked text: their digits with the marks between them, without sign,
/// currency and unit.
pub(super) fn amounts(masked: &str, block: Range<usize>, labels: &[String]) -> Vec<Range<usize>> {
    let text = &masked[block.clone()];
    let mut found = Vec::new();
    let mut at = 0;
    // Where a label, or a list of them, ends: "Sections 3, 4 and 5".
    let mut labelled = None;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let token = token(text, at + start);
        at = token.end;
        if is_label(text, &token, labels)
            || labelled.is_some_and(|end| goes_on(&text[end..token.start]))
        {
            labelled = Some(token.end);
            continue;
        }
        labelled = None;
        if !is_amount_between(text, &token) {
            continue;
        }
        let parts = parts(&text[token.clone()]);
        found.extend(parts.into_iter().map(|part| {
            block.start + token.start + part.start..block.start + token.start + part.end
        }));
    }
    found
}

/// Marks that stand between digits of one thing, be it a number, a date or a range.
fn is_joint(c: char) -> bool {
    is_grouping_mark(c) || is_dash(c) || matches!(c, ':' | '/' | '_')
}

const fn is_dash(c: char) -> bool {
    matches!(c, '-' | '–' | '\u{2010}' | '\u{2011}')
}

fn is_currency(c: char) -> bool {
    "$€£¥₹₩₽₺₴₪฿¢".contains(c)
}

/// Everything from a digit on that hangs together with it.
fn token(text: &str, start: usize) -> Range<usize> {
    let mut start = start;
    let before = &text[..start];
    if before.ends_with('.')
        && !before[..before.len() - 1].ends_with(|c: char| c.is_alphanumeric() || c == '.')
    {
        start -= 1;
    }
    let mut end = start;
    for (at, c) in text[start..].char_indices() {
        let at = start + at;
        let joins = |c: char| {
            let rest = &text[at + c.len_utf8()..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // A plain space is a grouping mark only where what follows could be a group.
            digits > 0 && (c != ' ' || digits == 3)
        };
        if c.is_ascii_digit() || (at == start && c == '.') {
            end = at + c.len_utf8();
        } else if !(is_joint(c) && joins(c)) {
            break;
        }
    }
    start..end
}

/// The numbers of a token: one, or the two sides of a range; none where it is something else.
fn parts(token: &str) -> Vec<Range<usize>> {
    if Style::of(token).is_some() {
        let whole = (!is_identifier(token)).then_some(0..token.len());
        return whole.into_iter().collect();
    }
    let mut dashes = token.char_indices().filter(|(_, c)| is_dash(*c));
    let (Some((at, dash)), None) = (dashes.next(), dashes.next()) else {
        return Vec::new();
    };
    let (left, right) = (&token[..at], &token[at + dash.len_utf8()..]);
    let sound = |side: &str| Style::of(side).is_some() && !is_identifier(side);
    let phone = left.len() == 3 && right.len() == 4;
    let years = is_year(left) && (is_year(right) || right.len() == 2);
    if !sound(left) || !sound(right) || phone || years || value(left) >= value(right) {
        return Vec::new();
    }
    vec![0..at, token.len() - right.len()..token.len()]
}

/// So many digits in a row are the number of something, not how many.
fn is_identifier(number: &str) -> bool {
    number.len() >= 10 && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_year(number: &str) -> bool {
    number.len() == 4
        && number.bytes().all(|b| b.is_ascii_digit())
        && ("1900".."2100").contains(&number)
}

/// Whether the word before a number makes it a label, a date or a version.
fn is_label(text: &str, token: &Range<usize>, labels: &[String]) -> bool {
    let before = &text[..token.start];
    let spaced = before.trim_end();
    if spaced.len() == before.len() {
        return false;
    }
    let tail = spaced
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let word = tail.trim_start_matches(|c: char| !c.is_alphanumeric());
    if is_month(word.trim_end_matches('.')) || tail.ends_with(['§', '¶', '№', '#']) {
        return true;
    }
    let word = word.to_lowercase();
    labels.iter().any(|label| {
        let label = label.to_lowercase();
        word == label || word == format!("{label}s") || plural_of(&label) == word
    })
}

/// Plurals that are not made with an `s` alone: category, appendix, class.
fn plural_of(label: &str) -> String {
    match label {
        _ if label.ends_with('y') => format!("{}ies", &label[..label.len() - 1]),
        _ if label.ends_with("ix") || label.ends_with("ex") => {
            format!("{}ices", &label[..label.len() - 2])
        }
        _ => format!("{label}es"),
    }
}

/// Whether a list of labels goes on: nothing but a comma or a small word stands between.
fn goes_on(between: &str) -> bool {
    matches!(
        between.trim(),
        "," | "and" | "or" | "to" | "&" | "through" | ", and" | ", or" | "-" | "–"
    )
}

fn is_month(word: &str) -> bool {
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

/// Whether what stands around a token leaves it an amount.
fn is_amount_between(text: &str, token: &Range<usize>) -> bool {
    let (before, after) = (&text[..token.start], &text[token.end..]);
    let bare = before.trim_end_matches(is_currency);
    let money = bare.len() < before.len();
    is_free_before(bare, money)
        && is_free_after(before, after)
        && !is_web_like(before, after)
        && (money || !is_year(&text[token.clone()]) || counts_something(before, after))
}

fn is_free_before(before: &str, money: bool) -> bool {
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
        // Digits, space, digits that are no group: a phone number, an account.
        ' ' => !rest.ends_with(|c: char| c.is_ascii_digit()),
        '[' | '#' | '№' | '§' | '¶' | '@' | '/' | '\\' | '_' | '.' | '^' => false,
        '\'' | '’' => false,
        _ => true,
    }
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
            word.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit())
                || (word.len() >= 3 && word.chars().all(char::is_lowercase))
        }
        ')' => before.matches('(').count() > before.matches(')').count() && !before.ends_with('('),
        ']' => !before.ends_with('['),
        '.' => {
            let begins = before.trim_end_matches([' ', '\t']);
            let numbered = begins.is_empty() || begins.ends_with(['\n', '\r']);
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
        _ => true,
    }
}

/// Whether the number is in an address of the web, of mail or of a folder.
fn is_web_like(before: &str, after: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || c == MASK;
    let head = before.rsplit(ends).next().unwrap_or_default();
    let tail = after.split(ends).next().unwrap_or_default();
    ["://", "www.", "@", "\\"]
        .iter()
        .any(|mark| head.contains(mark) || tail.contains(mark))
}

/// Whether four digits that could be a year say how many of something there are.
fn counts_something(before: &str, after: &str) -> bool {
    const COUNTED: &[&str] = &[
        "calls",
        "characters",
        "customers",
        "days",
        "dollars",
        "employees",
        "eur",
        "euros",
        "feet",
        "gbp",
        "hours",
        "items",
        "kg",
        "km",
        "kilograms",
        "kilometers",
        "kilometres",
        "kwh",
        "metres",
        "meters",
        "miles",
        "minutes",
        "ms",
        "patients",
        "people",
        "persons",
        "points",
        "pounds",
        "records",
        "requests",
        "rows",
        "seconds",
        "shares",
        "sq",
        "square",
        "tokens",
        "tonnes",
        "tons",
        "transactions",
        "units",
        "usd",
        "users",
        "visits",
        "words",
    ];
    if after.starts_with(|c: char| c == '%' || c.is_alphabetic() || is_dash(c)) {
        return true;
    }
    let next = words(after)
        .into_iter()
        .next()
        .filter(|word| after[..word.start].trim().is_empty());
    let last = words(before)
        .pop()
        .filter(|word| before[word.end..].trim().is_empty());
    let listed =
        |word: Option<&str>| word.is_some_and(|word| COUNTED.contains(&&*word.to_lowercase()));
    listed(next.map(|word| &after[word])) || listed(last.map(|word| &before[word]))
}

/// Units and multiples that are written right behind a number.
fn is_unit(text: &str) -> bool {
    const UNITS: &[&str] = &[
        "A", "B", "CHF", "EUR", "GB", "GBP", "GHz", "GW", "GWh", "GiB", "Hz", "K", "KB", "KiB",
        "M", "MB", "MHz", "MM", "MW", "MWh", "MiB", "Mbps", "Mio", "TB", "TiB", "USD", "V", "W",
        "b", "bn", "bp", "bps", "cm", "d", "dB", "days", "ft", "g", "h", "ha", "hr", "hrs", "in",
        "k", "kB", "kHz", "kW", "kWh", "kb", "kg", "km", "l", "lb", "lbs", "m", "mA", "mL", "mg",
        "mi", "mil", "min", "mins", "ml", "mm", "mn", "mo", "ms", "ns", "oz", "pp", "ppm", "pt",
        "px", "sec", "secs", "t", "tn", "w", "wk", "x", "y", "yr", "yrs", "µg", "µs",
    ];
    UNITS.contains(&text)
}

#[cfg(test)]
mod tests;
