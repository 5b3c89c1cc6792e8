//! The names and titles of hits, as people see them.

use kelvin_page::safe;

/// How many columns of the title of a hit, or of its text, a record keeps.
pub(super) const TITLE: usize = 80;

/// The part of a title that is kept, at most `most` columns; none where nothing of the title can be shown.
pub(super) fn title_of(text: &str, most: usize) -> Option<String> {
    let title = safe::cut(text, most);
    (most > 0 && !title.is_empty()).then_some(title)
}

/// A chunk and its document in one name, for people. Most names of chunks begin with that of their document, which is
/// then not repeated.
pub(super) fn named(doc: &str, chunk: Option<&str>) -> String {
    match chunk {
        None => doc.to_owned(),
        Some(chunk) if chunk.starts_with(doc) => chunk.to_owned(),
        Some(chunk) => format!("{doc}#{chunk}"),
    }
}
