//! What stands beside a value in the JSON that a pipeline has written.

use serde_json::{Map, Value};

/// The fields that stand beside the value at a path: those of the object that contains it, then those of the objects
/// around that one, each without the field that leads to the value. None if nothing is at the path.
pub fn beside<'p>(
    whole: Value,
    path: impl Iterator<Item = &'p str>,
) -> Option<Vec<Map<String, Value>>> {
    let mut value = whole;
    let mut levels = Vec::new();
    for key in path {
        value = match value {
            Value::Object(mut fields) => {
                let inside = fields.remove(key)?;
                levels.push(fields);
                inside
            }
            Value::Array(mut items) => {
                let at = key.parse().ok().filter(|at| *at < items.len())?;
                items.swap_remove(at)
            }
            _ => return None,
        };
    }
    levels.reverse();
    Some(levels)
}
