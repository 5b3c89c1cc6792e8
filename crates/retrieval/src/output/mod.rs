//! The output of a pipeline for one query, and how it is judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::compare::by_document;
use super::documents::{TITLE, named, title_of};
use super::record::{AnswerRecord, Cited, Hit, Labels, Retrieved, Span};
use super::{Ranking, SpanRule};
use crate::documents::Documents;
use crate::golden::GoldenQuery;
use kelvin_base::decode::decoded;

/// An output. Its other keys are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Output {
    hits: Vec<RawHit>,
    answer: Option<RawRetrievedAnswer>,
    chunker_version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RawHit {
    chunk_id: Option<String>,
    doc_id: String,
    doc_path: Option<String>,
    // Title and text are only shown, so a value of another type in them is not an error.
    title: Option<Value>,
    text: Option<Value>,
    rank: Option<u32>,
    score: Option<f64>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `text` and `grounded`")]
struct RawRetrievedAnswer {
    #[serde(default)]
    text: String,
    grounded: bool,
    #[serde(default)]
    citations: Vec<Citation>,
    refusal_reason: Option<String>,
    /// The path of a field that is called `grounded` and is not read.
    unread_grounded: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Citation {
    #[serde(alias = "path")]
    doc_id: String,
    chunk_id: Option<String>,
}

/// Reasons why a system does not answer although it should have: errors, not refusals.
const INFRASTRUCTURE: [&str; 5] = [
    "no_index",
    "llm_stream_aborted",
    "stream_aborted",
    "nli_model_unavailable",
    "model_unavailable",
];

/// How many hits a record stores in addition to those that the measures need.
const KEPT: usize = 10;

/// How many distinct citations of an answer a record stores; no person checks more.
const CITED: usize = 100;

impl Output {
    /// An output as its text, in the form in which it is stored until it is judged.
    pub(super) fn held(value: &Value) -> Value {
        let mut text = value.to_string();
        text.shrink_to_fit();
        Value::String(text)
    }

    /// Parses an output that is stored as its text. Fails like [`read`](Self::read).
    pub(super) fn of_held(held: &Value) -> Result<Self, String> {
        let text = held.as_str().unwrap_or_default();
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("cannot be used: {error}"))?;
        Self::read(&value)
    }

    /// Parses an output, and sorts its hits by rank if they have ranks. Fails with the problem of the output, in words
    /// that follow "its output".
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let mut output =
            decoded::<Self>(value).map_err(|error| format!("cannot be used: {error}"))?;
        output.put_in_order()?;
        let reason = output
            .answer
            .as_ref()
            .and_then(|answer| answer.refusal_reason.as_deref());
        match reason.filter(|reason| INFRASTRUCTURE.contains(reason)) {
            Some(reason) => Err(format!(
                "tells of a failure: `refusal_reason` is `{reason}`"
            )),
            None => Ok(output),
        }
    }

    /// The parts of the output on which the figures of its query depend. Titles, texts and scores of hits are only shown,
    /// and a score may differ in its last digits from call to call.
    pub(super) fn deciding(&self) -> Value {
        let hits = self.hits.iter().map(|hit| {
            json!({
                "rank": hit.rank, "doc_id": hit.doc_id, "doc_path": hit.doc_path, "chunk_id": hit.chunk_id,
                "spans": hit.spans,
            })
        });
        let answer = self.answer.as_ref().map(|answer| {
            let citations = answer.citations.iter();
            let citations = citations.map(|cited| json!([cited.doc_id, cited.chunk_id]));
            json!({
                "text": answer.text, "grounded": answer.grounded, "citations": citations.collect::<Value>(),
            })
        });
        json!({
            "hits": hits.collect::<Value>(), "answer": answer, "chunker_version": self.chunker_version,
        })
    }

    /// The path of a field of the output that is called `grounded` and is not read.
    pub(super) fn unread_grounded(&self) -> Option<&str> {
        self.answer.as_ref()?.unread_grounded.as_deref()
    }

    fn put_in_order(&mut self) -> Result<(), String> {
        let ranked = self.hits.iter().filter(|hit| hit.rank.is_some()).count();
        if ranked == 0 {
            for (rank, hit) in (1..).zip(&mut self.hits) {
                hit.rank = Some(rank);
            }
            return Ok(());
        }
        if ranked < self.hits.len() {
            return Err("has hits with a `rank` and hits without".to_owned());
        }
        self.hits.sort_by_key(|hit| hit.rank);
        let mut before = 0;
        for rank in self.hits.iter().filter_map(|hit| hit.rank) {
            if rank == 0 {
                return Err("has a hit of rank 0; the first rank is 1".to_owned());
            }
            if rank == before {
                return Err(format!("has two hits of rank {rank}"));
            }
            before = rank;
        }
        Ok(())
    }

    /// Judges the output by what is known about the query. `most`: how many hits the measures use; `rule`: when hits
    /// contain an expected span.
    pub(super) fn judged(
        self,
        golden: &GoldenQuery,
        corpus: Option<&Documents>,
        (most, rule): (usize, SpanRule),
    ) -> Retrieved {
        let mut judged = unranked(golden, corpus);
        let (docs, chunks) = (golden.docs(), golden.chunks());
        let is_cut_anew = is_cut_anew(golden, corpus);
        judged.count = self.hits.len();
        judged.rank = self.first(|hit| {
            hit.chunk_id
                .as_deref()
                .is_some_and(|id| chunks.contains(id))
        });
        judged.judged = if chunks.is_empty() || is_cut_anew {
            Ranking::of_keys(self.hits.iter().map(|hit| hit.doc_id.as_str()), &docs)
        } else {
            let ids = self
                .hits
                .iter()
                .map(|hit| hit.chunk_id.as_deref().unwrap_or_default());
            Ranking::of_keys(ids, &chunks)
        };
        let found = docs
            .iter()
            .filter_map(|doc| Some((self.first(|hit| hit.doc_id == *doc)?, 1)));
        judged.docs = Ranking::new(found, docs.iter().map(|_| 1), 1);
        judged.answer = self.answer.as_ref().map(|answer| AnswerRecord {
            citations: answer.citations.len(),
            cited: self.cited(answer, corpus),
            broken: self.broken(answer, corpus),
            lacks: missing(&golden.must_contain, |text| answer.text.contains(text)),
            forbidden: missing(&golden.forbidden, |text| !answer.text.contains(text)),
            ..AnswerRecord::of(&answer.text, answer.grounded)
        });
        judged.chunker_version = self.chunker_version;
        let hits = self.hits.into_iter().take(most.max(KEPT));
        judged.hits = hits
            .map(|hit| Hit {
                title: hit.title(),
                chunk_id: hit.chunk_id,
                doc_id: hit.doc_id,
                score: hit.score,
                spans: hit.spans,
            })
            .collect();
        // The list still has the capacity of the longer list from which it was made.
        judged.hits.shrink_to_fit();
        if is_cut_anew {
            let looked_at = &judged.hits[..judged.hits.len().min(most)];
            judged.rank = by_document(&labels(golden, corpus), looked_at, rule);
        }
        judged
    }

    fn first(&self, is_it: impl Fn(&RawHit) -> bool) -> Option<u32> {
        self.hits.iter().find(|hit| is_it(hit))?.rank
    }

    /// The distinct citations of an answer, each with the hit that it names. A citation may name a document by its
    /// path, if the hits or the corpus contain it.
    fn cited(&self, answer: &RawRetrievedAnswer, corpus: Option<&Documents>) -> Vec<Cited> {
        let mut cited: Vec<Cited> = Vec::new();
        for Citation { doc_id, chunk_id } in &answer.citations {
            let by_path = corpus.and_then(|corpus| corpus.paths.get(doc_id));
            let hit = self.hits.iter().find(|hit| {
                let is_document = hit.doc_id == *doc_id
                    || hit.doc_path.as_ref() == Some(doc_id)
                    || by_path.is_some_and(|docs| docs.contains(&hit.doc_id));
                // Hits without chunk ids do not show which chunks were retrieved.
                let is_chunk = hit.chunk_id.is_none() || chunk_id.is_none();
                is_document && (is_chunk || hit.chunk_id == *chunk_id)
            });
            let one = Cited {
                doc_id: hit.map_or(doc_id, |hit| &hit.doc_id).clone(),
                chunk_id: chunk_id.clone(),
                rank: hit.and_then(|hit| hit.rank),
            };
            if !cited.contains(&one) && cited.len() < CITED {
                cited.push(one);
            }
        }
        cited
    }

    /// The citations of unknown targets: they name no part of the corpus or, without a corpus, no hit.
    fn broken(&self, answer: &RawRetrievedAnswer, corpus: Option<&Documents>) -> Vec<String> {
        let resolves = |citation: &Citation| match corpus {
            Some(corpus) => {
                let chunk = citation.chunk_id.as_ref();
                let doc = &citation.doc_id;
                (corpus.documents.contains(doc) || corpus.paths.contains_key(doc))
                    && chunk.is_none_or(|chunk| corpus.chunks.contains_key(chunk))
            }
            None => self.hits.iter().any(|hit| {
                let chunk = citation.chunk_id.as_ref();
                (hit.doc_id == citation.doc_id || hit.doc_path.as_ref() == Some(&citation.doc_id))
                    && chunk.is_none_or(|chunk| hit.chunk_id.as_ref() == Some(chunk))
            }),
        };
        let broken = answer
            .citations
            .iter()
            .filter(|citation| !resolves(citation));
        broken
            .map(|citation| named(&citation.doc_id, citation.chunk_id.as_deref()))
            .collect()
    }
}

