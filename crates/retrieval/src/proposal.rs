//! The names that a pipeline seems to have for the fields of its output, judging by one output of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::fields::{OutputFields, places, value_at};
use super::{RetrievalSettings, golden};
use kelvin_run::Program;
use kelvin_run::config::Config;

/// Names of the list of hits, the most likely first.
const HITS: [&str; 15] = [
    "hits",
    "source_documents",
    "documents",
    "docs",
    "sources",
    "results",
    "passages",
    "chunks",
    "contexts",
    "context",
    "retrieved",
    "source_nodes",
    "nodes",
    "matches",
    "citations",
];

/// Names of the document of a hit, the most likely first.
const DOCUMENT: [&str; 15] = [
    "doc_id",
    "document_id",
    "docId",
    "documentId",
    "document",
    "source",
    "doc",
    "id",
    "url",
    "path",
    "file",
    "file_path",
    "file_name",
    "filename",
    "title",
];

/// Names of the text of a hit, the most likely first.
const TEXT: [&str; 6] = [
    "text",
    "page_content",
    "content",
    "snippet",
    "passage",
    "chunk",
];

/// Names of the score of a hit. A distance is none, since it is lower for a better hit.
const SCORE: [&str; 4] = ["score", "similarity", "relevance", "relevance_score"];

/// Names of the answer, the most likely first.
const ANSWER: [&str; 6] = [
    "answer",
    "result",
    "response",
    "output",
    "completion",
    "text",
];

/// Names of what tells an answer from a refusal, the most likely first.
const GROUNDED: [&str; 2] = ["grounded", "is_grounded"];

/// The first question of a golden set that has an expected document, and what a trial of it needs.
pub struct FirstQuestion<'a> {
    /// The name of the query.
    pub id: String,
    /// The text of its input.
    pub input: String,
    /// The program that is asked.
    pub program: Program<'a>,
    /// Every document that the golden set expects.
    pub expected: BTreeSet<String>,
    /// How cells that may name several documents are read.
    pub notes: Vec<String>,
}

/// Reads the golden set of a configuration for a trial with one question.
///
/// # Errors
///
/// Fails if the golden set cannot be read, or has problems.
///
/// # Panics
///
/// If the configuration has no section for this probe.
pub fn first_question(config: &Config) -> anyhow::Result<FirstQuestion<'_>> {
    let settings: &RetrievalSettings = config
        .settings()
        .expect("a trial of a search has a configuration for one");
    config.demand_file(&["retrieval", "golden"], &settings.golden, "golden set")?;
    let path = config.root.join(&settings.golden);
    let golden = golden::read(&path, &settings.golden_fields, None)?;
    let notes = golden.unclear_cells().into_iter();
    let notes = notes.chain(golden.separated_cells());
    let notes = notes.map(|notice| notice.text).collect();
    let golden = golden.queries;
    let expects = |query: &&golden::GoldenQuery| {
        let documents = query.expected_doc_ids.as_ref();
        documents.is_some_and(|documents| !documents.is_empty())
    };
    let first = golden.iter().find(expects).or(golden.first());
    let first = first.with_context(|| format!("{} has no query", path.display()))?;
    let expected = golden
        .iter()
        .filter_map(|query| query.expected_doc_ids.as_ref());
    Ok(FirstQuestion {
        id: first.id.clone(),
        input: first.input(),
        program: settings.program(),
        expected: expected.flatten().cloned().collect(),
        notes,
    })
}

impl OutputFields {
    /// The names that an output seems to have. A list of hits with a document that is `expected` comes before any other,
    /// and so does the field of a hit that names one; without one, the name of the field decides. None if no list in the
    /// output can be the hits, or if nothing in them can be the document.
    pub fn proposed(output: &Value, expected: &BTreeSet<String>) -> Option<Self> {
        let lists = match output {
            Value::Array(hits) => vec![(None, hits)],
            output => lists(output),
        };
        // Several lists of which none has a likely name leave it open which one is meant, unless a document shows it.
        let is_open = match lists.as_slice() {
            [(Some(first), _), _, ..] => likelihood(first, &HITS) == HITS.len(),
            _ => false,
        };
        let mut found: Option<(bool, Self)> = None;
        for (name, hits) in lists {
            let Some((is_expected, mut fields)) = Self::of_hits(hits, expected) else {
                continue;
            };
            fields.hits = name.filter(|name| name != "hits");
            let is_first = found.is_none() && !is_open;
            if is_first || is_expected && found.as_ref().is_none_or(|(before, _)| !before) {
                found = Some((is_expected, fields));
            }
        }
        let (_, mut fields) = found?;
        fields.answer = named(output, "answer", &ANSWER, 1, &Value::is_string);
        if !output.get("answer").is_some_and(Value::is_object) {
            fields.grounded = named(output, "grounded", &GROUNDED, 3, &Value::is_boolean);
        }
        Some(fields)
    }

