//! Tells a key that is null from a key that is not there.

use serde::{Deserialize as _, Deserializer};
use serde_json::Value;

/// The value of a key that is there, also where the value is null.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
