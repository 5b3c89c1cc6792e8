//! Hits of documents that the base did not have: nobody can have judged them when the labels were written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::KnownDocuments;
use crate::record::Cited;
use crate::{Hit, Labels, QueryRecord, RetrievalSection, Retrieved};
use kelvin_record::Viewpoint;

/// A hit of the head that no label can have judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedHit {
    /// The query.
    pub query: String,
    /// Its rank.
    pub rank: u32,
    /// The document, which the corpus of the base does not have.
    pub doc_id: String,
}

/// The documents that are new on the head, and their hits.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Newcomers {
    /// The corpora of the base and of the head, if both are known.
    corpora: Option<(KnownDocuments, KnownDocuments)>,
    /// How many hits were examined.
    pub(super) looked_at: usize,
    /// The hits of documents that the base did not have and that no label names.
    pub(super) unjudged: Vec<UnjudgedHit>,
}

impl Newcomers {
    /// Starts with the documents that both sides know.
    pub(super) fn between(base: &RetrievalSection, head: &RetrievalSection) -> Self {
        let corpora = base.basis.corpus.clone().zip(head.basis.corpus.clone());
        Self {
            corpora,
            ..Self::default()
        }
    }

    /// Counts the hits of a query that nobody can have judged. In the best case, the hits that these may have displaced
    /// are used instead: then the changed runs are returned, which must be ranked again.
    pub(super) fn displaced(
        &mut self,
        id: &str,
        (before, after): (&QueryRecord, &QueryRecord),
        depth: usize,
        reading: Viewpoint,
    ) -> Option<Vec<Retrieved>> {
        let QueryRecord { labels, runs, .. } = after;
        if !(labels.chunks || labels.docs) || self.corpora.is_none() {
            return None;
        }
        let of_base = before.runs.first().map_or(&[][..], |run| &run.hits);
        let mut displaced: Option<Vec<Retrieved>> = None;
        for (at, run) in runs.iter().enumerate() {
            let looked_at = &run.hits[..run.hits.len().min(depth)];
            let is_unjudged = |hit: &Hit| self.is_new(&hit.doc_id) && !names(labels, hit);
            let ranks: Vec<(u32, &Hit)> = (1..)
                .zip(looked_at)
                .filter(|(_, hit)| is_unjudged(hit))
                .collect();
            let without = (reading.at_best && !ranks.is_empty())
                .then(|| without(looked_at, &is_unjudged, of_base));
            // Only the first repeat is counted; it stands for all repeats.
            if at == 0 {
                let hits = ranks.into_iter().map(|(rank, hit)| UnjudgedHit {
                    query: id.to_owned(),
                    rank,
                    doc_id: hit.doc_id.clone(),
                });
                let hits: Vec<UnjudgedHit> = hits.collect();
                self.looked_at += looked_at.len();
                self.unjudged.extend(hits);
            }
            if let Some(without) = without {
                let run = &mut displaced.get_or_insert_with(|| runs.clone())[at];
                run.hits = without;
                // No label shows whether citing such a document is right.
                if let Some(answer) = &mut run.answer {
                    let is_new = |cited: &Cited| cited.rank.is_some() && self.is_new(&cited.doc_id);
                    answer.cited.retain(|cited| !is_new(cited));
                }
            }
        }
        displaced
    }

    /// The share of the examined hits that somebody can have judged; none if that is not known.
    pub(super) fn judged(&self) -> Option<f64> {
        let share = || 1.0 - self.unjudged.len() as f64 / self.looked_at as f64;
        (self.corpora.is_some() && self.looked_at > 0).then(share)
    }

    /// Whether a document exists on the head and did not exist on the base. A document that exists nowhere is not new.
    fn is_new(&self, doc: &str) -> bool {
        let corpora = self.corpora.as_ref();
        corpora.is_some_and(|(base, head)| head.has(doc) && !base.has(doc))
    }
}

/// Whether labels name a hit.
fn names(labels: &Labels, hit: &Hit) -> bool {
    let chunk = hit.chunk_id.as_ref();
    let by_chunk = chunk.is_some_and(|id| labels.expected_chunks.contains_key(id));
    by_chunk || labels.expected_docs.contains(&hit.doc_id)
}

/// The hits as they may have been without new documents: the other hits in order, followed by the hits of the base from
/// that rank on. The earlier hits of the base were displaced by documents that are not new.
fn without(hits: &[Hit], is_unjudged: &dyn Fn(&Hit) -> bool, base: &[Hit]) -> Vec<Hit> {
    let mut left: Vec<Hit> = hits
        .iter()
        .filter(|hit| !is_unjudged(hit))
        .cloned()
        .collect();
    let is_same =
        |one: &Hit, other: &Hit| one.chunk_id == other.chunk_id && one.doc_id == other.doc_id;
    let behind: Vec<Hit> = base
        .iter()
        .take(hits.len())
        .skip(left.len())
        .filter(|hit| !left.iter().any(|one| is_same(one, hit)))
        .cloned()
        .collect();
    left.extend(behind);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(docs: &[&str]) -> Vec<Hit> {
        let hit = |doc: &&str| Hit {
            chunk_id: None,
            doc_id: (*doc).to_owned(),
            title: None,
            score: None,
            spans: Vec::new(),
        };
        docs.iter().map(hit).collect()
    }

    #[test]
    fn what_a_new_document_pushed_out_comes_back_and_what_an_old_one_beat_does_not() {
        let is_new = |hit: &Hit| hit.doc_id.starts_with('n');
        let left = |head: &[&str], base: &[&str]| {
            let left = without(&hits(head), &is_new, &hits(base));
            left.into_iter().map(|hit| hit.doc_id).collect::<Vec<_>>()
        };
        assert_eq!(left(&["n1", "a", "n2"], &["a", "b", "c"]), ["a", "b", "c"]);
        assert_eq!(left(&["n1", "n2", "n3"], &["a", "b", "c"]), ["a", "b", "c"]);
        // The first of the base was beaten by two that are not new.
        assert_eq!(left(&["d", "e", "n1"], &["a", "b", "c"]), ["d", "e", "c"]);
        assert_eq!(left(&["d", "e", "f"], &["a", "b", "c"]), ["d", "e", "f"]);
    }
}