    /// The names in a list of hits, and whether one of the hits has a document that is expected. None if no field can be
    /// the document.
    fn of_hits(hits: &[Value], expected: &BTreeSet<String>) -> Option<(bool, Self)> {
        let is_expected =
            |value: &Value| value.as_str().is_some_and(|text| expected.contains(text));
        let first = hits.first()?;
        if first.is_string() {
            return Some((hits.iter().any(is_expected), Self::default()));
        }
        let places = places(first, 3);
        let names_an_expected = |path: &&(String, &Value)| {
            let values = hits.iter().filter_map(|hit| value_at(hit, &path.0));
            values.into_iter().any(is_expected)
        };
        let by_value = places.iter().find(names_an_expected);
        let document = match by_value {
            Some((path, _)) => Some(path.clone()).filter(|path| path != "doc_id"),
            None if first.get("doc_id").is_some_and(Value::is_string) => None,
            None => Some(named(first, "doc_id", &DOCUMENT, 3, &is_name)?),
        };
        let other = |name: Option<String>| name.filter(|name| Some(name) != document.as_ref());
        let fields = Self {
            hits: None,
            answer: None,
            grounded: None,
            chunk_id: other(named(
                first,
                "chunk_id",
                &["chunk_id", "chunkId"],
                3,
                &is_name,
            )),
            score: named(first, "score", &SCORE, 2, &Value::is_number),
            text: other(named(first, "text", &TEXT, 2, &Value::is_string)),
            doc_id: document,
        };
        Some((by_value.is_some(), fields))
    }

    /// The documents of the hits in an output, as these names find them; none if they do not.
    pub fn documents(&self, output: &Value) -> Vec<String> {
        let renamed = self.renamed(output.clone()).unwrap_or_default();
        let hits = renamed.get("hits").and_then(Value::as_array);
        let hits = hits.into_iter().flatten();
        hits.filter_map(|hit| hit.get("doc_id")?.as_str().map(str::to_owned))
            .collect()
    }

    /// The names that differ from those of this program, each behind the name that this program uses.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = self.of_output().into_iter().chain(self.of_hit());
        names.filter_map(|(name, own)| Some((name, own?.as_str())))
    }

    /// The names as a mapping on one line, as it stands in a configuration.
    pub fn written(&self) -> String {
        let pairs: Vec<String> = self
            .pairs()
            .map(|(name, own)| format!("{name}: {}", plain_or_quoted(own)))
            .collect();
        format!("{{{}}}", pairs.join(", "))
    }
}

/// A name as it is written between braces in YAML.
fn plain_or_quoted(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(json!(name).to_string()),
    }
}

/// A short text on one line, as the name of a document is.
fn is_name(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    !text.is_empty() && !text.contains('\n') && text.chars().count() <= 300
}

/// The lists in an output that can be hits, at most one object deep, with their paths: those with likely names first.
fn lists(output: &Value) -> Vec<(Option<String>, &Vec<Value>)> {
    let can_be_hits =
        |list: &Vec<Value>| list.iter().all(Value::is_object) || list.iter().all(is_name);
    let mut lists: Vec<(usize, String, &Vec<Value>)> = places(output, 2)
        .into_iter()
        .filter_map(|(path, value)| Some((likelihood(&path, &HITS), path, value.as_array()?)))
        .filter(|(.., list)| !list.is_empty() && can_be_hits(list))
        .collect();
    lists.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    let lists = lists.into_iter();
    lists.map(|(_, path, list)| (Some(path), list)).collect()
}

/// The place of the last name of a path in a list of likely names; the length of the list if it is not there.
fn likelihood(path: &str, names: &[&str]) -> usize {
    let last = path.rsplit('.').next().unwrap_or(path);
    let place = names.iter().position(|name| *name == last);
    place.unwrap_or(names.len())
}

