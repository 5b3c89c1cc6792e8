//! The names that a pipeline has for the fields of its output, if they are not those of this program.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use kelvin_base::digest::Fields;

/// The names of the fields of an output. A name may lead into objects, such as `metadata.source`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputFields {
    /// The name of the list of hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub hits: Option<String>,
    /// The name of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub answer: Option<String>,
    /// The name of the document of a hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub doc_id: Option<String>,
    /// The name of the chunk of a hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub chunk_id: Option<String>,
    /// The name of the score of a hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub score: Option<String>,
    /// The name of the text of a hit, which is only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub text: Option<String>,
}

impl OutputFields {
    /// Whether every field has the name that this program uses.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the names that differ to a digest.
    pub(crate) fn add_to(&self, fields: Fields) -> Fields {
        self.pairs()
            .fold(fields, |fields, (name, own)| fields.field(name, own))
    }

    pub(crate) const fn of_output(&self) -> [(&'static str, Option<&String>); 2] {
        [
            ("hits", self.hits.as_ref()),
            ("answer", self.answer.as_ref()),
        ]
    }

    pub(crate) const fn of_hit(&self) -> [(&'static str, Option<&String>); 4] {
        [
            ("doc_id", self.doc_id.as_ref()),
            ("chunk_id", self.chunk_id.as_ref()),
            ("score", self.score.as_ref()),
            ("text", self.text.as_ref()),
        ]
    }

    /// An output with the names that this program uses. A list is the hits alone, a hit that is a text is the id of its
    /// document, and an answer that is a text was given, unless it is empty. An output that has these names already
    /// stays as it is, so that one from the cache can be read again.
    ///
    /// # Errors
    ///
    /// Fails if the output lacks its hits, or a hit its document, in words that follow "its output".
    pub(crate) fn renamed(&self, output: Value) -> Result<Value, String> {
        let mut output = match output {
            Value::Array(_) => json!({ "hits": output }),
            other => other,
        };
        rename(&mut output, self.of_output());
        if let Some(lack) = lack(&output, "hits", self.hits.as_ref()) {
            return Err(lack + &self.advice(&output, "hits"));
        }
        let hits = output.get_mut("hits").and_then(Value::as_array_mut);
        let wrong = hits
            .into_iter()
            .flatten()
            .enumerate()
            .find_map(|(at, hit)| {
                if hit.is_string() {
                    *hit = json!({ "doc_id": hit.take() });
                }
                rename(hit, self.of_hit());
                Some((at + 1, lack(hit, "doc_id", self.doc_id.as_ref())?))
            });
        if let Some((number, lack)) = wrong {
            let advice = self.advice(&output, "doc_id");
            return Err(format!("is not usable: hit {number} {lack}{advice}"));
        }
        if let Some(Value::String(text)) = output.get("answer") {
            output["answer"] = json!({ "text": text, "grounded": !text.trim().is_empty() });
        }
        Ok(output)
    }

    /// What to do about an output that lacks a field: the names that it seems to have, if none was given yet.
    fn advice(&self, output: &Value, needed: &str) -> String {
        let proposed = Self::proposed(output, &BTreeSet::new());
        match proposed.filter(|names| self.is_empty() && !names.is_empty()) {
            Some(names) => format!(
                "; it seems to have other names: write `retrieval: {{output_fields: {}}}` if these are right",
                names.written()
            ),
            None => format!(
                "; give the name that your pipeline has for it with `retrieval: {{output_fields: {{{needed}: …}}}}`"
            ),
        }
    }
}

/// What an object lacks and has instead, if it lacks a field that is needed.
fn lack(object: &Value, needed: &str, own: Option<&String>) -> Option<String> {
    let object = object.as_object()?;
    if object.contains_key(needed) {
        return None;
    }
    let keys: Vec<String> = object
        .keys()
        .take(8)
        .map(|key| format!("`{key}`"))
        .collect();
    let there = match keys.is_empty() {
        true => "is empty".to_owned(),
        false => format!("has {}", keys.join(", ")),
    };
    let name = own.map_or(needed, String::as_str);
    Some(format!("has no `{name}` and {there}"))
}

/// Gives the fields of an object the names that this program uses.
fn rename<const N: usize>(object: &mut Value, names: [(&str, Option<&String>); N]) {
    for (name, own) in names {
        let found = own.and_then(|own| {
            own.split('.')
                .try_fold(&*object, |value, key| value.get(key))
        });
        if let Some(found) = found.cloned() {
            object[name] = found;
        }
    }
}
