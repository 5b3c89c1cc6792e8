//! The passages and documents that a query expects, for two sides with different chunks.

use std::collections::{BTreeMap, BTreeSet};

use super::spans::{InPart, Passage, PassagePlace};
use crate::{Hit, QueryRecord, SpanRule};

/// A target that should be found, with any chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RelevanceTarget {
    /// Any hit of a document.
    Document(String),
    /// A passage of a document.
    Passage(Passage),
    /// The passage that an expected chunk covered: the answer is somewhere in it.
    Covered(Passage),
}

/// The targets of a query, from the record of the side whose labels count, here called the base; the other side is the
/// head. The first known source is used: the spans of the golden set; the spans of the expected chunks that the base
/// found; the expected documents; the documents of the expected chunks, from the corpus of the base and from the hits
/// that matched; the same from the corpus of the head. Empty if nothing is expected, or nothing is known.
pub(super) fn relevance_targets(
    base: &QueryRecord,
    head: Option<&QueryRecord>,
    by_span: bool,
) -> Vec<RelevanceTarget> {
    let labels = &base.labels;
    if !labels.chunks && !labels.docs {
        return Vec::new();
    }
    let expected: BTreeSet<&str> = labels.expected_docs.iter().map(String::as_str).collect();
    let span_docs: BTreeSet<&str> = labels
        .expected_spans
        .iter()
        .map(|span| span.doc_id.as_str())
        .collect();
    if by_span && !span_docs.is_empty() {
        let passages = labels
            .expected_spans
            .iter()
            .filter_map(|span| Passage::new(&span.doc_id, &[(span.start, span.end)]));
        let others = expected.difference(&span_docs).copied();
        return passages
            .map(RelevanceTarget::Passage)
            .chain(documents(others))
            .collect();
    }
    let known = chunks(base);
    let matched = matched(base, &known);
    if by_span {
        let found = passages(&known, &matched, &expected);
        if !found.is_empty() {
            return found;
        }
    }
    if !expected.is_empty() {
        return documents(expected).collect();
    }
    if !span_docs.is_empty() {
        return documents(span_docs).collect();
    }
    let corpus = known.values().copied().flatten();
    let hits = matched.values().map(|hit| hit.doc_id.as_str());
    let docs: BTreeSet<&str> = corpus.chain(hits).collect();
    match (docs.is_empty(), head) {
        (true, Some(head)) => documents(corpus_docs(head)).collect(),
        _ => documents(docs).collect(),
    }
}

/// Whether the head expects other documents than the base, although both only name chunks: then not just the chunk
/// names in its golden entry were edited.
pub(super) fn moved(base: &[RelevanceTarget], head: &QueryRecord) -> bool {
    let labels = &head.labels;
    let theirs = corpus_docs(head);
    if !labels.expected_docs.is_empty() || !labels.expected_spans.is_empty() || theirs.is_empty() {
        return false;
    }
    !base.iter().all(|target| theirs.contains(target.doc()))
}

/// Where the first of the targets is found among hits.
pub(super) fn find(
    targets: &[RelevanceTarget],
    hits: &[Hit],
    rule: SpanRule,
) -> Option<PassagePlace> {
    let places: Vec<PassagePlace> = targets
        .iter()
        .filter_map(|target| match target {
            RelevanceTarget::Passage(passage) | RelevanceTarget::Covered(passage) => {
                passage.find(hits, rule)
            }
            RelevanceTarget::Document(doc) => {
                let at = hits.iter().position(|hit| hit.doc_id == *doc)?;
                let rank = u32::try_from(at + 1).ok()?;
                Some(PassagePlace {
                    rank,
                    held: rank,
                    oversized: Vec::new(),
                })
            }
        })
        .collect();
    Some(PassagePlace {
        rank: places.iter().map(|place| place.rank).min()?,
        held: places.iter().map(|place| place.held).min()?,
        oversized: places
            .into_iter()
            .flat_map(|place| place.oversized)
            .collect(),
    })
}

