//! Relevance judgements: which documents are relevant to a query, and how much.

use std::collections::BTreeMap;
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use serde::Deserialize;

use super::{LineLayout, Row, load, quoted, wrong};

/// The judgements of every query, by its id.
#[derive(Clone, Debug, Default)]
pub struct Qrels {
    /// The judgements by the id of their query.
    pub queries: BTreeMap<String, Judgements>,
}

/// The judged documents of one query, by document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgements {
    documents: BTreeMap<String, i64>,
}

impl Judgements {
    /// Every document with its grade, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        let documents = self.documents.iter();
        documents.map(|(document, grade)| (&**document, *grade))
    }

    /// A digest of all judgements of a query: a different digest means that the query is judged differently.
    pub fn digest(&self, query: &str) -> Digest {
        let fields = Fields::of("kelvin/qrels/v1").field("query", query);
        self.iter()
            .fold(fields, |fields, (document, grade)| {
                fields
                    .field("document", document)
                    .field("grade", grade.to_be_bytes())
            })
            .digest()
    }
}

/// A judgement in a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgementLine {
    query_id: String,
    doc_id: String,
    relevance: i64,
}

const LAYOUT: LineLayout<i64> = LineLayout {
    columns: &["query", "iteration", "document", "grade"],
    number: 3,
    parse: |grade| {
        grade
            .parse()
            .map_err(|_| "the grade must be a whole number")
    },
    json: |line| {
        let row: JudgementLine = serde_json::from_str(line)?;
        Ok((row.query_id.into(), row.doc_id.into(), row.relevance))
    },
};

impl Qrels {
    /// Reads a file of judgements: TREC columns, `.json` or `.jsonl`.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with the file and the line where it is not what it should be, or judges a
    /// document twice.
    pub fn load(path: &Path) -> Result<Self, Misuse> {
        let text = load(path)?;
        let mut all = Self::default();
        LAYOUT.read(path, &text, &mut |_,
                                        (query, document, grade): Row<
            '_,
            i64,
        >| {
            let judgements = all.queries.entry(query.to_string()).or_default();
            match judgements.documents.insert(document.to_string(), grade) {
                None => Ok(()),
                Some(_) => Err(format!(
                    "the document {} is judged twice for the query {}",
                    quoted(&document),
                    quoted(&query)
                )),
            }
        })?;
        match all.queries.is_empty() {
            true => Err(wrong(path, 1, "there is no judgement in the file")),
            false => Ok(all),
        }
    }
}
