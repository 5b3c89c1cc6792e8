//! Replacements in a text, by byte ranges.

use std::ops::Range;

/// Replacements that do not overlap, in the order of the text.
pub(super) type Edits = Vec<(Range<usize>, String)>;

/// The text after the replacements.
pub(super) fn apply(text: &str, edits: &Edits) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut end = 0;
    for (range, new) in edits {
        out.push_str(&text[end..range.start]);
        out.push_str(new);
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}
