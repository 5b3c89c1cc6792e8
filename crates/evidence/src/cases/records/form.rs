//! A case that is a record: its JSON text, and where the texts of its units stand in it.

use std::ops::Range;
use std::sync::Arc;

/// A case that is a record of a file with many.
#[derive(Debug)]
pub struct RecordForm {
    /// The JSON text of the record, as the pipeline gets it.
    pub document: String,
    /// Where each unit stands in the document, in the order of the units.
    pub slots: Vec<Slot>,
    /// The arrays that have units as their elements, by their numbers.
    pub lists: Vec<RecordList>,
    /// What the configuration calls the turns; none where the record is one input, or its turns are one of the arrays.
    pub turns: Option<Arc<str>>,
}

/// Where a unit stands in the document of its case.
#[derive(Clone, Debug)]
pub struct Slot {
    /// What changes its place with the unit: an element of an array with all its fields. Of a unit that stays where it
    /// is, this is its text.
    pub element: Range<usize>,
    /// The text of the unit, as JSON.
    pub value: Range<usize>,
}

/// An array that has units as its elements.
#[derive(Clone, Debug)]
pub struct RecordList {
    /// What the configuration calls it.
    pub name: Arc<str>,
    /// Whether its elements are texts and no objects, so that any text can be one of them.
    pub takes_texts: bool,
    /// Whether its elements are messages of a conversation.
    pub is_chat: bool,
}

impl RecordForm {
    /// The JSON text of a value in whose place a new text comes: a number stays one where the new text is one.
    pub fn value_of(&self, slot: &Slot, text: &str) -> String {
        let was_text = self.document[slot.value.clone()].starts_with('"');
        let same_type = |value: &serde_json::Value| value.is_number() || value.is_boolean();
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if !was_text && same_type(&value) => text.trim().to_owned(),
            _ => serde_json::Value::from(text).to_string(),
        }
    }
}
