//! The results of the retrieval probe for one query: enough to compute every figure again.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::documents::{KnownDocuments, named, title_of};
use super::{Ranking, SpanRule};
use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;
use kelvin_record::{Item, KeptText, KeptTexts, Repeats, Section, fitted};

/// The data of this probe in a report.
pub type RetrievalSection = Section<StoredBasis, QueryRecord>;

/// The data besides the records from which the figures of the queries are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredBasis {
    /// How the figures are made.
    #[serde(flatten)]
    pub figures: RetrievalBasis,
    /// Queries of a run that the judgements do not have; in no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Which documents there were; missing if no corpus is configured.
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
        // The file names its folders itself, and no data are copied from them.
        Vec::new()
    }

    /// Shortens the returned texts. The question and the expected results stay, since they are also in the golden set
    /// in the repository. Titles of a corpus may be the content of an answer, so they are removed together with the
    /// answers.
    fn shorten(&mut self, texts: KeptTexts) {
        if texts == KeptTexts::None {
            self.expected_titles.clear();
        }
        for run in &mut self.runs {
            run.shorten(texts);
        }
    }
}

/// The distinct chunker versions in the answers, in order.
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
    /// If the first relevant hit is behind this rank, the reciprocal rank is 0.
    pub cut_off: usize,
    /// From which grade on a document is relevant; at least 1.
    pub relevance_level: i64,
    /// What citations must lead to.
    pub citations: Citations,
    /// When an expected span counts as found, in a comparison with a run that has other chunks.
    #[serde(default)]
    pub span_rule: SpanRule,
}

impl RetrievalBasis {
    /// How many hits are examined; a hit after them counts as not found.
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
    /// The same digest without the chunks, since another chunker makes other chunks. Missing if chunks are documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_document: Option<Digest>,
    /// The digest of what is asked of the answer: the question, `must_contain` and `forbidden`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_answer: Option<Digest>,
    /// The question; empty if the run was made elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// The folder of its inputs and outputs, relative to the report; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What the golden set says about the query.
    pub labels: Labels,
    /// The titles of what is expected, or the beginnings of its texts, by the name that people see; as far as the
    /// corpus has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expected_titles: BTreeMap<String, String>,
    /// The results of the query, one for each repeat.
    #[serde(deserialize_with = "fitted")]
    pub runs: Vec<Retrieved>,
}

/// What the golden set says about a query.
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
    /// What the text of an answer must contain, for people who see what was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_contain: Vec<String>,
    /// The expected documents; empty if the run was made elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_docs: Vec<String>,
    /// The expected chunks, each with its document if the corpus tells it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expected_chunks: BTreeMap<String, Option<String>>,
    /// The expected spans of documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_spans: Vec<Span>,
    /// Whether the corpus lacks an expected chunk, as after its documents were chunked anew: then the query is judged
    /// by its documents and spans.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_anew: bool,
}

impl Labels {
    /// Whether the system can and should answer: the labels do not expect a refusal.
    pub(crate) const fn wants_an_answer(&self) -> bool {
        !self.refuse && (self.chunks || self.docs || self.content)
    }

    /// Whether a hit is an expected chunk, or from an expected document.
    pub(super) fn expects(&self, hit: &Hit) -> bool {
        let chunk = hit.chunk_id.as_ref();
        chunk.is_some_and(|chunk| self.expected_chunks.contains_key(chunk))
            || self.expected_docs.contains(&hit.doc_id)
    }

    /// Whether a citation refers to an expected document among the hits of its own query. If no expected document is
    /// known, any hit is accepted.
    pub(super) fn accepts(&self, cited: &Cited, hits: &[Hit]) -> bool {
        if cited.rank.is_none() {
            return false;
        }
        let is_chunk = |id: &String| !self.cut_anew && self.expected_chunks.contains_key(id);
        if cited.chunk_id.as_ref().is_some_and(is_chunk) {
            return true;
        }
        let homes = self.expected_chunks.values().flatten();
        let spans = self.expected_spans.iter().map(|span| &span.doc_id);
        // Without a corpus, only the hits show to which document an expected chunk belongs.
        let found = hits
            .iter()
            .filter(|hit| hit.chunk_id.as_ref().is_some_and(is_chunk));
        let known = self.expected_docs.iter().chain(homes).chain(spans);
        let mut docs = known.chain(found.map(|hit| &hit.doc_id)).peekable();
        match docs.peek() {
            Some(_) => docs.any(|doc| *doc == cited.doc_id),
            // Only chunks are expected, and none of their documents is known: then only a citation of another chunk is
            // wrong.
            None => self.cut_anew || self.expected_chunks.is_empty() || cited.chunk_id.is_none(),
        }
    }
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The document; if it is missing in a hit, the document of the hit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub doc_id: String,
    /// The position in the document where the part begins.
    pub start: u64,
    /// The position in the document where the part ends; not less than `start`.
    pub end: u64,
}

