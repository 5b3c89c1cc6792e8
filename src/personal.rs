//! Finds private data that have a fixed form: what stands in a trace of production, or in a data set that is given to
//! other people. No rule can find data without such a form, such as a name.

use std::net::Ipv6Addr;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use kelvin_github::publish::mask;

/// A built-in rule. If two rules find the same text, the one that is listed first wins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PersonalRule {
    /// Keys, tokens and passwords: by their form, by a word such as `password:` before them, or by the name of their
    /// field.
    Key,
    /// Addresses of e-mail.
    Email,
    /// Numbers of bank accounts (IBAN), by their check digits.
    Iban,
    /// Numbers of payment cards, by their check digit (Luhn).
    Card,
    /// Addresses of machines, IPv4 and IPv6.
    Ip,
    /// Telephone numbers.
    Phone,
}

impl PersonalRule {
    pub(crate) const ALL: [Self; 6] = [
        Self::Key,
        Self::Email,
        Self::Iban,
        Self::Card,
        Self::Ip,
        Self::Phone,
    ];

    /// The name in a placeholder and in a list.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Email => "email",
            Self::Iban => "iban",
            Self::Card => "card",
            Self::Ip => "ip",
            Self::Phone => "phone",
        }
    }

    /// The parts of a text that the rule finds.
    pub(crate) fn find(self, text: &str) -> Vec<Range<usize>> {
        match self {
            Self::Key => keys(text),
            Self::Email => {
                // `git@` names nobody: it is the account of a server.
                let found = EMAIL.find_iter(text);
                let found = found.filter(|found| !found.as_str().starts_with("git@"));
                found.map(|found| found.range()).collect()
            }
            Self::Iban => ibans(text),
            Self::Card => cards(text),
            Self::Ip => addresses(text),
            Self::Phone => phones(text),
        }
    }

    /// A value in a normal form that is the same for all ways to write it.
    pub(crate) fn plain(self, value: &str) -> String {
        match self {
            Self::Email => value
                .to_lowercase()
                .replace("%40", "@")
                .replace("\\u0040", "@"),
            Self::Iban | Self::Card => {
                let signs = value.chars().filter(|sign| sign.is_alphanumeric());
                signs.flat_map(char::to_uppercase).collect()
            }
            Self::Phone => {
                let value = unescaped(value);
                let digits: String = value.chars().filter(char::is_ascii_digit).collect();
                digits.strip_prefix("00").unwrap_or(&digits).to_owned()
            }
            Self::Key | Self::Ip => value.to_owned(),
        }
    }
}

/// A part of a text, with the place of the rule that has found it.
pub(crate) type FoundPart = (Range<usize>, usize);

/// The parts of a text that the rules find; the first rule has the place `first`.
pub(crate) fn found(text: &str, first: usize) -> Vec<FoundPart> {
    let rules = (first..).zip(PersonalRule::ALL);
    let spans =
        rules.flat_map(|(place, rule)| rule.find(text).into_iter().map(move |span| (span, place)));
    spans.collect()
}

/// A copy of a text in which other words stand for the found parts. Parts that overlap are replaced as one, so that
/// nothing of them is left; the words are those for the first rule.
pub(crate) fn replaced(
    text: &str,
    mut found: Vec<FoundPart>,
    words: &mut dyn FnMut(usize, &str) -> String,
) -> String {
    found.retain(|(span, _)| !span.is_empty());
    found.sort_by(|(one, _), (two, _)| one.start.cmp(&two.start).then(two.end.cmp(&one.end)));
    let mut joined: Vec<FoundPart> = Vec::new();
    for (span, place) in found {
        match joined.last_mut() {
            Some((last, first)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                *first = place.min(*first);
            }
            _ => joined.push((span, place)),
        }
    }
    let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
    for (span, place) in joined {
        clean.push_str(&text[done..span.start]);
        done = span.end;
        clean.push_str(&words(place, &text[span]));
    }
    clean + &text[done..]
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is tested")
}

/// A domain name may be in any script, and its last part begins with a letter, unlike that of a version; `@` may be encoded as in a URL or in JSON.
static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\w[\w.+'~%-]*(?:@|%40|\\u0040)[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]*\w")
});

/// A word that says that a key follows.
static NAMED_KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:password|passwd|passphrase|passwort|pwd|secret|api[_ -]?key|access[_ -]?key|access[_ -]?token|auth[_ -]?token|token)["']?\s*(?:[:=]|\bis\b)\s*["']?([^\s"',;<>]{6,})"#,
    )
});

