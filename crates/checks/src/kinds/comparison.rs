//! A single comparison of an observed value with an expected one.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use super::{pattern, shown};
use crate::keys::AssertionKeys;
use crate::same::same;
use crate::services::http_mock::FieldSeen;

/// A comparison with its expected value.
#[derive(Clone, Debug)]
pub(super) enum ExpectedComparison {
    Equals(Value),
    Contains(Value),
    NotContains(Value),
    Matches(Regex),
    AtLeast(f64),
    AtMost(f64),
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comes {
    /// The comparison holds.
    True,
    /// The comparison does not hold.
    False,
    /// There are no values to compare, so neither the comparison nor its opposite is true.
    Nothing,
    /// It is not known whether the comparison holds.
    Unknown,
}

impl Comes {
    const fn of(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl ExpectedComparison {
    /// The only comparison of an assertion. Fails if the assertion has no comparison or several, or with the problem of
    /// its comparison.
    pub(super) fn of(keys: &AssertionKeys) -> Result<Self, String> {
        let matches = keys.matches.as_deref().map(pattern).transpose()?;
        let given = [
            keys.equals.clone().map(Self::Equals),
            keys.contains.clone().map(Self::Contains),
            keys.not_contains.clone().map(Self::NotContains),
            matches.map(Self::Matches),
            keys.gte.map(Self::AtLeast),
            keys.lte.map(Self::AtMost),
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(
                "nothing is compared: add one of `equals`, `contains`, `not_contains`, `matches`, \
                 `gte` and `lte`"
                    .to_owned(),
            ),
            (Some(_), Some(_)) => {
                Err("there is more than one comparison: write an assertion for each".to_owned())
            }
        }
    }

    /// The expected value, in the words of the file.
    pub(super) fn expected_text(keys: &AssertionKeys) -> String {
        let json = |value: &Option<Value>| value.as_ref().map(|value| shown(&value.to_string()));
        let texts = [
            json(&keys.equals).map(|value| format!("`{value}`")),
            json(&keys.contains).map(|value| format!("something with `{value}` in it")),
            json(&keys.not_contains).map(|value| format!("something without `{value}` in it")),
            keys.matches
                .as_ref()
                .map(|pattern| format!("a match of `{}`", shown(pattern))),
            keys.gte.map(|least| format!("at least {least}")),
            keys.lte.map(|most| format!("at most {most}")),
        ];
        texts.into_iter().flatten().collect()
    }

    /// Compares an observed value; `ignores_case` says whether upper and lower case are equal.
    pub(super) fn look(&self, seen: &FieldSeen, ignores_case: bool) -> Comes {
        match seen {
            FieldSeen::Nothing(_) => Comes::Nothing,
            FieldSeen::Unknown(_) => Comes::Unknown,
            FieldSeen::Value(value) => self.value(value, ignores_case),
            FieldSeen::Body { texts, is_text } => self.body(texts, *is_text),
        }
    }

    fn value(&self, value: &Value, ignores_case: bool) -> Comes {
        match self {
            Self::Equals(Value::String(wanted)) if ignores_case => Comes::of(
                value
                    .as_str()
                    .is_some_and(|text| text.eq_ignore_ascii_case(wanted)),
            ),
            Self::Equals(wanted) => Comes::of(same(value, wanted)),
            Self::Contains(wanted) => has(value, wanted).map_or(Comes::Nothing, Comes::of),
            Self::NotContains(wanted) => {
                has(value, wanted).map_or(Comes::Nothing, |has| Comes::of(!has))
            }
            Self::Matches(pattern) => Comes::of(pattern.is_match(&text(value))),
            Self::AtLeast(least) => Comes::of(number(value).is_some_and(|n| n >= *least)),
            Self::AtMost(most) => Comes::of(number(value).is_some_and(|n| n <= *most)),
        }
    }

    fn body(&self, texts: &[String], is_text: bool) -> Comes {
        let has = |wanted: &Value| {
            let wanted = text(wanted);
            texts.iter().any(|text| text.contains(&*wanted))
        };
        let sent = texts.first().map_or("", String::as_str);
        // If a text is not found in bytes, it may still be there in another encoding.
        let absent = if is_text {
            Comes::False
        } else {
            Comes::Unknown
        };
        match self {
            Self::Equals(Value::String(wanted)) => Comes::of(sent.trim() == wanted.trim()),
            Self::Equals(wanted) => {
                let value = serde_json::from_str::<Value>(sent);
                Comes::of(value.is_ok_and(|value| same(&value, wanted)))
            }
            Self::Contains(wanted) if has(wanted) => Comes::True,
            Self::NotContains(wanted) if has(wanted) => Comes::False,
            Self::Matches(pattern) if texts.iter().any(|text| pattern.is_match(text)) => {
                Comes::True
            }
            Self::Contains(_) | Self::Matches(_) => absent,
            Self::NotContains(_) if is_text => Comes::True,
            Self::NotContains(_) => Comes::Unknown,
            Self::AtLeast(_) | Self::AtMost(_) => self.value(&sent.into(), false),
        }
    }
}

/// Whether a text contains a text, a list an item, or an object a key; none for a value of another kind.
fn has(value: &Value, wanted: &Value) -> Option<bool> {
    match value {
        Value::String(text) => Some(text.contains(&*self::text(wanted))),
        Value::Array(items) => Some(items.iter().any(|item| same(item, wanted))),
        Value::Object(entries) => Some(entries.contains_key(&*self::text(wanted))),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A value as a text: a string unchanged, any other value as JSON.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    }
}

/// A number, even if it is a string, as every number in a header is.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}
