//! Finds a value in the JSON object that a pipeline wrote. The rest of the object is checked, but never stored in
//! memory. If an output is not JSON, the message shows how it begins, since there are often logs before the JSON.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use kelvin_base::failure::{Failure, FailureKind};

/// The position of the decision in the JSON object that the pipeline writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionField {
    /// A key at the top level, taken literally.
    Key(String),
    /// A JSON pointer (RFC 6901), beginning with `/`.
    Pointer(String),
}

impl DecisionField {
    /// The field as the user wrote it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Key(text) | Self::Pointer(text) => text,
        }
    }
}

/// The value of a field in an output.
///
/// # Errors
///
/// Fails if the output is not JSON, is not an object, or has no such field.
pub fn find(bytes: &[u8], field: &DecisionField) -> Result<Value, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let message = format!(
            "its output is not UTF-8: byte {at}, in line {line}, is 0x{:02x}",
            bytes[at]
        );
        Failure::new(FailureKind::OutputNotJson, message)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Failure::new(
            FailureKind::OutputNotJson,
            "its output is empty",
        ));
    }
    pick(text, &path(field)).map_err(|miss| miss.explain(text, field))
}

/// The whole output, which need not be an object.
///
/// # Errors
///
/// Fails if the output is not JSON.
pub fn whole(bytes: &[u8]) -> Result<Value, Failure> {
    find(bytes, &DecisionField::Pointer(String::new()))
}

/// The fields beside a field in an output, first those of the object that contains it, then those of the objects around
/// it. There are none if the output has no such field.
pub fn beside(bytes: &[u8], field: &DecisionField) -> Vec<Map<String, Value>> {
    let path = path(field);
    let found = whole(bytes).ok();
    let found = found.and_then(|whole| kelvin_run::beside(whole, path.iter().map(String::as_str)));
    found.unwrap_or_default()
}

/// The keys on the path to the value. In a pointer `~1` is a slash and `~0` a tilde (RFC 6901).
fn path(field: &DecisionField) -> Vec<String> {
    match field {
        DecisionField::Key(key) => vec![key.clone()],
        DecisionField::Pointer(pointer) => pointer
            .split('/')
            .skip(1)
            .map(|key| key.replace("~1", "/").replace("~0", "~"))
            .collect(),
    }
}

/// The smallest output that has this value in a field.
pub fn smallest(value: &Value, field: &DecisionField) -> Vec<u8> {
    let around = |inside: Value, key: String| Value::Object([(key, inside)].into_iter().collect());
    let output = path(field).into_iter().rev().fold(value.clone(), around);
    output.to_string().into_bytes()
}

/// How many fields a message names at most.
const NAMES: usize = 12;
/// How many characters of each name a message shows at most.
const NAME_CHARS: usize = 40;

