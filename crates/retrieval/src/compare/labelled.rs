//! Ranks hits by the labels of the other side, which were not used when the hits were returned.

use std::collections::BTreeSet;

use super::spans::Passage;
use super::targets::{self, RelevanceTarget};
use crate::{Hit, Labels, QueryRecord, Ranking, Retrieved, SpanRule};

/// Ranks the stored hits of a run by the given labels.
pub(super) fn rank(labels: &Labels, run: &mut Retrieved, rule: SpanRule) {
    let chunks: BTreeSet<&str> = labels.expected_chunks.keys().map(String::as_str).collect();
    let docs: BTreeSet<&str> = labels.expected_docs.iter().map(String::as_str).collect();
    let hits = &run.hits;
    let is_expected = |hit: &Hit| {
        let chunk = hit.chunk_id.as_deref();
        chunk.is_some_and(|id| chunks.contains(id))
    };
    run.held = None;
    run.rank = match labels.cut_anew {
        true => by_document(labels, hits, rule),
        false => place(hits, is_expected),
    };
    run.judged = if chunks.is_empty() || labels.cut_anew {
        Ranking::of_keys(hits.iter().map(|hit| hit.doc_id.as_str()), &docs)
    } else {
        let ids = hits.iter();
        let ids = ids.map(|hit| hit.chunk_id.as_deref().unwrap_or_default());
        Ranking::of_keys(ids, &chunks)
    };
    let found = docs
        .iter()
        .filter_map(|doc| Some((place(hits, |hit| hit.doc_id == **doc)?, 1)));
    run.docs = Ranking::new(found, docs.iter().map(|_| 1), 1);
}

/// Ranks every run of a query by the given labels, which become the query's own.
pub(super) fn relabel(query: &mut QueryRecord, labels: &Labels, rule: SpanRule) {
    query.labels = labels.clone();
    for run in &mut query.runs {
        rank(labels, run, rule);
    }
}

/// Whether labels name the documents or chunks that they expect, so that other hits can be ranked with them. Labels
/// from judgements in a separate file do not.
pub(super) fn are_named(labels: &Labels) -> bool {
    let by_chunk = labels.cut_anew || labels.chunks != labels.expected_chunks.is_empty();
    by_chunk && labels.docs != labels.expected_docs.is_empty()
}

/// The rank for labels whose expected chunks no longer exist: the rank at which half of an expected span has been
/// found, or the rank of the first hit of an expected document.
pub(crate) fn by_document(labels: &Labels, hits: &[Hit], rule: SpanRule) -> Option<u32> {
    let has_spans = hits.iter().any(|hit| !hit.spans.is_empty());
    let spans = labels.expected_spans.iter().filter(|_| has_spans);
    let passages = spans.filter_map(|span| Passage::new(&span.doc_id, &[(span.start, span.end)]));
    let mut all: Vec<RelevanceTarget> = passages.map(RelevanceTarget::Passage).collect();
    let in_spans: BTreeSet<&str> = labels
        .expected_spans
        .iter()
        .map(|span| &*span.doc_id)
        .collect();
    let docs = labels.expected_docs.iter().map(String::as_str);
    all.extend(
        docs.chain(in_spans.iter().copied())
            .filter(|doc| !has_spans || !in_spans.contains(doc))
            .map(|doc| RelevanceTarget::Document(doc.to_owned())),
    );
    targets::find(&all, hits, rule).map(|place| place.held)
}

/// The rank of the first hit for which `is_it` is true.
fn place(hits: &[Hit], is_it: impl Fn(&Hit) -> bool) -> Option<u32> {
    u32::try_from(hits.iter().position(is_it)? + 1).ok()
}