fn keys(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = mask::key_forms(text).collect();
    for named in NAMED_KEY.captures_iter(text) {
        let Some(value) = named.get(1) else { continue };
        // A plain word is not a key, as in "the password is wrong" and "token: optional", unless it is a parameter.
        let is_mixed = |value: &str| {
            value
                .chars()
                .any(|sign| sign.is_ascii_digit() || "!$%&*+#/_".contains(sign))
        };
        let is_parameter = text[..value.start()].to_lowercase().ends_with("token=");
        if is_parameter || is_mixed(value.as_str()) {
            found.push(value.range());
        }
    }
    found
}

/// Whether a character may separate two groups of a number: a space or a hyphen, including non-breaking forms.
const fn is_between(sign: char) -> bool {
    matches!(
        sign,
        ' ' | '-' | '.' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{2010}' | '\u{2011}'
    )
}

/// The groups of letters and digits in a text, and whether each group follows the previous one after a single
/// separator.
fn groups(text: &str, is_part: impl Fn(char) -> bool) -> Vec<(Range<usize>, bool)> {
    let mut groups: Vec<(Range<usize>, bool)> = Vec::new();
    let mut open: Option<usize> = None;
    let mut close = |start: usize, end: usize| {
        let joins = groups
            .last()
            .is_some_and(|(last, _): &(Range<usize>, bool)| {
                let mut between = text[last.end..start].chars();
                between.next().is_some_and(is_between) && between.next().is_none()
            });
        groups.push((start..end, joins));
    };
    for (at, sign) in text.char_indices() {
        match (is_part(sign), open) {
            (true, None) => open = Some(at),
            (false, Some(start)) => {
                close(start, at);
                open = None;
            }
            _ => {}
        }
    }
    if let Some(start) = open {
        close(start, text.len());
    }
    groups
}

/// The longest sequences of groups that match, from left to right.
fn runs(
    text: &str,
    groups: &[(Range<usize>, bool)],
    most: usize,
    is_it: impl Fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < groups.len() {
        let mut best = None;
        let mut joined = String::new();
        for (last, (group, joins)) in groups.iter().enumerate().skip(first) {
            if last > first && !joins {
                break;
            }
            joined.push_str(&text[group.clone()]);
            if joined.len() > most {
                break;
            }
            if is_it(&joined) {
                best = Some(last);
            }
        }
        match best {
            Some(last) => {
                found.push(groups[first].0.start..groups[last].0.end);
                first = last + 1;
            }
            None => first += 1,
        }
    }
    found
}

/// The characters right before and right after a part of a text.
fn around(text: &str, span: &Range<usize>) -> [Option<char>; 2] {
    let before = text[..span.start].chars().next_back();
    [before, text[span.end..].chars().next()]
}

/// Whether a part of a text is a part of a longer word.
fn is_in_a_word(text: &str, span: &Range<usize>) -> bool {
    let mut signs = around(text, span).into_iter().flatten();
    signs.any(|sign| sign.is_alphanumeric() || sign == '_')
}

fn cards(text: &str) -> Vec<Range<usize>> {
    let groups = groups(text, |sign| sign.is_ascii_digit());
    let found = runs(text, &groups, 19, |digits| {
        begins_like_a_card(digits) && passes_luhn(digits)
    });
    // Digits next to letters belong to an id or a digest, and a `+` begins a telephone number.
    let is_letter = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    let is_alone = |span: &Range<usize>| {
        let [before, after] = around(text, span);
        !is_letter(before) && before != Some('+') && !is_letter(after)
    };
    found.into_iter().filter(is_alone).collect()
}

/// Whether a card number may begin like this and have this length. This check is needed because one in ten times and
/// ids has a valid check digit.
fn begins_like_a_card(digits: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|begin| digits.starts_with(begin));
    match digits.len() {
        13 => begins(&["4"]),
        14 => begins(&["30", "36", "38", "39"]),
        15 => begins(&["34", "37"]),
        16 => {
            begins(&["35", "4", "5", "6"])
                || digits[..4]
                    .parse()
                    .is_ok_and(|begin| (2221..=2720).contains(&begin))
        }
        17..=19 => begins(&["4", "5", "6"]),
        _ => false,
    }
}