/// Why the field was not found.
enum Miss {
    /// The text is not JSON.
    NotJson(serde_json::Error),
    /// The text is JSON, but not an object.
    NotObject(&'static str),
    /// There is no such field.
    NoField(Trail),
}

/// The part of the path that exists in the output, and the value at its end.
#[derive(Default)]
struct Trail {
    /// The number of keys that were found.
    depth: usize,
    /// The type of the last value, if it is not an object.
    other: Option<&'static str>,
    /// The names of the first few fields of that value.
    names: Vec<String>,
    /// The number of its fields.
    fields: usize,
}

/// The value at `path`; for a key that occurs twice, the last value counts.
fn pick(text: &str, path: &[String]) -> Result<Value, Miss> {
    let seen = RefCell::new(Trail::default());
    let step = PathStep {
        path,
        depth: 0,
        seen: &seen,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let found = step
        .deserialize(&mut json)
        .and_then(|found| json.end().map(|()| found))
        .map_err(Miss::NotJson)?;
    let seen = seen.into_inner();
    match (found, seen.depth, seen.other) {
        (Some(value), ..) => Ok(value),
        (None, 0, Some(other)) => Err(Miss::NotObject(other)),
        _ => Err(Miss::NoField(seen)),
    }
}

/// A key of the path, for deserializing the value that should contain it.
#[derive(Clone, Copy)]
struct PathStep<'a> {
    path: &'a [String],
    depth: usize,
    seen: &'a RefCell<Trail>,
}

impl PathStep<'_> {
    fn next(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// Records the result of this step, which replaces those of earlier steps.
    fn note(self, other: Option<&'static str>) {
        *self.seen.borrow_mut() = Trail {
            depth: self.depth,
            other,
            ..Trail::default()
        };
    }
}

impl<'de> DeserializeSeed<'de> for PathStep<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        if self.depth == self.path.len() {
            return serde::Deserialize::deserialize(json).map(Some);
        }
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PathStep<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        self.note(None);
        let mut found = None;
        let (mut names, mut fields) = (Vec::new(), 0);
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if key == self.path[self.depth] {
                found = Some(map.next_value_seed(self.next())?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            fields += 1;
            if names.len() < NAMES {
                names.push(shown(&key));
            }
        }
        if found.is_none() {
            let mut seen = self.seen.borrow_mut();
            seen.names = names;
            seen.fields = fields;
        }
        Ok(found.flatten())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        self.note(Some("a list"));
        let wanted = index(&self.path[self.depth]).filter(|_| self.depth > 0);
        let mut found = None;
        let mut at = 0;
        loop {
            let more = if Some(at) == wanted {
                let value = list.next_element_seed(self.next())?;
                value.map(|value| found = value).is_some()
            } else {
                list.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(found);
            }
            at += 1;
        }
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
        self.note(Some("a boolean"));
        Ok(None)
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
        self.note(Some("a number"));
        Ok(None)
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
        self.note(Some("a number"));
        Ok(None)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
        self.note(Some("a number"));
        Ok(None)
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Self::Value, E> {
        self.note(Some("a string"));
        Ok(None)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        self.note(Some("null"));
        Ok(None)
    }
}

/// An index of a list, in the form of RFC 6901: digits without a leading zero.
fn index(key: &str) -> Option<usize> {
    let plain =
        key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'));
    key.parse().ok().filter(|_| plain)
}

/// The name of a field, shortened, and without characters that affect a terminal.
fn shown(name: &str) -> String {
    let mut shown: String = name
        .chars()
        .take(NAME_CHARS)
        .flat_map(|c| {
            let plain = !c.is_control() && c != '`';
            let escaped = (!plain).then(|| c.escape_unicode()).into_iter().flatten();
            escaped.chain(plain.then_some(c))
        })
        .collect();
    if name.chars().nth(NAME_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

impl Miss {
    /// This miss as a failure, with a message for people.
    fn explain(self, text: &str, field: &DecisionField) -> Failure {
        match self {
            Self::NotJson(error) => {
                Failure::new(FailureKind::OutputNotJson, not_json(&error, text))
            }
            Self::NotObject(other) => Failure::new(
                FailureKind::OutputNotObject,
                format!("its output is {other}, not a JSON object"),
            ),
            Self::NoField(trail) => {
                Failure::new(FailureKind::DecisionMissing, no_field(&trail, field))
            }
        }
    }
}

fn not_json(error: &serde_json::Error, text: &str) -> String {
    let (line, column) = (error.line(), error.column());
    let place = format!("line {line}, column {column}");
    let said = error.to_string();
    let reason = said.split(" at line ").next().unwrap_or_default();
    let rest = text.lines().nth(line.saturating_sub(1)).and_then(|line| {
        // The parser stopped at this column, which may be inside the word `NaN`.
        line.get(column.saturating_sub(2).min(line.len())..)
    });
    let not_finite = ["NaN", "Infinity"]
        .into_iter()
        .find(|word| rest.is_some_and(|rest| begins_soon(rest, word)));
    if let Some(word) = not_finite {
        return format!(
            "its output is not JSON: {place} has `{word}`, which JSON does not know; write null or \
             a number"
        );
    }
    match reason {
        "recursion limit exceeded" => {
            format!("its output is nested too deeply: more than 128 levels at {place}")
        }
        "number out of range" => {
            format!("its output has a number at {place} that is too large to compare")
        }
        _ => format!(
            "its output is not JSON: {reason} at {place}{}",
            beginning_hint(text)
        ),
    }
}

/// Whether a word begins within the next characters, e.g. after a minus sign.
fn begins_soon(text: &str, word: &str) -> bool {
    text.char_indices()
        .take(3)
        .any(|(at, _)| text[at..].starts_with(word))
}

fn no_field(seen: &Trail, field: &DecisionField) -> String {
    let wanted = shown(field.as_str());
    let place = match (field, seen.depth) {
        (DecisionField::Key(_), _) | (_, 0) => "it".to_owned(),
        (DecisionField::Pointer(pointer), depth) => {
            let end = pointer
                .match_indices('/')
                .nth(depth)
                .map_or(pointer.len(), |(at, _)| at);
            format!("`{}`", shown(&pointer[..end]))
        }
    };
    let there = match (seen.other, seen.fields) {
        (Some(other), _) => format!("{place} is {other}"),
        (None, 0) => format!("{place} has no fields"),
        (None, fields) => {
            let names = seen.names.join("`, `");
            let more = match fields - seen.names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{place} has `{names}`{more}")
        }
    };
    format!("its output has no field `{wanted}`; {there}")
}

/// How many characters of the first line are shown.
const SHOWN: usize = 60;
/// How many lines are searched for the beginning of JSON after logs.
const LINES: usize = 200;

/// A hint for the message that the output is not JSON; empty if the output begins like an object, since then the
/// position of the error is more useful.
fn beginning_hint(text: &str) -> String {
    let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return String::new();
    };
    if first.starts_with('{') {
        return String::new();
    }
    let begins = match beginning(first) {
        line if line.is_empty() => String::new(),
        line => format!("; it begins with `{line}`"),
    };
    match line_of_json(text) {
        None => begins,
        Some(line) => format!(
            "{begins}; JSON follows in line {line}: does the pipeline print logs before it? Print them on \
             standard error, or write the JSON alone to the file `{{output}}`"
        ),
    }
}

/// The beginning of a line without characters that could affect a terminal. Secrets are masked as whole words, so a
/// word that would be cut is left out.
fn beginning(line: &str) -> String {
    let tame = |c: char| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let Some((end, next)) = line.char_indices().nth(SHOWN) else {
        return line.chars().map(tame).collect();
    };
    let whole = match next.is_whitespace() {
        true => end,
        false => line[..end].rfind(char::is_whitespace).unwrap_or(0),
    };
    let shown: String = line[..whole].trim_end().chars().map(tame).collect();
    match shown.as_str() {
        "" => shown,
        _ => format!("{shown}…"),
    }
}

/// The line, from 1, and the beginning of an object that fills the rest of the text; none if there is no such object.
fn line_of_json(text: &str) -> Option<usize> {
    let mut rest = text;
    for line in 1..=LINES {
        if rest.trim_start().starts_with('{') && rest.starts_with(['{', ' ', '\t']) {
            let mut json = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            if json.next().is_some_and(|value| value.is_ok()) {
                return Some(line);
            }
        }
        rest = &rest[rest.find('\n')? + 1..];
    }
    None
}

#[cfg(test)]
mod tests;
