//! One value of a database.

use serde_json::Value;

/// A value with as much of its type as a comparison needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypedCell {
    /// No value.
    Null,
    /// True or false.
    #[cfg_attr(
        not(any(feature = "sql", test)),
        expect(dead_code, reason = "SQLite has none")
    )]
    Bool(bool),
    /// A number as the database writes it, which may have more digits than any number of this program.
    Number(String),
    /// JSON.
    #[cfg_attr(
        not(any(feature = "sql", test)),
        expect(dead_code, reason = "SQLite has none")
    )]
    Json(Value),
    /// A text; dates, UUIDs and every other type have the form that the database writes.
    Text(String),
}

impl TypedCell {
    /// Bytes, in the form that PostgreSQL writes.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self::Text(format!("\\x{digits}"))
    }

    /// Text that the database calls JSON.
    #[cfg(feature = "sql")]
    pub(super) fn json(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Text(text.to_owned()),
        }
    }
}
