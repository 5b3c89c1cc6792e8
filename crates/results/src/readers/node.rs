//! A value of a JSON file that knows its position, so that errors can name it.

use std::fmt::Display;
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use serde_json::Value;

use super::ReadError;

/// A value and its position in a file.
#[derive(Clone)]
pub(super) struct Node<'a> {
    file: &'a Path,
    place: String,
    value: &'a Value,
}

const EDITED: &str = "let the evaluator write the file again, and do not edit it";

impl<'a> Node<'a> {
    pub(super) fn new(file: &'a Path, place: impl Into<String>, value: &'a Value) -> Self {
        let place = place.into();
        Self { file, place, value }
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// The value of a key; none if it is missing, or `null`.
    pub(super) fn find(&self, key: &str) -> Result<Option<Self>, ReadError> {
        let Value::Object(entries) = self.value else {
            return Err(self.wrong("an object"));
        };
        let value = entries.get(key).filter(|value| !value.is_null());
        Ok(value.map(|value| self.inner(key, value)))
    }

    /// The value of a key that has to exist, though it may be `null`.
    pub(super) fn need(&self, key: &str) -> Result<Self, ReadError> {
        let Value::Object(entries) = self.value else {
            return Err(self.wrong("an object"));
        };
        match entries.get(key) {
            Some(value) => Ok(self.inner(key, value)),
            None => {
                let found = format!("`{key}` is missing");
                Err(self.refuse(found, EDITED))
            }
        }
    }

    fn inner(&self, key: &str, value: &'a Value) -> Self {
        let is_begun = !self.place.is_empty() && !self.place.ends_with(": ");
        let dot = if is_begun { "." } else { "" };
        Self::new(self.file, format!("{}{dot}{key}", self.place), value)
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn text(&self) -> Result<&'a str, ReadError> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    pub(super) fn flag(&self) -> Result<bool, ReadError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn number(&self) -> Result<f64, ReadError> {
        self.value.as_f64().ok_or_else(|| self.wrong("a number"))
    }

    /// A score; none if it is `null`, which may also mean NaN.
    pub(super) fn score(&self) -> Result<Option<f64>, ReadError> {
        if self.is_null() {
            return Ok(None);
        }
        self.number().map(Some)
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self) -> Result<u32, ReadError> {
        let count = self
            .value
            .as_u64()
            .and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| self.wrong("a whole number from 0"))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, ReadError> {
        let Value::Array(items) = self.value else {
            return Err(self.wrong("a list"));
        };
        let numbered = items.iter().enumerate();
        let node = |(index, value)| Self::new(self.file, format!("{}[{index}]", self.place), value);
        Ok(numbered.map(node).collect())
    }

    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>, ReadError> {
        let Value::Object(entries) = self.value else {
            return Err(self.wrong("an object"));
        };
        let node = |(key, value): (&'a String, &'a Value)| (key.as_str(), self.inner(key, value));
        Ok(entries.iter().map(node).collect())
    }

    /// A string unchanged, and any other value as JSON.
    pub(super) fn shown(&self) -> String {
        match self.value {
            Value::String(text) => text.clone(),
            _ => self.canonical(),
        }
    }

    /// The value as JSON with its keys in order, so that equal values have equal texts.
    pub(super) fn canonical(&self) -> String {
        canonical(self.value)
    }

    pub(super) fn digest(&self, purpose: &str) -> Digest {
        Fields::of(purpose)
            .field("value", self.canonical())
            .digest()
    }

    /// An error at this position.
    pub(super) fn refuse(&self, found: impl Display, help: &str) -> ReadError {
        ReadError::new(self.file, &self.place, found, help)
    }

    /// The error that the value is none of the allowed ones.
    pub(super) fn wrong(&self, expected: &str) -> ReadError {
        let found = super::cut(&self.canonical(), 60);
        self.refuse(format!("`{found}` is not {expected}"), EDITED)
    }
}

fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
}
