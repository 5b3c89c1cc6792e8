//! The name of a unit type, as the configuration and the headings of the cases write it.

use unicode_normalization::UnicodeNormalization as _;

/// The type of the units under a heading: trimmed, in lower case, runs of white space as `_`.
/// Composed and decomposed letters (Unicode NFC and NFD) make the same type.
pub fn unit_type(heading: &str) -> String {
    // ASCII has no composed letters, and most headings are ASCII.
    if heading.is_ascii() {
        let mut name = String::with_capacity(heading.len());
        for word in heading.split_whitespace() {
            if !name.is_empty() {
                name.push('_');
            }
            name.extend(
                word.bytes()
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
        }
        return name;
    }
    let composed: String = heading.nfc().collect();
    let words: Vec<String> = composed.split_whitespace().map(str::to_lowercase).collect();
    words.join("_")
}
