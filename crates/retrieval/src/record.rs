//! What the retrieval probe saw of one query: enough to compute every figure again.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ranking;
use super::SpanRule;
use super::documents::KnownDocuments;
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;
use kelvin_record::{Item, Repeats, Section};

/// What a report stores of this probe.
pub type RetrievalSection = Section<StoredBasis, QueryRecord>;

/// What turns the records of queries into figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredBasis {
    /// How the figures are made.
    #[serde(flatten)]
    pub figures: RetrievalBasis,
    /// Queries of a run that the judgements do not have; in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Which documents there were; none where no corpus is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<KnownDocuments>,
}

impl Item for QueryRecord {
    fn digest(&self) -> Digest {
        self.input
    }

    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.runs.len())
    }

    fn has_answer(&self) -> bool {
        self.runs.iter().any(Retrieved::ran)
    }

    fn folders(&self) -> Vec<&str> {
        // The file names its folders itself, and nothing is copied from there.
        Vec::new()
    }
}

/// The distinct versions of the chunker that the answers tell, in order.
pub(super) fn chunker_versions(section: &RetrievalSection) -> BTreeSet<&str> {
    let runs = section.items.values().flat_map(|query| &query.runs);
    runs.filter_map(|run| run.chunker_version.as_deref())
        .collect()
}

/// How the figures are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievalBasis {
    /// How many hits the measures look at; ascending and distinct.
    pub k: Vec<usize>,
    /// A first relevant hit behind this rank has a reciprocal rank of 0.
    pub cut_off: usize,
    /// From which grade on a document is relevant; at least 1.
    pub relevance_level: i64,
    /// What citations must lead to.
    pub citations: Citations,
    /// When an expected span counts as found, in a comparison with a run of other chunks.
    #[serde(default)]
    pub span_rule: SpanRule,
}

impl RetrievalBasis {
    /// How many hits are looked at: what is behind them was not found.
    pub fn depth(&self) -> usize {
        let deepest = self.k.iter().copied().max().unwrap_or(0);
        deepest.max(self.cut_off)
    }
}

/// What citations must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Citations {
    /// A document or chunk of the corpus.
    Corpus,
    /// One of the hits of the same query.
    Hits,
}

/// One query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueryRecord {
    /// The digest of the golden entry: a different one on the other side means that it was edited.
    pub input: Digest,
    /// The same without the chunks: another chunker has others. None where chunks are documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_document: Option<Digest>,
    /// The digest of what is asked of the answer: the question, `must_contain` and `forbidden`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_answer: Option<Digest>,
    /// The question; empty where the run was made elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The folder of its inputs and outputs, relative to the report; none where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What is known of it.
    pub labels: Labels,
    /// What came back; one a repeat.
    pub runs: Vec<Retrieved>,
}

/// What is known of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Labels {
    /// Whether chunks are expected: counts in `success` and `mrr`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chunks: bool,
    /// Whether documents are expected: counts in `recall_doc`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub docs: bool,
    /// Whether relevance is judged: counts in `precision`, `ndcg` and `map`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judged: bool,
    /// Whether nothing is expected, and the system should say so: counts in `refusal_correctness`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuse: bool,
    /// Whether the text of an answer is judged: counts in `groundedness`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content: bool,
    /// The expected documents; empty where the run was made elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_docs: Vec<String>,
    /// The expected chunks, each with its document where the corpus tells it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expected_chunks: BTreeMap<String, Option<String>>,
    /// The expected spans of documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_spans: Vec<Span>,
    /// Whether the corpus lacks an expected chunk, as after its documents were cut anew: then the query is
    /// judged by its documents and spans.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_anew: bool,
}

impl Labels {
    /// Whether the system can and should answer: something is expected of it, and that is no refusal.
    pub const fn wants_an_answer(&self) -> bool {
        !self.refuse && (self.chunks || self.docs || self.content)
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The document; in a hit, where it is missing, that of the hit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc_id: String,
    /// Where it begins.
    pub start: u64,
    /// Where it ends; not less than `start`.
    pub end: u64,
}

/// What came back for a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrieved {
    /// The run has nothing for this query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// How many hits there were.
    pub count: usize,
    /// The first of them, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Hit>,
    /// The rank of the first expected chunk, or relevant document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The rank at which enough of what is expected has been seen, where several hits are needed
    /// for that; made when two runs are aligned, and in no file.
    #[serde(skip)]
    pub held: Option<u32>,
    /// The judged chunks or documents, each counted once.
    #[serde(default, skip_serializing_if = "Ranking::is_empty")]
    pub judged: Ranking,
    /// The expected documents, by the first hit of each.
    #[serde(default, skip_serializing_if = "Ranking::is_empty")]
    pub docs: Ranking,
    /// The answer, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerRecord>,
    /// The version of the chunker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunker_version: Option<String>,
}

impl Retrieved {
    /// Whether the query got an answer from the pipeline.
    pub const fn ran(&self) -> bool {
        !self.missing && self.failure.is_none()
    }
}

/// One hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The chunk; none where the run knows documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// The document.
    pub doc_id: String,
    /// The score, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The parts of the document that it covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
}

/// What there is to judge of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRecord {
    /// Whether it claims to rest on what was found; false is a refusal.
    pub grounded: bool,
    /// The digest of its text, by which an answer is known to be the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Digest>,
    /// How many citations it has.
    pub citations: usize,
    /// Those that lead nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// What it must contain and does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// What it must not contain and does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
}
