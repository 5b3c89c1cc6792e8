//! A field of a JSON object, by the name that a person gives it: a key at the top, or a JSON pointer.

use serde_json::{Map, Value};

/// The value that a field names.
pub(super) fn at<'a>(object: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    let Some(pointer) = field.strip_prefix('/') else {
        return object.get(field);
    };
    let (first, rest) = match pointer.find('/') {
        Some(end) => pointer.split_at(end),
        None => (pointer, ""),
    };
    let first = first.replace("~1", "/").replace("~0", "~");
    object.get(&first)?.pointer(rest)
}

/// The name of a key at the top. A key that begins with `/` is written as a pointer.
pub(super) fn of_key(key: &str) -> String {
    match key.starts_with('/') {
        true => part(key),
        false => key.to_owned(),
    }
}

/// A key as a part of a pointer.
pub(super) fn part(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}
