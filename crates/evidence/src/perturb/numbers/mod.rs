//! Finds the amounts of a text, and possible replacements for each.
//!
//! An amount is a number that measures or counts something. Dates, times, versions, ordinals, labels such as "Section
//! 3", list numbers, identifiers, post codes and phone numbers are not amounts.

mod around;
mod label;
mod limits;
mod style;
mod units;

use std::ops::Range;

use crate::cases::prose::MASK;
use around::is_amount_between;
use label::{continues, is_code, is_label};
pub(super) use limits::Amount;
use style::{NumberStyle, is_grouping_mark, value};
pub(super) use style::{over, times};

/// The amounts of a block of masked text: their digits with the separators between them, without sign, currency and
/// unit.
pub(super) fn amounts(masked: &str, block: Range<usize>, labels: &[String]) -> Vec<Amount> {
    let text = &masked[block.clone()];
    let mut found = Vec::new();
    let mut codes: Vec<&str> = Vec::new();
    let mut at = 0;
    // The end of the last label, or of the last list of labels such as "Sections 3, 4 and 5".
    let mut labelled = None;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let token = token(text, at + start);
        at = token.end;
        if is_label(text, &token, labels)
            || labelled.is_some_and(|end| continues(text, end, &token))
        {
            labelled = Some(token.end);
            codes.push(&text[token]);
            continue;
        }
        labelled = None;
        if is_code(text, &token) {
            codes.push(&text[token]);
        } else if is_amount_between(text, &token) {
            let parts = parts(&text[token.clone()]).into_iter();
            found.extend(parts.map(|part| token.start + part.start..token.start + part.end));
        }
    }
    // After "Firmware 6.2 was tested", a later "6.2" alone means the same version.
    found.retain(|range| {
        let number = &text[range.clone()];
        number.len() < 3 || !codes.contains(&number) || limits::is_measured(text, range)
    });
    let amounts = limits::limited(text, &found);
    amounts
        .into_iter()
        .map(|amount| amount.after(block.start))
        .collect()
}

/// Whether a character can be between the digits of one number, date or range.
fn is_joint(c: char) -> bool {
    is_grouping_mark(c) || is_dash(c) || matches!(c, ':' | '/' | '_')
}

const fn is_dash(c: char) -> bool {
    matches!(c, '-' | '–' | '\u{2010}' | '\u{2011}')
}

fn is_currency(c: char) -> bool {
    "$€£¥₹₩₽₺₴₪฿¢".contains(c)
}

/// The token that begins at a digit: all characters from there on that belong together.
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
            // A plain space groups digits only if exactly three digits follow it.
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

/// The numbers of a token: one, or the two ends of a range; none if the token is not a number or a range.
fn parts(token: &str) -> Vec<Range<usize>> {
    if NumberStyle::of(token).is_some() {
        let whole = (!is_identifier(token)).then_some(0..token.len());
        return whole.into_iter().collect();
    }
    let mut dashes = token.char_indices().filter(|(_, c)| is_dash(*c));
    let (Some((at, dash)), None) = (dashes.next(), dashes.next()) else {
        return Vec::new();
    };
    let (left, right) = (&token[..at], &token[at + dash.len_utf8()..]);
    let sound = |side: &str| NumberStyle::of(side).is_some() && !is_identifier(side);
    let phone = left.len() == 3 && right.len() == 4;
    let years = is_year(left) && (is_year(right) || right.len() == 2);
    if !sound(left) || !sound(right) || phone || years || value(left) >= value(right) {
        return Vec::new();
    }
    vec![0..at, token.len() - right.len()..token.len()]
}

/// Whether a number is an identifier: people group the digits of large amounts, so a long sequence of digits without
/// separators is a name and not a count.
fn is_identifier(number: &str) -> bool {
    number.len() >= 8 && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_year(number: &str) -> bool {
    number.len() == 4
        && number.bytes().all(|b| b.is_ascii_digit())
        && ("1900".."2100").contains(&number)
}

#[cfg(test)]
mod tests;