/// The result of a query in one repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrieved {
    /// Whether the run has no result for this query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// How many hits there were.
    pub count: usize,
    /// The first hits, in order.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "fitted"
    )]
    pub hits: Vec<Hit>,
    /// The rank of the first expected chunk, or relevant document, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The rank at which enough of what is expected has been seen, if several hits are needed for that; made when two
    /// runs are aligned, and in no file.
    #[serde(skip)]
    pub held: Option<u32>,
    /// The judged chunks or documents, each counted once.
    #[serde(default, skip_serializing_if = "Ranking::is_empty")]
    pub judged: Ranking,
    /// The expected documents, by the first hit of each.
    #[serde(default, skip_serializing_if = "Ranking::is_empty")]
    pub docs: Ranking,
    /// The answer, if there is one.
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

    /// Shortens like [`Item::shorten`]. Names of documents and chunks stay if hits contain them, since two runs are
    /// compared by them; a name that an answer cites but no hit contains may be any text.
    fn shorten(&mut self, texts: KeptTexts) {
        if let Some(answer) = &mut self.answer {
            answer.text.shorten(texts);
        }
        let Some(most) = texts.most() else { return };
        for hit in &mut self.hits {
            hit.title = hit.title.take().and_then(|title| title_of(&title, most));
        }
        if let (KeptTexts::None, Some(failure)) = (texts, &mut self.failure) {
            failure.withhold_texts();
        }
        let Some(answer) = &mut self.answer else {
            return;
        };
        answer
            .broken
            .iter_mut()
            .for_each(|name| shorten(name, most));
        let elsewhere = answer.cited.iter_mut().filter(|cited| cited.rank.is_none());
        for cited in elsewhere {
            shorten(&mut cited.doc_id, most);
            cited
                .chunk_id
                .iter_mut()
                .for_each(|name| shorten(name, most));
        }
    }

    /// The citations of an answer that should not be there. A refusal may cite the documents that the system has
    /// examined.
    pub(super) fn stray(&self, labels: &Labels) -> StrayCitations<'_> {
        let answer = self.answer.as_ref();
        let cited = match answer.filter(|answer| self.ran() && answer.grounded) {
            Some(answer) => answer.cited.as_slice(),
            None => &[],
        };
        let has_found = self.rank.or(self.docs.first()).is_some();
        let is_right = |cited: &Cited| labels.accepts(cited, &self.hits);
        StrayCitations {
            not_retrieved: cited.iter().filter(|one| one.rank.is_none()).collect(),
            elsewhere: match has_found && !cited.iter().any(is_right) {
                true => cited.iter().filter(|one| one.rank.is_some()).collect(),
                false => Vec::new(),
            },
        }
    }
}

/// Citations of one answer that should not be there.
pub(super) struct StrayCitations<'a> {
    /// Citations that name no hit of their own query.
    pub(super) not_retrieved: Vec<&'a Cited>,
    /// Citations of documents other than the expected ones, although an expected document was found. Labels seldom name
    /// every document that supports an answer, so this list is empty if at least one citation is right.
    pub(super) elsewhere: Vec<&'a Cited>,
}

/// Shortens a name to its first `most` characters.
fn shorten(name: &mut String, most: usize) {
    if let Some((end, _)) = name.char_indices().nth(most) {
        name.truncate(end);
    }
}

/// One hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The chunk; missing if the run knows documents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// The document.
    pub doc_id: String,
    /// Its title or the beginning of its text, if the output has either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The score, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The parts of the document that it covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
}

/// The parts of an answer that are judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRecord {
    /// Whether the answer claims to use the hits; false means a refusal.
    pub grounded: bool,
    /// Its text. The digest is that of the text with every run of white space as one space: other line breaks do not
    /// make it another answer.
    pub text: KeptText,
    /// How many citations it has.
    pub citations: usize,
    /// The first citations, each target once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Cited>,
    /// The citations that lead nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// What the answer must contain but does not contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// What the answer must not contain but contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
}

impl AnswerRecord {
    /// How many characters of a text are stored at most: no person reads a longer answer in a review, and the output
    /// file contains all of it.
    const MOST: usize = 2_000;

    /// An answer with a text, and without citations and requirements.
    pub(super) fn of(text: &str, grounded: bool) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        Self {
            grounded,
            text: KeptText {
                digest: Digest::of(words.join(" ").as_bytes()),
                ..KeptText::beginning(text, Self::MOST)
            },
            citations: 0,
            cited: Vec::new(),
            broken: Vec::new(),
            lacks: Vec::new(),
            forbidden: Vec::new(),
        }
    }
}

/// What an answer cites.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Cited {
    /// The document.
    pub doc_id: String,
    /// The chunk, if the citation names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// The rank of the first hit that it names; missing if it was never retrieved for this query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

impl Cited {
    /// The name of the citation in texts for people.
    pub(super) fn name(&self) -> String {
        named(&self.doc_id, self.chunk_id.as_deref())
    }
}

impl Hit {
    /// The name of the hit in texts for people.
    pub(super) fn name(&self) -> String {
        named(&self.doc_id, self.chunk_id.as_deref())
    }
}
