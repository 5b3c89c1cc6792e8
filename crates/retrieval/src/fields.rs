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
    /// The name of what is true for an answer and false for a refusal. Without it, `grounded` beside the answer is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub grounded: Option<String>,
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

    pub(crate) const fn of_output(&self) -> [(&'static str, Option<&String>); 3] {
        [
            ("hits", self.hits.as_ref()),
            ("answer", self.answer.as_ref()),
            ("grounded", self.grounded.as_ref()),
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
    /// document, and an answer that is a text was given, unless it is empty or `grounded` beside it is false. An output
    /// that has these names already stays as it is, so that one from the cache can be read again. Fails if the output
    /// lacks its hits, or a hit its document, in words that follow "its output".
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
        if output.is_object() {
            self.complete(&mut output)?;
        }
        Ok(output)
    }

    /// Makes the answer of an output the object with `text` and `grounded`, from what stands beside it.
    fn complete(&self, output: &mut Value) -> Result<(), String> {
        let grounded = self.beside(output, "grounded").and_then(Value::as_bool);
        let answer = output.get("answer").filter(|answer| !answer.is_null());
        if let (Some(own), None, true) = (&self.grounded, grounded, answer.is_some()) {
            return Err(format!(
                "has no `{own}` that is true or false, which `output_fields` names for `grounded`"
            ));
        }
        let answer = match answer {
            Some(Value::String(text)) => {
                let is_given = !text.trim().is_empty() && grounded.unwrap_or(true);
                let mut answer = json!({ "text": text, "grounded": is_given });
                if let Some(reason) = self.beside(output, "refusal_reason") {
                    answer["refusal_reason"] = reason.clone();
                }
                if let (None, Some(path)) = (grounded, elsewhere(output)) {
                    answer["unread_grounded"] = json!(path);
                }
                answer
            }
            Some(Value::Object(parts)) => {
                let mut answer = parts.clone();
                if let Some(grounded) = grounded
                    && (self.grounded.is_some() || !answer.contains_key("grounded"))
                {
                    answer.insert("grounded".to_owned(), grounded.into());
                }
                answer.into()
            }
            None if grounded == Some(false) => json!({ "grounded": false }),
            _ => return Ok(()),
        };
        output["answer"] = answer;
        Ok(())
    }

    /// A field beside the answer, where the pipeline has it, or else of the whole output. A name of one's own leads to
    /// the field of the whole output.
    fn beside<'a>(&self, output: &'a Value, name: &str) -> Option<&'a Value> {
        let folder = self.answer.as_deref().filter(|_| self.grounded.is_none());
        let folder = folder.and_then(|path| Some(path.rsplit_once('.')?.0));
        let inner = folder.and_then(|folder| value_at(output, folder)?.get(name));
        inner.or_else(|| output.get(name))
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

/// The path of a field called `grounded`, wherever an output has it.
fn elsewhere(output: &Value) -> Option<String> {
    let places = places(output, 3).into_iter().map(|(path, _)| path);
    let mut places = places.filter(|path| path.rsplit('.').next() == Some("grounded"));
    places.next()
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
        let found = own.and_then(|own| value_at(object, own));
        if let Some(found) = found.cloned() {
            object[name] = found;
        }
    }
}

/// Every value in an object and in the objects in it, up to a depth, with the names that lead to it and dots between
/// them. A name with a dot in it cannot be written that way and is left out.
pub(super) fn places(object: &Value, depth: usize) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let fields = object.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, _)| !name.is_empty() && !name.contains('.')) {
        found.push((name.clone(), value));
        if depth > 1 {
            let inner = places(value, depth - 1).into_iter();
            found.extend(inner.map(|(path, value)| (format!("{name}.{path}"), value)));
        }
    }
    found
}

/// The value to which a path leads.
pub(super) fn value_at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(object, |value, name| value.get(name))
}