impl RawHit {
    /// The title of the hit or, without one, the beginning of its text.
    fn title(&self) -> Option<String> {
        let each = [&self.title, &self.text].into_iter().flatten();
        let mut texts = each.filter_map(Value::as_str);
        texts.find_map(|text| title_of(text, TITLE))
    }
}

/// The texts for which `holds` is false.
fn missing(texts: &[String], holds: impl Fn(&str) -> bool) -> Vec<String> {
    texts.iter().filter(|text| !holds(text)).cloned().collect()
}

/// The record of a query without hits; it stores the expected results.
pub(super) fn unranked(golden: &GoldenQuery, corpus: Option<&Documents>) -> Retrieved {
    let (docs, chunks) = (golden.docs(), golden.chunks());
    let none = |keys: &BTreeSet<&str>| Ranking::of_keys([], keys);
    let is_by_document = chunks.is_empty() || is_cut_anew(golden, corpus);
    Retrieved {
        judged: none(if is_by_document { &docs } else { &chunks }),
        docs: none(&docs),
        ..Retrieved::default()
    }
}

/// Whether the corpus lacks an expected chunk: its documents were split again since the labels were written.
fn is_cut_anew(golden: &GoldenQuery, corpus: Option<&Documents>) -> bool {
    let is_known = |chunk: &&str| corpus.is_none_or(|corpus| corpus.chunks.contains_key(*chunk));
    !golden.chunks().iter().all(is_known)
}

