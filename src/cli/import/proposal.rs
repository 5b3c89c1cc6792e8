//! What the fields of a file seem to be, by their names. Nobody is asked: a person reads the proposal and changes it.

use serde_json::{Map, Value};

use super::mapping::{Mapping, UnitField};
use crate::cli::field;
use kelvin_page::safe;

/// The names of a field that names the case.
const IDS: [&str; 4] = ["id", "case_id", "case", "name"];
/// The names of a field that stands before the units.
const PREAMBLES: [&str; 6] = ["question", "query", "prompt", "task", "instruction", "q"];
/// Where the items of a list are objects: the keys of what a unit says.
const TEXTS: [&str; 4] = ["text", "content", "body", "passage"];
/// Where the items of a list are objects: the keys of the type of a unit.
const HEADINGS: [&str; 3] = ["heading", "type", "kind"];

/// What the fields of the first record seem to be. There may be no unit among them.
pub(super) fn proposal(record: &Map<String, Value>) -> Mapping {
    let named = |names: &[&str], object: &Map<String, Value>| {
        let has = |name: &&&str| object.keys().any(|key| key.eq_ignore_ascii_case(name));
        let name = names.iter().find(has)?;
        let mut keys = object.keys();
        keys.find(|key| key.eq_ignore_ascii_case(name)).cloned()
    };
    let is_single = |key: &String| record[key].is_string() || record[key].is_number();
    let id = named(&IDS, record).filter(is_single);
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

/// Words with which the name of a right answer begins, as in `expected`, `answers` and `golden`.
const BEGINNINGS: [&str; 8] = [
    "expected",
    "answer",
    "gold",
    "reference",
    "label",
    "correct",
    "groundtruth",
    "solution",
];
/// Words that name a right answer only as they are.
const WHOLE: [&str; 4] = ["target", "targets", "truth", "ideal"];

/// Whether a field is the right answer, by any word of its name, as in `expected_doc`, `goldAnswer` and
/// `/meta/ground-truth`. In the input of a pipeline such a field gives the answer away.
pub(super) fn is_answer(field: &str) -> bool {
    words(field).iter().any(|word| {
        WHOLE.contains(&&**word) || BEGINNINGS.iter().any(|begin| word.starts_with(begin))
    })
}

/// The words of a name, in lower case. A sign that is no letter ends a word, and a capital begins one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        // `goldAnswer` and `QAAnswer`: the last of several capitals belongs to the word behind it.
        let begins = sign.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && signs.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !sign.is_alphabetic() {
            words.push(String::new());
        }
        if sign.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(sign.to_lowercase());
        }
        before = sign;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_answer;

    #[test]
    fn a_name_with_a_word_for_the_right_answer_is_known_in_every_way_to_write_it() {
        for name in [
            "expected_doc",
            "expected_answer",
            "ExpectedAnswer",
            "EXPECTED",
            "goldAnswer",
            "golden",
            "QAAnswer",
            "answers",
            "reference-text",
            "/meta/ground_truth",
            "groundTruth",
            "GROUNDTRUTH",
            "label2",
            "2nd label",
            "target",
            "correct_option",
            "solution",
        ] {
            assert!(is_answer(name), "{name}");
        }
        for name in [
            "question",
            "unexpected",
            "marigold",
            "preference",
            "targeting",
            "rule",
            "facts",
            "context",
            "id",
            "",
            "_",
            "é",
        ] {
            assert!(!is_answer(name), "{name}");
        }
    }
}