/// The path of the most likely field for a role, among those whose values fit. None if the object has the field under the
/// name of the role, or no likely one.
fn named(
    object: &Value,
    role: &str,
    names: &[&str],
    depth: usize,
    fits: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    if object.get(role).is_some() {
        return None;
    }
    let fitting = places(object, depth)
        .into_iter()
        .filter(|(_, value)| fits(value));
    let paths = fitting.map(|(path, _)| (likelihood(&path, names), path));
    let (place, path) = paths.min_by_key(|(place, path)| (*place, path.matches('.').count()))?;
    Some(path).filter(|_| place < names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(output: Value) -> Option<String> {
        let expected = ["late.md".to_owned(), "rooms.md".to_owned()].into();
        let names = OutputFields::proposed(&output, &expected)?;
        let written = names.written();
        let read: OutputFields = serde_json::from_value(names_of(&names)).expect("names");
        assert_eq!(read, names);
        Some(written)
    }

    fn names_of(names: &OutputFields) -> Value {
        serde_json::to_value(names).expect("JSON")
    }

    #[test]
    fn the_names_of_common_outputs_are_found() {
        // As retrieval chains of LangChain answer, which name a document by its source.
        let chain = json!({
            "query": "What?", "result": "Fifty cents.",
            "source_documents": [
                { "page_content": "Late", "metadata": { "source": "late.md", "page": 1 } },
                { "page_content": "Rooms", "metadata": { "source": "rooms.md", "page": 2 } },
            ],
        });
        assert_eq!(
            proposed(chain).as_deref(),
            Some(
                "{hits: source_documents, answer: result, doc_id: metadata.source, text: page_content}"
            )
        );
        // A vector store with its points, and a list that is no list of hits beside them.
        let store = json!({
            "usage": [{ "tokens": 3 }],
            "result": { "points": [{ "id": "late.md", "score": 0.9, "payload": { "text": "Late" } }] },
        });
        assert_eq!(
            proposed(store).as_deref(),
            Some("{hits: result.points, doc_id: id, text: payload.text}")
        );
        // What tells a refusal, elsewhere than beside the answer.
        let refuses =
            json!({ "answer": "No.", "meta": { "grounded": false }, "sources": ["late.md"] });
        assert_eq!(
            proposed(refuses).as_deref(),
            Some("{hits: sources, grounded: meta.grounded}")
        );
        // Names alone, and this program's own names.
        assert_eq!(
            proposed(json!({ "answer": "x", "sources": ["late.md"] })).as_deref(),
            Some("{hits: sources}")
        );
        for own in [
            json!(["late.md", "other.md"]),
            json!({ "hits": [{ "doc_id": "late.md", "score": 1, "text": "Late" }], "answer": "x" }),
        ] {
            assert_eq!(proposed(own.clone()).as_deref(), Some("{}"), "{own}");
        }
    }

    #[test]
    fn a_document_that_is_expected_shows_the_field_whatever_its_name_is() {
        let by_value = json!({ "found": [
            { "id": "17", "key": "x", "where": { "page": "other.md" } },
            { "id": "18", "key": "y", "where": { "page": "rooms.md" } },
        ]});
        assert_eq!(
            proposed(by_value).as_deref(),
            Some("{hits: found, doc_id: where.page}")
        );
        // Of two lists the one with an expected document is meant, although the other has the likelier name.
        let two = json!({ "documents": [{ "id": "a" }], "cited": [{ "id": "late.md" }] });
        assert_eq!(proposed(two).as_deref(), Some("{hits: cited, doc_id: id}"));
        let unknown = json!({ "alpha": ["x"], "beta": ["late.md"] });
        assert_eq!(proposed(unknown).as_deref(), Some("{hits: beta}"));
    }

    #[test]
    fn nothing_is_guessed_where_nothing_shows_the_hits() {
        for output in [
            json!({ "answer": "Fifty cents." }),
            json!({ "hits": [] }),
            json!({ "alpha": ["x"], "beta": ["y"] }),
            json!({ "alpha": [{ "id": "x" }], "beta": [{ "id": "y" }] }),
            json!({ "documents": [{ "size": 3 }] }),
            json!({ "documents": [1, 2] }),
            json!({ "a.b": ["late.md"] }),
            json!(7),
            json!(null),
            json!([]),
            json!([[], {}]),
        ] {
            assert_eq!(proposed(output.clone()), None, "{output}");
        }
    }

    #[test]
    fn a_name_that_is_no_plain_word_is_quoted() {
        let output = json!({ "the sources": [{ "doc id": "late.md" }] });
        let written = proposed(output).expect("names");
        assert_eq!(written, r#"{hits: "the sources", doc_id: "doc id"}"#);
    }
}