/// The titles of the expected documents and chunks, if the corpus contains them.
pub(super) fn titles(golden: &GoldenQuery, corpus: Option<&Documents>) -> BTreeMap<String, String> {
    corpus.map_or_else(BTreeMap::new, |corpus| corpus.titles_of(golden))
}

/// The labels of a query: a summary of its expected results.
pub(super) fn labels(golden: &GoldenQuery, corpus: Option<&Documents>) -> Labels {
    let (docs, chunks) = (golden.docs(), golden.chunks());
    let configured = !golden.must_contain.is_empty() || !golden.forbidden.is_empty();
    let cut_anew = is_cut_anew(golden, corpus);
    // The names of chunks that do not exist are no expectation.
    let has_target = match cut_anew {
        true => !docs.is_empty() || !golden.expected_spans.is_empty(),
        false => !chunks.is_empty(),
    };
    let judged = !docs.is_empty() || has_target;
    let home = |chunk: &str| corpus?.chunks.get(chunk).cloned();
    Labels {
        chunks: has_target,
        cut_anew,
        docs: !docs.is_empty(),
        judged: judged && (!cut_anew || !docs.is_empty()),
        refuse: golden.refuses(),
        content: configured && !golden.refuses(),
        must_contain: golden.must_contain.clone(),
        expected_chunks: chunks
            .iter()
            .map(|chunk| ((*chunk).to_owned(), home(chunk)))
            .collect(),
        expected_docs: docs.into_iter().map(str::to_owned).collect(),
        expected_spans: golden
            .expected_spans
            .iter()
            .map(|span| Span {
                doc_id: span.doc_id.clone(),
                start: span.start,
                end: span.end,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
