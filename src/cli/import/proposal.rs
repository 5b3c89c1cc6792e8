//! Guesses the meaning of the fields of a file by their names. Nobody is asked: a person reads the proposal and changes
//! it.

use serde_json::{Map, Value};

use super::mapping::{Mapping, UnitField, is_answer};
use super::messages::is_conversation;
use crate::cli::field;
use kelvin_page::safe;

/// Names of a field that holds the name of the case.
const IDS: [&str; 4] = ["id", "case_id", "case", "name"];
/// Names of a field with the text before the units.
const PREAMBLES: [&str; 6] = ["question", "query", "prompt", "task", "instruction", "q"];
/// Where the items of a list are objects: the keys of the text of a unit.
const TEXTS: [&str; 4] = ["text", "content", "body", "passage"];
/// Where the items of a list are objects: the keys of the type of a unit.
const HEADINGS: [&str; 3] = ["heading", "type", "kind"];

/// The probable meaning of the fields of the first record. There may be no unit among them.
pub(super) fn proposal(record: &Map<String, Value>) -> Mapping {
    let named = |names: &[&str], object: &Map<String, Value>| {
        let has = |name: &&&str| object.keys().any(|key| key.eq_ignore_ascii_case(name));
        let name = names.iter().find(has)?;
        let mut keys = object.keys();
        keys.find(|key| key.eq_ignore_ascii_case(name)).cloned()
    };
    let is_single = |key: &String| record[key].is_string() || record[key].is_number();
    let id = named(&IDS, record).filter(is_single);
    let conversation = record.iter().find(|(_, value)| is_conversation(value));
    if let Some((messages, _)) = conversation {
        let system = "system".to_owned();
        return Mapping {
            id: id.as_deref().map(field::of_key),
            preamble: record
                .get(&system)
                .is_some_and(Value::is_string)
                .then_some(system),
            messages: Some(field::of_key(messages)),
            ..Mapping::default()
        };
    }
    let mut preamble = named(&PREAMBLES, record).filter(is_single);
    let is_rest = |key: &&String| id.as_ref() != Some(key) && preamble.as_ref() != Some(key);
    let rest = record.keys().filter(is_rest);
    let mut units: Vec<String> = rest.filter(|key| !is_answer(key)).cloned().collect();
    if units.is_empty() {
        units.extend(preamble.take());
    }
    let lists = units.iter().filter_map(|unit| record[unit].as_array());
    let item = lists.flatten().find_map(Value::as_object);
    Mapping {
        id: id.as_deref().map(field::of_key),
        preamble: preamble.as_deref().map(field::of_key),
        expected: None,
        messages: None,
        units: units.iter().map(|key| UnitField::of_key(key)).collect(),
        text_key: item.and_then(|item| named(&TEXTS, item)),
        heading_key: item.and_then(|item| named(&HEADINGS, item)),
    }
}

/// Every field of a record with the beginning of its value, a line each.
pub(super) fn fields(record: &Map<String, Value>) -> String {
    let name = |key: &String| safe::cut(&safe::line(key), 32);
    let width = record.keys().map(|key| safe::columns(&name(key))).max();
    let lines = record.iter().map(|(key, value)| {
        let name = name(key);
        let gap = " ".repeat(width.unwrap_or_default() - safe::columns(&name) + 2);
        let length = match value {
            Value::Array(items) => format!("a list of {}: ", items.len()),
            _ => String::new(),
        };
        let value = safe::cut(&value.to_string(), 70);
        format!("\n    {name}{gap}{length}{value}")
    });
    lines.collect()
}