/// How much hits contain of passages that are only known as chunks, if the hits do not contain half of any passage.
pub(super) fn in_part(targets: &[RelevanceTarget], hits: &[Hit], own: &BTreeSet<String>) -> InPart {
    let parts: Vec<InPart> = targets
        .iter()
        .filter_map(|target| match target {
            RelevanceTarget::Covered(passage) => Some(passage.in_part(hits, own)),
            RelevanceTarget::Document(_) | RelevanceTarget::Passage(_) => None,
        })
        .collect();
    InPart {
        confirmed: parts.iter().filter_map(|part| part.confirmed).min(),
        possible: parts.iter().filter_map(|part| part.possible).min(),
    }
}

impl RelevanceTarget {
    /// Whether the target says which part of a document is relevant.
    pub(super) const fn is_passage(&self) -> bool {
        matches!(self, Self::Passage(_) | Self::Covered(_))
    }

    /// The document of the target.
    pub(super) fn doc(&self) -> &str {
        match self {
            Self::Document(doc) => doc,
            Self::Passage(passage) | Self::Covered(passage) => passage.doc(),
        }
    }
}

/// The expected chunks, each with its document if the corpus of the base contains it.
fn chunks(base: &QueryRecord) -> BTreeMap<&str, Option<&str>> {
    let chunks = base.labels.expected_chunks.iter();
    chunks
        .map(|(chunk, doc)| (chunk.as_str(), doc.as_deref()))
        .collect()
}

/// The hits of the base that are expected chunks, by chunk.
fn matched<'r>(
    base: &'r QueryRecord,
    chunks: &BTreeMap<&'r str, Option<&'r str>>,
) -> BTreeMap<&'r str, &'r Hit> {
    let hits = base.runs.iter().flat_map(|run| &run.hits);
    hits.filter_map(|hit| Some((hit.chunk_id.as_deref()?, hit)))
        .filter(|(chunk, _)| chunks.contains_key(chunk))
        .collect()
}

/// The passages that the base's hits on the expected chunks covered. An expected chunk that the base did not find is
/// replaced by its document, since its passage is not known. Empty if no passage is known.
fn passages(
    chunks: &BTreeMap<&str, Option<&str>>,
    matched: &BTreeMap<&str, &Hit>,
    expected: &BTreeSet<&str>,
) -> Vec<RelevanceTarget> {
    let covered = |hit: &Hit| {
        let own = hit
            .spans
            .iter()
            .filter(|span| span.doc_id.is_empty() || span.doc_id == hit.doc_id);
        let ranges: Vec<(u64, u64)> = own.map(|span| (span.start, span.end)).collect();
        Passage::new(&hit.doc_id, &ranges)
    };
    let found: BTreeMap<&str, Passage> = matched
        .iter()
        .filter_map(|(chunk, hit)| Some((*chunk, covered(hit)?)))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let mut others = BTreeSet::new();
    for (chunk, doc) in chunks
        .iter()
        .filter(|(chunk, _)| !found.contains_key(*chunk))
    {
        let doc = doc.or_else(|| Some(matched.get(chunk)?.doc_id.as_str()));
        match doc {
            Some(doc) => others.extend([doc]),
            None => others.extend(
                expected
                    .iter()
                    .filter(|doc| found.values().all(|passage| passage.doc() != **doc)),
            ),
        }
    }
    let others: Vec<RelevanceTarget> = documents(others).collect();
    found
        .into_values()
        .map(RelevanceTarget::Covered)
        .chain(others)
        .collect()
}

/// The documents of the expected chunks, from the corpus.
fn corpus_docs(query: &QueryRecord) -> BTreeSet<&str> {
    let docs = query.labels.expected_chunks.values().flatten();
    docs.map(String::as_str).collect()
}

fn documents<'d>(docs: impl IntoIterator<Item = &'d str>) -> impl Iterator<Item = RelevanceTarget> {
    docs.into_iter()
        .map(|doc| RelevanceTarget::Document(doc.to_owned()))
}