fn passes_luhn(digits: &str) -> bool {
    let values = digits.bytes().rev().map(|digit| u32::from(digit - b'0'));
    let sum: u32 = values
        .enumerate()
        .map(|(place, value)| match place % 2 {
            0 => value,
            _ if value > 4 => value * 2 - 9,
            _ => value * 2,
        })
        .sum();
    sum.is_multiple_of(10) && digits.bytes().any(|digit| digit != b'0')
}

fn ibans(text: &str) -> Vec<Range<usize>> {
    let groups = groups(text, |sign| sign.is_ascii_alphanumeric());
    runs(text, &groups, 34, |joined| {
        let bytes = joined.as_bytes();
        joined.len() >= 15
            && bytes[..2].iter().all(u8::is_ascii_alphabetic)
            && bytes[2..4].iter().all(u8::is_ascii_digit)
            && remainder_of_iban(joined) == 1
    })
}

/// The remainder of an account number divided by 97, with the country and the check digits moved to the end.
fn remainder_of_iban(iban: &str) -> u32 {
    let turned = iban[4..].bytes().chain(iban[..4].bytes());
    turned.fold(0, |remainder, byte| {
        match char::from(byte).to_digit(36).unwrap_or_default() {
            digit @ 0..=9 => (remainder * 10 + digit) % 97,
            letter => (remainder * 100 + letter) % 97,
        }
    })
}

fn addresses(text: &str) -> Vec<Range<usize>> {
    static V4: LazyLock<Regex> = LazyLock::new(|| {
        let part = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})";
        pattern(&format!(r"(?-u:\b){part}(?:\.{part}){{3}}(?-u:\b)"))
    });
    static V6: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*[0-9A-Fa-f:]"));
    let version = |span: &Range<usize>| {
        text[span.end..].starts_with('.')
            && text[span.end + 1..].starts_with(|sign: char| sign.is_ascii_digit())
            || text[..span.start].ends_with('.')
    };
    let v4 = V4.find_iter(text).map(|found| found.range());
    let v4 = v4.filter(|span| !version(span));
    let v6 = V6.find_iter(text).map(|found| {
        // A full stop or a colon at the end may belong to the sentence.
        let trimmed = found.as_str().trim_end_matches('.');
        let trimmed = match trimmed.ends_with("::") {
            true => trimmed,
            false => trimmed.trim_end_matches(':'),
        };
        found.start()..found.start() + trimmed.len()
    });
    let v6 = v6.filter(|span| {
        let text = &text[span.clone()];
        text.bytes().any(|byte| byte.is_ascii_digit()) && text.parse::<Ipv6Addr>().is_ok()
    });
    let found = v4.chain(v6);
    found.filter(|span| !is_in_a_word(text, span)).collect()
}

fn phones(text: &str) -> Vec<Range<usize>> {
    /// Digits in groups; the area code may be in brackets.
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?:(?:\+|\\u002[Bb])\s?)?\(?[0-9](?:[0-9]|[ \u{a0}\u{202f}\u{2009}\u{2010}\u{2011}./()-]{1,3}[0-9])+",
        )
    });
    static NORTH_AMERICAN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:1[ .-])?(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}$")
    });
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:[0-9]{1,2}[./-][0-9]{1,2}[./-](?:[0-9]{4}|[0-9]{2})|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2})(?:[^0-9]|$)",
        )
    });
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(?:phone|tel|telephone|telefon|mobile|mobil|cell|fax|call|whatsapp|reach me (?:at|on))\W{0,3}(?:number|no\.?|nr\.?)?\W{0,3}(?:is|at|on)?\W{0,3}$",
        )
    });
    let mut found = Vec::new();
    for number in NUMBER.find_iter(text) {
        let span = number.range();
        if is_in_a_word(text, &span) || DATE.is_match(number.as_str()) {
            continue;
        }
        let plain = unescaped(number.as_str());
        // Brackets around the whole number do not belong to it.
        let is_wrapped = plain.starts_with('(') && !plain.contains(')');
        let span = span.start + usize::from(is_wrapped)..span.end;
        let bare = plain.trim_start_matches('(');
        let digits = bare.bytes().filter(u8::is_ascii_digit).count();
        let is_phone = match bare {
            bare if bare.starts_with('+') => (8..=15).contains(&digits),
            bare if bare.starts_with("0.") => false,
            bare if bare.starts_with('0') => (9..=17).contains(&digits),
            bare => {
                let is_american = NORTH_AMERICAN.is_match(&plain) || NORTH_AMERICAN.is_match(bare);
                is_american || (7..=15).contains(&digits) && SAID.is_match(&text[..span.start])
            }
        };
        if is_phone {
            found.push(span);
        }
    }
    found
}

