//! A path into JSON, such as `items[0].name` or `items.0.name`.

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dotted {
    written: String,
    steps: Vec<String>,
}

impl Dotted {
    /// Reads a path. Fails with what is wrong with the path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no path into JSON: write it as `items[0].name`");
        let mut steps = Vec::new();
        for part in text.split('.') {
            let mut pieces = part.split('[');
            let name = pieces.next().unwrap_or_default();
            // `a.[0]` is a mistake, but for a body that is a list the path begins with `[0]`.
            if !name.is_empty() {
                steps.push(name.to_owned());
            } else if !part.starts_with('[') || !steps.is_empty() {
                return Err(wrong());
            }
            for piece in pieces {
                let index = piece.strip_suffix(']').ok_or_else(wrong)?;
                let is_number = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
                if !is_number {
                    return Err(wrong());
                }
                steps.push(index.to_owned());
            }
        }
        Ok(Self {
            written: text.to_owned(),
            steps,
        })
    }

    /// The value at the path.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.steps
            .iter()
            .try_fold(value, |value, step| match value {
                Value::Object(entries) => entries.get(step),
                Value::Array(items) => items.get(step.parse::<usize>().ok()?),
                _ => None,
            })
    }

    /// The path as it was written.
    pub(super) fn text(&self) -> &str {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_at_any_depth_and_slips_are_told() {
        let value = json!({"to": "a", "items": [{"n": 1}, {"n": null}], "0": {"x": 2}});
        for (path, found) in [
            ("to", Some(json!("a"))),
            ("items[0].n", Some(json!(1))),
            ("items.0.n", Some(json!(1))),
            ("items[1].n", Some(json!(null))),
            ("items[2].n", None),
            ("items.n", None),
            ("0.x", Some(json!(2))),
            ("to.x", None),
        ] {
            let dotted = Dotted::parse(path).expect("it is a path");
            assert_eq!(dotted.find(&value), found.as_ref(), "{path}");
        }
        let list = json!([[5]]);
        let dotted = Dotted::parse("[0][0]").expect("it is a path");
        assert_eq!(dotted.find(&list), Some(&json!(5)));
        for path in [
            "", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a.[0]", "a][",
        ] {
            assert!(Dotted::parse(path).is_err(), "{path}");
        }
    }
}
