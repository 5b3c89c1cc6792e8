//! A key that may be null is not the same as one that is not there.

use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

/// A value that is there, also where it is null.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