/// A telephone number whose JSON escape of `+` is decoded.
fn unescaped(number: &str) -> String {
    number.replace("\\u002b", "+").replace("\\u002B", "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        replaced(text, found(text, 0), &mut |place, _| {
            format!("[{} 1]", PersonalRule::ALL[place].name())
        })
    }

    #[test]
    fn every_kind_of_private_value_is_replaced_in_the_forms_in_which_people_write_it() {
        for (rule, values) in [
            (
                "email",
                &[
                    "anna@example.com",
                    "Anna.Lee+shop@mail.example.co.uk",
                    "müller@bücher.de",
                    "a%40example.com",
                    "a\\u0040example.com",
                    "o'neil@example.org",
                    "x_1@sub-domain.example.museum",
                    "用户@例子.中国",
                ][..],
            ),
            (
                "phone",
                &[
                    "+49 151 23456789",
                    "+49 151 23450004",
                    "+49 (0)30 123456-78",
                    "+1-202-555-0143",
                    "0049 30 1234567",
                    "(030) 1234567",
                    "030/1234567",
                    "0151 2345 6789",
                    "(202) 555-0143",
                    "202-555-0143",
                    "202.555.0143",
                    "1 202-555-0143",
                    "+44\u{a0}20\u{a0}7946\u{a0}0958",
                    "\\u002b4915123456789",
                ],
            ),
            (
                "card",
                &[
                    "4111111111111111",
                    "4111 1111 1111 1111",
                    "4111-1111-1111-1111",
                    "378282246310005",
                    "3782 822463 10005",
                    "6011000990139424",
                    "4111\u{a0}1111\u{a0}1111\u{a0}1111",
                    "2223 0000 4841 0010",
                ],
            ),
            (
                "iban",
                &[
                    "DE89370400440532013000",
                    "DE89 3704 0044 0532 0130 00",
                    "gb29 nwbk 6016 1331 9268 19",
                    "NO9386011117947",
                    "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
                ],
            ),
            (
                "ip",
                &[
                    "192.168.17.4",
                    "8.8.8.8",
                    "2001:db8::ff00:42:8329",
                    "fe80::1",
                    "::ffff:192.0.2.128",
                    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
                ],
            ),
            (
                "key",
                &[
                    "sk-proj-abcdefghijklmnop1234",
                    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
                    "AKIAIOSFODNN7EXAMPLE",
                    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
                    "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
                ],
            ),
        ] {
            for value in values {
                for (before, after) in [
                    ("", ""),
                    ("It is ", "."),
                    ("(", ")"),
                    ("<", ">, and"),
                    ("x: ", "\ny"),
                ] {
                    let text = format!("{before}{value}{after}");
                    let wanted = format!("{before}[{rule} 1]{after}");
                    assert_eq!(clean(&text), wanted, "{text}");
                }
            }
        }
        for named in [
            "password: hunter2!",
            "the password is hunter2!",
            "api_key=ab12cd34",
            "\"token\": \"ab12cd34\"",
            "see https://a.b/c?x=1&access_token=ab12.def-ghi",
            "token=ab12abcd",
        ] {
            let cleaned = clean(named);
            assert!(
                cleaned.contains("[key 1]")
                    && !cleaned.contains("hunter2")
                    && !cleaned.contains("ab12"),
                "{cleaned}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for text in [
            "On 2026-11-02 at 10:30:45, 01.02.2026, 3/4/2026 and 2026-01-02 10:30 it was 1,234.50.",
            "Version 1.2.3.4.5 and 300.1.2.3 of order 100200300, line 12 of 3456.",
            "4111111111111112 is no card, and DE89370400440532013001 no account.",
            "the password is incorrect; token: optional; a@b; @anna; a ratio of 3:4:5",
            "1700000000000 and 20261102103045 are times, ab4111111111111111 a digest; f(::) is code; std::fs::read, abc::def, 0.123456789",
            "It costs 1 000 000 or 12.345.678 dollars in 2026 and 2027.",
            "[email 1] and sk-learn and task-list",
            "npm install left-pad@1.3.0 from git@github.com:org/project.git",
            "max_token=100, a token is a word, token = next(); order AB12 for room 7",
            "DE893704004405320130001 is longer than an account of any country",
        ] {
            assert_eq!(clean(text), text);
        }
    }
}
