//! The parts of a verdict that concern two retrieval runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::RetrievalChange;
use super::page::{LONGEST_ID, enumerated};
use kelvin_page::{ComparisonPage, safe};
use kelvin_record::{AlignmentWarning, ComparedSide, ItemComparison};

impl ItemComparison for RetrievalChange {
    fn page(&self) -> Option<ComparisonPage<'_>> {
        Some(self.as_page())
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let mut warnings = Vec::new();
        let mut warn = |text: String, is_open| warnings.push(AlignmentWarning { text, is_open });
        if !self.not_aligned.is_empty() {
            let text = format!(
                "the chunkers of base and head differ, and nothing says which documents have the chunks \
                 that {} expect: give `expected_doc_ids`, or a `corpus`",
                queries(&self.not_aligned)
            );
            warn(text, false);
        }
        let oversized = self.newly_oversized();
        if !oversized.is_empty() {
            let text = format!(
                "in {} a hit of the head is more than 10 times as long as the expected \
                 passage and counts as found: any hit of that length would",
                queries(&oversized)
            );
            warn(text, false);
        }
        if self.spans_gone {
            let text = "the hits of the base have spans and those of the head have none: the \
                        queries were compared by document alone, so that a wrong part of the right \
                        document is not seen"
                .to_owned();
            warn(text, true);
        }
        if !self.worse_by_chunk.is_empty() {
            let text = format!(
                "the head names another chunker, but most of its chunks have the same ids as those of the \
                 base: by document nothing was lost, by chunk {} got worse; only spans in the hits \
                 would tell which is right",
                queries(&self.worse_by_chunk)
            );
            warn(text, true);
        }
        if !self.worse_by_own_labels.is_empty() {
            let text = format!(
                "the head names its chunks otherwise than the base: by document nothing was lost, by the chunks that the \
                 labels of each side expect {} got worse; only spans in the hits would tell which is right",
                queries(&self.worse_by_own_labels)
            );
            warn(text, true);
        }
        if !self.answers_apart.is_empty() {
            let text = format!(
                "the change edits `must_contain` or `forbidden` of {}, whose answers are others too: whether these \
                 held what was asked of them before is not known",
                queries(&self.answers_apart)
            );
            warn(text, true);
        }
        if !self.by_own_label.is_empty() {
            let text = format!(
                "in {} less than half came back of what the expected chunk of the base covered; it counts as found, \
                 because the labels of this change name the part that came back: `expected_spans` would tell",
                queries(&self.by_own_label)
            );
            warn(text, false);
        }
        warnings
    }

    fn relabelled(&self) -> &[String] {
        &self.relabelled
    }

    fn doubt(&self) -> Option<String> {
        let in_part = (!self.in_part.is_empty()).then(|| {
            format!(
                "in {} only a part came back of what the expected chunk of the base covered, and nothing tells \
                 whether it is the part that was asked for: `expected_spans` would",
                queries(&self.in_part)
            )
        });
        let unjudged = (!self.unjudged.is_empty()).then(|| {
            let documents = self.unjudged_documents();
            let judged = self.judged.unwrap_or_default();
            format!(
                "{} of the hits that were looked at are documents that the base did not have and that no label names \
                 ({:.0} % are judged); say in the golden set which of these {} answer the question: {}",
                self.unjudged.len(),
                100.0 * judged,
                documents.len().min(FIRST),
                safe::line(&enumerated(&documents, FIRST))
            )
        });
        let all: Vec<String> = in_part.into_iter().chain(unjudged).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Rejects chunker versions that differ or are not known.
    fn strict(&self) -> Result<(), String> {
        let one = |versions: &[String]| match versions {
            [] => "unknown".to_owned(),
            versions => versions.join(", "),
        };
        let (base, head) = (one(&self.base_versions), one(&self.head_versions));
        if self.base_versions.len() == 1 && base == head {
            return Ok(());
        }
        Err(format!(
            "the chunker version of the base is `{base}`, that of the head is `{head}`"
        ))
    }
}

/// How many documents are named for somebody to judge at most.
const FIRST: usize = 12;

impl RetrievalChange {
    /// The documents that nobody can have judged: those in the most queries first, and among these the highest-ranked.
    fn unjudged_documents(&self) -> Vec<String> {
        let mut documents: BTreeMap<&str, (usize, u32)> = BTreeMap::new();
        for hit in &self.unjudged {
            let seen = documents.entry(&hit.doc_id).or_insert((0, hit.rank));
            *seen = (seen.0 + 1, seen.1.min(hit.rank));
        }
        let mut documents: Vec<(&str, (usize, u32))> = documents.into_iter().collect();
        documents.sort_by_key(|(_, (queries, rank))| (Reverse(*queries), *rank));
        let names = documents.into_iter();
        names
            .map(|(name, _)| safe::cut_middle(name, LONGEST_ID))
            .collect()
    }

    /// Queries with an oversized hit on the head but not on the base.
    fn newly_oversized(&self) -> Vec<String> {
        let of = |side: ComparedSide| -> BTreeSet<&str> {
            let hits = self.oversized_hits.iter().filter(|hit| hit.side == side);
            hits.map(|hit| hit.query.as_str()).collect()
        };
        of(ComparedSide::Head)
            .difference(&of(ComparedSide::Base))
            .map(|id| (*id).to_owned())
            .collect()
    }
}

/// The queries that a sentence of a verdict names.
fn queries(ids: &[String]) -> String {
    match ids {
        [id] => format!("query `{}`", safe::cut_middle(id, LONGEST_ID)),
        ids => format!(
            "{} queries ({})",
            ids.len(),
            safe::line(&enumerated(ids, 3))
        ),
    }
}
