//! Makes two runs comparable that were cut by different chunkers.

use super::ChunkerVersionMatch;
use crate::probe::retrieval::{
    self, Hit, Labels, QueryRecord, Ranking, RetrievalRecord, Retrieved, Span,
};
use crate::report::Report;

/// By what hits of two runs can be compared.
pub(super) fn mode(base: &RetrievalRecord, head: &RetrievalRecord) -> ChunkerVersionMatch {
    if base.chunker_versions == head.chunker_versions {
        ChunkerVersionMatch::Exact
    } else if [base, head].iter().all(|side| has_spans(side)) {
        ChunkerVersionMatch::FallbackDocSpan
    } else {
        ChunkerVersionMatch::FallbackDoc
    }
}

/// Whether spans are known of what is expected and of what was found.
fn has_spans(side: &RetrievalRecord) -> bool {
    let queries = || side.queries.values();
    let hits = || queries().flat_map(|query| query.runs.iter().flat_map(|run| &run.hits));
    queries().any(|query| !query.labels.expected_spans.is_empty())
        && hits().next().is_some()
        && hits().all(|hit| !hit.spans.is_empty())
}

/// Two reports whose retrieval figures can be compared: as they are where the chunker is the same,
/// and otherwise with a first hit that counts by document, or document and span, on both sides.
/// What needs chunks is left out.
pub(crate) fn aligned(base: &Report, head: &Report) -> (Report, Report) {
    let (mut base, mut head) = (base.clone(), head.clone());
    if let (Some(old), Some(new)) = (&mut base.retrieval, &mut head.retrieval) {
        let mode = mode(old, new);
        if mode != ChunkerVersionMatch::Exact {
            for (record, metrics) in [(old, &mut base.metrics), (new, &mut head.metrics)] {
                by_document(record, mode);
                metrics.retain(|id, _| !id.starts_with("retrieval."));
                let mut figures = retrieval::figures(record);
                let needs_chunks = |id: &str| {
                    let name = id.trim_start_matches("retrieval.");
                    name.starts_with("precision@") || name.starts_with("ndcg@") || name == "map"
                };
                figures.retain(|id, _| !needs_chunks(id));
                metrics.extend(figures);
            }
        }
    }
    (base, head)
}

fn by_document(record: &mut RetrievalRecord, mode: ChunkerVersionMatch) {
    for query in record.queries.values_mut() {
        query.input = query.by_document.unwrap_or(query.input);
        let QueryRecord { labels, runs, .. } = query;
        labels.chunks = labels.docs;
        for run in runs {
            run.rank = rank(labels, run, mode);
            run.judged = Ranking::default();
        }
    }
}

/// The rank of the first hit that counts, among those that the report has.
fn rank(labels: &Labels, run: &Retrieved, mode: ChunkerVersionMatch) -> Option<u32> {
    let counts = |hit: &Hit| {
        let is_expected = labels.expected_docs.contains(&hit.doc_id);
        let by_span = mode == ChunkerVersionMatch::FallbackDocSpan;
        let spans: Vec<&Span> = labels
            .expected_spans
            .iter()
            .filter(|span| by_span && span.doc_id == hit.doc_id)
            .collect();
        is_expected && (spans.is_empty() || spans.iter().any(|span| covers(hit, span)))
    };
    let place = run.hits.iter().position(counts)?;
    u32::try_from(place + 1).ok()
}

/// Whether a hit has at least half of a span.
fn covers(hit: &Hit, span: &Span) -> bool {
    let common: u64 = hit
        .spans
        .iter()
        .map(|one| {
            one.end
                .min(span.end)
                .saturating_sub(one.start.max(span.start))
        })
        .sum();
    common.saturating_mul(2) >= span.end.saturating_sub(span.start)
}
