//! Removes personal data and credentials that can be recognised by their form: e-mail addresses, bank account numbers
//! with valid check digits, and the value behind `token=`. A data set is given to other people; the run that it was
//! made from is not.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// The text that replaces removed data.
const HIDDEN: &str = "***";

/// An e-mail address. `git@` names nobody: it is the account of a server.
static ADDRESSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u:\b)([A-Za-z0-9][A-Za-z0-9._%+'-]*)@(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?-u:\b)",
    )
    .expect("the pattern is tested")
});

/// The value of a parameter whose name says that it is a credential.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(?-u:\b)((?:(?:access|refresh|id|auth|api|session|csrf)[_-]?)?token=)[^\s&#"'<>;,)\]}]+"#)
        .expect("the pattern is tested")
});

/// The beginning of an IBAN: a country code and two check digits.
static BEGINNINGS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u:\b)[A-Z]{2}[0-9]{2}").expect("the pattern is tested"));

/// How many characters an IBAN of a country has. See: <https://www.swift.com/standards/data-standards/iban>.
const LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18\
                       FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21\
                       LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SD18SE24SI19SK24\
                       SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20";

/// Removes personal data from every text inside a JSON value.
pub(super) fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masked(text) {
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn masked(text: &str) -> Cow<'_, str> {
    let address = |found: &Captures<'_>| match &found[1] {
        "git" => found[0].to_owned(),
        _ => HIDDEN.to_owned(),
    };
    let without = ADDRESSES.replace_all(text, address).into_owned();
    let token = |found: &Captures<'_>| format!("{}{HIDDEN}", &found[1]);
    let without = TOKENS.replace_all(&without, token).into_owned();
    let without = accounts(&without);
    match without == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(without),
    }
}

/// A copy of a text without bank account numbers.
fn accounts(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for found in BEGINNINGS.find_iter(text) {
        let start = found.start();
        if let Some(length) = account_at_start(&text[start..]).filter(|_| start >= done) {
            masked.push_str(&text[done..start]);
            masked.push_str(HIDDEN);
            done = start + length;
        }
    }
    masked.push_str(&text[done..]);
    masked
}

/// The length of the bank account number at the start of a text; none if there is no such number.
fn account_at_start(text: &str) -> Option<usize> {
    let mut countries = LENGTHS.as_bytes().chunks(4);
    let country = countries.find(|one| text.as_bytes().starts_with(&one[..2]))?;
    let length: usize = std::str::from_utf8(&country[2..]).ok()?.parse().ok()?;
    let (mut number, mut end) = (String::new(), 0);
    for (at, letter) in text.char_indices() {
        match letter {
            'A'..='Z' | '0'..='9' => number.push(letter),
            // The digits may be in groups with spaces, as in print.
            ' ' if !text[..at].ends_with(' ') => continue,
            _ => return None,
        }
        end = at + 1;
        if number.len() == length {
            break;
        }
    }
    // If more letters or digits follow, this is not an account number.
    let is_whole = number.len() == length && !text[end..].starts_with(char::is_alphanumeric);
    (is_whole && is_right(&number)).then_some(end)
}

/// Whether the check digits are valid: the remainder of a division by 97 has to be 1 (ISO 13616, ISO 7064 MOD 97-10).
fn is_right(number: &str) -> bool {
    let (head, rest) = number.split_at(4);
    let digits = rest
        .chars()
        .chain(head.chars())
        .filter_map(|c| c.to_digit(36));
    let rest = digits.fold(0_u64, |rest, digit| match digit {
        0..=9 => (rest * 10 + u64::from(digit)) % 97,
        _ => (rest * 100 + u64::from(digit)) % 97,
    });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_person_or_lets_somebody_in_is_taken_out() {
        for (text, left) in [
            ("to ann.b+x@mail.example.org, now", "to ***, now"),
            ("<o'neil@example.co.uk>", "<***>"),
            ("pay DE89 3704 0044 0532 0130 00 TODAY", "pay *** TODAY"),
            ("DE89370400440532013000.", "***."),
            ("GB29NWBK60161331926819", "***"),
            ("RE12 FOR DE89370400440532013000", "RE12 FOR ***"),
            (
                "see https://a.b/c?x=1&token=abc123&y=2",
                "see https://a.b/c?x=1&token=***&y=2",
            ),
            ("access_token=abc.def-ghi", "access_token=***"),
        ] {
            assert_eq!(masked(text), left, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_kept() {
        for text in [
            "@mention of a person, ann@home, npm install left-pad@1.3.0",
            "git@github.com:org/project.git",
            "DE88370400440532013000 and DE89 3704 0044 0532 0130 01",
            "DE893704004405320130001 is longer, ZZ89370400440532013000 of no country",
            "max_token=100, a token is a word, token = next()",
            "Order AB12 for room 7",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
