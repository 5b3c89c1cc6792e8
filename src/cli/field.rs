//! A field of a JSON object, by the name that a person gives it: a key at the top, or a JSON pointer.

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
