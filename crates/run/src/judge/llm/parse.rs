//! Finds the only JSON object of an answer. Models often put it into prose or into a fenced block, which is accepted.
//! An ambiguous answer is rejected.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use kelvin_base::failure::{Failure, FailureKind};

/// How many characters of an answer a message shows at most.
const SHOWN: usize = 80;

/// The object of an answer.
///
/// The first brace of the text has to begin the object, and no other brace may follow the object. Prose with braces is
/// rare in answers. If the reader chose one of several objects, a text that the model repeats could contain its own
/// grade. Fails if there is no object, if there are several, or if the object contains a key twice.
pub(super) fn object(answer: &[u8]) -> Result<Map<String, Value>, Failure> {
    let unreadable = |what: String| Failure::new(FailureKind::GradeUnreadable, what);
    let ambiguous = |what: &str| Failure::new(FailureKind::GradeAmbiguous, what);
    let Ok(text) = std::str::from_utf8(answer) else {
        return Err(unreadable(
            "the answer of the judge is not UTF-8".to_owned(),
        ));
    };
    if text.trim().is_empty() {
        return Err(unreadable("the answer of the judge is empty".to_owned()));
    }
    let Some(begin) = text.find('{') else {
        let what = "the answer of the judge has no JSON object";
        return Err(unreadable(format!("{what}: `{}`", excerpt(text))));
    };
    let (before, from) = text.split_at(begin);
    let mut values = serde_json::Deserializer::from_str(from).into_iter::<Entries>();
    let entries = match values.next() {
        Some(Ok(entries)) => entries,
        Some(Err(error)) if error.to_string().starts_with(TWICE) => {
            return Err(ambiguous("a key stands twice in the answer of the judge"));
        }
        Some(Err(_)) | None => {
            let what = "the answer of the judge is not valid JSON";
            return Err(unreadable(format!("{what}: `{}`", excerpt(from))));
        }
    };
    let after = &from[values.byte_offset()..];
    if after.contains('{') {
        return Err(ambiguous(
            "the answer of the judge has more than one JSON object",
        ));
    }
    // An object inside a list or a string is not the requested form.
    let is_within =
        before.trim_end().ends_with(['[', '"']) || after.trim_start().starts_with([']', '"', '}']);
    if is_within {
        let what = "the JSON object in the answer of the judge stands within a list or a text";
        return Err(unreadable(format!("{what}: `{}`", excerpt(text))));
    }
    Ok(entries.0)
}

/// The beginning of a text in one line, for a message. The text comes from outside.
pub(super) fn excerpt(text: &str) -> String {
    let mut excerpt: String = text
        .trim()
        .chars()
        .take(SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.trim().chars().nth(SHOWN).is_some() {
        excerpt.push('…');
    }
    excerpt
}

/// The beginning of the error message for a key that occurs twice.
const TWICE: &str = "a key stands twice";

/// An object whose keys are distinct. The parser of `serde_json` would silently use the last of two equal keys.
struct Entries(Map<String, Value>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Map::new();
        let mut is_twice = false;
        while let Some(key) = map.next_key::<String>()? {
            if entries.contains_key(&key) {
                // The rest is still parsed: a truncated object is not valid JSON, whatever its keys are.
                is_twice = true;
                map.next_value::<IgnoredAny>()?;
            } else {
                entries.insert(key, map.next_value()?);
            }
        }
        match is_twice {
            true => Err(A::Error::custom(TWICE)),
            false => Ok(Entries(entries)),
        }
    }
}
