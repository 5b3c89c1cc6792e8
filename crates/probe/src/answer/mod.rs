//! Finds a value in the JSON object that a pipeline wrote, without holding the rest of it.

mod pick;

use serde_json::{Map, Value};

use kelvin_base::failure::{Failure, FailureKind};

/// The place of the decision in the JSON object that the pipeline writes.
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
/// Where the output is not JSON, not an object, or has no such field.
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
    pick::pick(text, &path(field)).map_err(|miss| miss.explain(text, field))
}

/// The whole output, which need not be an object.
///
/// # Errors
///
/// Where the output is not JSON.
pub fn whole(bytes: &[u8]) -> Result<Value, Failure> {
    find(bytes, &DecisionField::Pointer(String::new()))
}

/// The object that a field stands in, without the field; none where the output has no such object.
pub fn beside(bytes: &[u8], field: &DecisionField) -> Option<Map<String, Value>> {
    let mut path = path(field);
    let key = path.pop()?;
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match pick::pick(text, &path).ok()? {
        Value::Object(mut fields) => {
            fields.remove(&key);
            Some(fields)
        }
        _ => None,
    }
}

/// The keys that lead to the value. In a pointer `~1` is a slash and `~0` a tilde (RFC 6901).
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

#[cfg(test)]
mod tests;
