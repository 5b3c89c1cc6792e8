//! The choice of fields: a person is shown the first record, and says what each field is.

use serde_json::{Map, Value};

use super::answers::is_answer;
use super::mapping::{Mapping, UnitField};
use crate::cli::ask;
use crate::cli::ask::{Ask, Back};
use kelvin_base::exit::Misuse;
use kelvin_gate::reproduce::quoted;
use kelvin_page::safe;

/// Every field of a record with the beginning of its value.
fn preview(record: &Map<String, Value>) -> Vec<String> {
    let names: Vec<String> = record
        .keys()
        .map(|key| safe::cut(&safe::line(key), 32))
        .collect();
    let width = names.iter().map(|name| safe::columns(name)).max();
    let width = width.unwrap_or_default();
    let lines = names.iter().zip(record.values());
    lines
        .map(|(name, value)| {
            let gap = " ".repeat(width - safe::columns(name) + 2);
            let told = match value {
                Value::Array(items) => format!("a list of {}: ", items.len()),
                _ => String::new(),
            };
            format!("{name}{gap}{told}{}", safe::cut(&value.to_string(), 70))
        })
        .collect()
}

/// What is missing where nobody can be asked.
pub(super) fn missing(record: &Map<String, Value>) -> Misuse {
    let lines: Vec<String> = preview(record)
        .iter()
        .map(|line| format!("\n    {line}"))
        .collect();
    let mut keys = record.keys().filter(|key| *key != "id");
    let first = keys.find(|key| !is_answer(key));
    Misuse::new(format!(
        "which fields are the units of a case is not known; the first record has:{}",
        lines.concat()
    ))
    .help(format!(
        "add e.g. `--units {}`, once for each field; `--id` names the field of the name of the case, and \
         `--preamble` the one that stands first",
        quoted(first.map_or("rule", String::as_str))
    ))
}

/// Asks for what no flag says.
pub(super) fn choose(
    record: &Map<String, Value>,
    given: &Mapping,
    ask: &dyn Ask,
) -> anyhow::Result<Mapping> {
    let mut mapping = given.clone();
    let mut step = 0;
    let mut answered: Vec<usize> = Vec::new();
    while step < 4 {
        let is_given = match step {
            0 => given.id.is_some(),
            1 => given.preamble.is_some(),
            2 => !given.units.is_empty(),
            _ => given.text_key.is_some() || items(record, &mapping).is_none(),
        };
        if is_given {
            step += 1;
            continue;
        }
        let ended = match step {
            0 => one(
                record,
                "Which field is the name of the case?",
                "none: number the cases",
                ask,
            )
            .map(|field| mapping.id = field),
            1 => one(
                record,
                "Which field stands before the units, such as a question?",
                "none",
                ask,
            )
            .map(|field| mapping.preamble = field),
            2 => several(record, &mapping, ask).map(|units| mapping.units = units),
            _ => keys(record, &mut mapping, ask),
        };
        match ended {
            Ok(()) => {
                answered.push(step);
                step += 1;
            }
            Err(error) => {
                let Back = error.downcast::<Back>()?;
                step = answered.pop().ok_or(Back)?;
            }
        }
    }
    Ok(mapping)
}

fn one(
    record: &Map<String, Value>,
    question: &str,
    none: &str,
    ask: &dyn Ask,
) -> anyhow::Result<Option<String>> {
    let mut choices = preview(record);
    choices.push(none.to_owned());
    let names: Vec<&String> = record.keys().collect();
    let is_id = |name: &&String| name.eq_ignore_ascii_case("id") && question.contains("name");
    let default = names.iter().position(is_id).unwrap_or(names.len());
    let place = ask::one(ask, question, &choices, Some(default))?;
    Ok(names.get(place).map(|name| pointer(name)))
}

fn several(
    record: &Map<String, Value>,
    mapping: &Mapping,
    ask: &dyn Ask,
) -> anyhow::Result<Vec<UnitField>> {
    let names: Vec<String> = record.keys().map(|name| pointer(name)).collect();
    let rest = names.iter().enumerate().filter(|(_, name)| {
        mapping.id.as_ref() != Some(name) && mapping.preamble.as_ref() != Some(name)
    });
    // What gives the answer away is a unit only where somebody wants it.
    let default: Vec<usize> = rest
        .filter(|(_, name)| !is_answer(name))
        .map(|(place, _)| place)
        .collect();
    if default.is_empty() {
        ask.show(&[
            "Every field that is left is the right answer, by its name. A unit stands in the input, where the pipeline \
             can copy it. Type < to choose anew: the question can be a unit too."
                .to_owned(),
        ]);
    }
    let question = "Which fields are units? Each item of a list becomes one";
    let places = ask::several(ask, question, &preview(record), &default)?;
    let unit = |place: usize| UnitField {
        field: names[place].clone(),
        heading: None,
    };
    Ok(places.into_iter().map(unit).collect())
}

/// The first object in a list of the units.
fn items<'a>(record: &'a Map<String, Value>, mapping: &Mapping) -> Option<&'a Map<String, Value>> {
    let lists = mapping
        .units
        .iter()
        .filter_map(|unit| crate::cli::field::at(record, &unit.field)?.as_array());
    lists.flatten().find_map(Value::as_object)
}

fn keys(record: &Map<String, Value>, mapping: &mut Mapping, ask: &dyn Ask) -> anyhow::Result<()> {
    let Some(item) = items(record, mapping) else {
        return Ok(());
    };
    let names: Vec<&String> = item.keys().collect();
    let mut choices = preview(item);
    choices.push("none: the whole object, as JSON".to_owned());
    let place = ask::one(ask, "Which key of an item is its text?", &choices, None)?;
    mapping.text_key = names.get(place).map(|name| (*name).clone());
    choices.pop();
    choices.push("none: the name of the field".to_owned());
    let place = ask::one(
        ask,
        "Which key of an item is its heading, the type of the unit?",
        &choices,
        None,
    )?;
    mapping.heading_key = names.get(place).map(|name| (*name).clone());
    Ok(())
}

/// A key as a field: one that begins with `/` has to be a pointer.
fn pointer(key: &str) -> String {
    match key.starts_with('/') {
        true => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        false => key.to_owned(),
    }
}
