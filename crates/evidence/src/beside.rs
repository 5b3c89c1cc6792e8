//! What an output says beside its decision, such as a reason or citations, for people who look at another decision. It
//! is in no figure, and never tells whether two answers are the same.

use std::collections::BTreeMap;

use serde_json::Value;

use kelvin_probe::{DecisionField, answer};

/// The most fields of an output that are kept.
const FIELDS: usize = 4;

/// The most characters of a field that are kept.
const MOST: usize = 200;

/// The most characters of the name of a field.
const NAME: usize = 60;

/// The first fields beside the decision, by name. Fields that say nothing are left out.
pub(super) fn fields(output: &[u8], decision: &DecisionField) -> BTreeMap<String, String> {
    let fields = answer::beside(output, decision).unwrap_or_default();
    let told = fields.into_iter().filter_map(|(name, value)| {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text,
            other => other.to_string(),
        };
        let text = beginning(text.trim(), MOST);
        (!text.is_empty()).then(|| (beginning(&name, NAME), text))
    });
    told.take(FIELDS).collect()
}

/// The beginning of a text, with a sign where it is cut. A word that the end would fall into is left out: a secret is
/// found and masked as a whole only.
pub(super) fn beginning(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let is_within_a_word = |letter: char| letter.is_ascii_graphic();
    let kept = match text[end..].starts_with(is_within_a_word) {
        true => text[..end].trim_end_matches(is_within_a_word),
        false => &text[..end],
    };
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(output: &Value, field: &DecisionField) -> Vec<(String, String)> {
        let fields = fields(output.to_string().as_bytes(), field);
        fields.into_iter().collect()
    }

    #[test]
    fn a_few_short_fields_are_kept_and_not_the_decision() {
        let key = DecisionField::Key("decision".to_owned());
        let output = json!({
            "decision": "deny", "reason": " It is late. ", "citations": ["a", "b"], "none": null, "blank": " ",
        });
        assert_eq!(
            of(&output, &key),
            [("citations", "[\"a\",\"b\"]"), ("reason", "It is late.")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
        );
        let pointer = DecisionField::Pointer("/result/decision".to_owned());
        let nested = json!({"result": {"decision": 1, "reason": "so"}, "usage": 3});
        assert_eq!(
            of(&nested, &pointer),
            [("reason".to_owned(), "so".to_owned())]
        );
        let many: BTreeMap<String, u8> = (0..9).map(|at| (format!("f{at}"), at)).collect();
        assert_eq!(of(&json!(many), &key).len(), FIELDS);
        for other in [json!([1]), json!({"result": 1}), json!("text")] {
            assert_eq!(of(&other, &pointer), []);
        }
        assert!(fields(b"no JSON", &key).is_empty());
    }

    #[test]
    fn no_part_of_a_word_is_kept() {
        assert_eq!(beginning("the key is ghp_abc", 14), "the key is…");
        assert_eq!(beginning("the key is gone", 11), "the key is…");
        assert_eq!(beginning(&"密".repeat(9), 3), "密密密…");
        assert_eq!(beginning("short", 5), "short");
    }
}
