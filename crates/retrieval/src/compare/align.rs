//! Makes two runs comparable whose documents were split by different chunkers.

use std::collections::BTreeSet;

use super::labelled::{are_named, rank, relabel};
use super::newcomers::Newcomers;
use super::targets::{self, RelevanceTarget};
use super::{ChunkerVersionMatch, OversizedHit};
use crate::record::{AnswerRecord, chunker_versions};
use crate::{Hit, QueryRecord, Ranking, RetrievalSection, SpanRule};
use kelvin_base::digest::{Digest, Fields};
use kelvin_record::{ComparedSide, Viewpoint};

/// If at least this share of the head's hits of expected documents are chunks of the base, both sides seem to have the
/// same chunks.
const SAME_IDS: f64 = 0.5;

/// A drop of the mean reciprocal rank by chunk that is larger than this is reported.
const DROP: f64 = 0.05;

/// How two runs were made comparable, and which queries could not be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alignment {
    /// The condition under which two hits count as the same.
    pub(super) mode: ChunkerVersionMatch,
    /// The head's rule for when a passage counts as found.
    pub(super) rule: SpanRule,
    /// Queries for whose expected chunks no document is known.
    pub(super) not_aligned: Vec<String>,
    /// Hits that count for a passage and are many times as long as the passage.
    pub(super) oversized: Vec<OversizedHit>,
    /// Whether the hits of the base have spans and those of the head do not.
    pub(super) spans_gone: bool,
    /// Queries that are equally good by document but worse by chunk, although the head gives chunks the same names as
    /// the base.
    pub(super) worse_by_chunk: Vec<String>,
    /// Queries that are equally good by document but worse by the chunks that the labels of each side expect, where the
    /// head expects other chunks than the base.
    pub(super) worse_by_own_labels: Vec<String>,
    /// Queries with the same question whose labels the head edits.
    pub(super) relabelled: Vec<String>,
    /// The relabelled queries whose labels have other requirements for the answer, and whose answer changed too.
    pub(super) answers_apart: Vec<String>,
    /// Queries that count as found because the labels of the head name the part that was returned.
    pub(super) by_own_label: Vec<String>,
    /// Queries for which only a part of the passage was returned that the base's expected chunk covered.
    pub(super) in_part: Vec<String>,
    /// The hits of the head in documents that the base did not have.
    pub(super) newcomers: Newcomers,
}

impl Alignment {
    /// Makes two runs comparable from one of the viewpoints, and records how.
    pub(super) fn between(
        base: &mut RetrievalSection,
        head: &mut RetrievalSection,
        reading: Viewpoint,
    ) -> Self {
        let mut alignment = Self::of(base, head);
        match alignment.mode {
            ChunkerVersionMatch::Exact => alignment.by_chunk(base, head, reading),
            ChunkerVersionMatch::FallbackDocSpan | ChunkerVersionMatch::FallbackDoc => {
                alignment.by_document(base, head, reading);
            }
        }
        alignment
    }

    fn of(base: &RetrievalSection, head: &RetrievalSection) -> Self {
        let exact = Self {
            mode: ChunkerVersionMatch::Exact,
            rule: head.basis.figures.span_rule,
            not_aligned: Vec::new(),
            oversized: Vec::new(),
            spans_gone: false,
            worse_by_chunk: Vec::new(),
            worse_by_own_labels: Vec::new(),
            relabelled: Vec::new(),
            answers_apart: Vec::new(),
            by_own_label: Vec::new(),
            in_part: Vec::new(),
            newcomers: Newcomers::between(base, head),
        };
        let is_cut_anew = cut_anew(head) && !cut_anew(base);
        if chunker_versions(base) == chunker_versions(head) && !is_cut_anew {
            return exact;
        }
        let has_spans = |hit: &Hit| !hit.spans.is_empty();
        let base_tells = hits(base).next().is_some() && hits(base).all(has_spans);
        let head_tells = hits(head).next().is_none() || hits(head).any(has_spans);
        let knows_passages = base.items.iter().any(|(id, query)| {
            let targets = targets::relevance_targets(query, head.items.get(id), true);
            targets.iter().any(RelevanceTarget::is_passage)
        });
        let by_span = base_tells && knows_passages;
        Self {
            mode: match by_span && head_tells {
                true => ChunkerVersionMatch::FallbackDocSpan,
                false => ChunkerVersionMatch::FallbackDoc,
            },
            spans_gone: by_span && !head_tells,
            ..exact
        }
    }

    /// Compares by chunk. Queries with the same question are paired, even if their labels differ.
    fn by_chunk(
        &mut self,
        old: &mut RetrievalSection,
        new: &mut RetrievalSection,
        reading: Viewpoint,
    ) {
        let depth = new.basis.figures.depth();
        // Most queries do not change. If none does, neither side is copied: the records are shared with the reports.
        let ids: Vec<String> = new.items.keys().cloned().collect();
        for id in &ids {
            let sides = old.items.get(id).zip(new.items.get(id));
            let Some((before, after)) = sides else {
                continue;
            };
            if before.input != after.input {
                if !is_same_question(before, after) {
                    continue;
                }
                let sides = old.items.get_mut(id).zip(new.items.get_mut(id));
                let (before, after) = sides.expect("both have it");
                self.relabel(id, (before, after), reading);
                after.input = before.input;
            }
            let sides = (&old.items[id], &new.items[id]);
            if let Some(runs) = self.newcomers.displaced(id, sides, depth, reading) {
                let after = new.items.get_mut(id).expect("both have it");
                after.runs = runs;
                let labels = &after.labels;
                let runs = after.runs.iter_mut();
                runs.for_each(|run| rank(labels, run, self.rule));
            }
        }
    }

    /// Ranks both sides of a query, whose labels the head edits, by the labels of one side.
    fn relabel(
        &mut self,
        id: &str,
        (before, after): (&mut QueryRecord, &mut QueryRecord),
        reading: Viewpoint,
    ) {
        self.relabelled.push(id.to_owned());
        let has_content = before.labels.content || after.labels.content;
        let is_asked_otherwise = before.of_answer.is_none() || before.of_answer != after.of_answer;
        if has_content && is_asked_otherwise {
            if before.labels.content && may_have_lost(before, after) {
                self.answers_apart.push(id.to_owned());
            }
            // A record need not contain the whole text of an answer, so the text cannot be checked with other labels.
            before.labels.content = false;
            after.labels.content = false;
        }
        let labels = match reading.labels {
            ComparedSide::Base => before.labels.clone(),
            ComparedSide::Head => after.labels.clone(),
        };
        relabel(before, &labels, self.rule);
        relabel(after, &labels, self.rule);
    }

    fn by_document(
        &mut self,
        old: &mut RetrievalSection,
        new: &mut RetrievalSection,
        reading: Viewpoint,
    ) {
        let known = named(old);
        // These numbers count the head's hits of expected documents, and how many of those hits are chunks of the base.
        let (mut of_expected, mut shared) = (0_u32, 0_u32);
        let depths = [old.basis.figures.depth(), new.basis.figures.depth()];
        let by_span = self.mode == ChunkerVersionMatch::FallbackDocSpan;
        // These variables compare by chunk, over the queries for which both sides expect the same chunks.
        let (mut drop, mut compared, mut worse) = (0.0, 0_u32, Vec::new());
        // The same over the other queries, each side by the chunks that its own labels expect.
        let (mut own_drop, mut own_compared, mut own_worse) = (0.0, 0_u32, Vec::new());
        let ids: BTreeSet<String> = old.items.keys().chain(new.items.keys()).cloned().collect();
        for id in ids {
            let (before, after) = (old.items.get_mut(&id), new.items.get_mut(&id));
            let (Some(before), Some(after)) = (before, after) else {
                let alone = old.items.get_mut(&id).or(new.items.get_mut(&id));
                if let Some(query) = alone {
                    self.alone(query, depths[0].min(depths[1]), by_span);
                }
                continue;
            };
            let mut targets = targets::relevance_targets(before, Some(after), by_span);
            let asks_the_same = before.input == after.input;
            let by_chunk = [reciprocal(before, depths[0]), reciprocal(after, depths[1])];
            let had_chunks = before.labels.chunks;
            let own: BTreeSet<String> = after.labels.expected_chunks.keys().cloned().collect();
            let has_moved = targets::moved(&targets, after);
            let is_same = is_same_question(before, after);
            before.input = before.by_document.unwrap_or(before.input);
            after.input = after.by_document.unwrap_or(after.input);
            if before.input != after.input || has_moved {
                if !is_same {
                    if before.input == after.input {
                        after.input = elsewhere(after);
                    }
                    for (query, depth) in [(before, depths[0]), (after, depths[1])] {
                        self.alone(query, depth, by_span);
                    }
                    continue;
                }
                if reading.labels == ComparedSide::Head {
                    targets = targets::relevance_targets(after, Some(before), by_span);
                }
                self.relabel(&id, (before, after), reading);
                after.input = before.input;
            }
            if targets.is_empty() {
                // The base keeps its expected chunks, so that the comparison shows that the head lacks them.
                after.labels.chunks = false;
                if had_chunks {
                    self.not_aligned.push(id);
                }
                continue;
            }
            for hit in after.runs.iter().flat_map(|run| &run.hits) {
                if targets.iter().any(|target| target.doc() == hit.doc_id) {
                    let is_known = hit.chunk_id.as_ref().is_some_and(|id| known.contains(id));
                    of_expected += 1;
                    shared += u32::from(is_known);
                }
            }
            let displaced = self
                .newcomers
                .displaced(&id, (before, after), depths[1], reading);
            if let Some(runs) = displaced {
                after.runs = runs;
                let labels = &after.labels;
                let runs = after.runs.iter_mut();
                runs.for_each(|run| rank(labels, run, self.rule));
            }
            let of_base = place(before, &targets, depths[0], self.rule);
            let of_head = place(after, &targets, depths[1], self.rule);
            for (side, oversized) in [(ComparedSide::Base, of_base), (ComparedSide::Head, of_head)]
            {
                let named = oversized.into_iter().map(|(rank, times)| OversizedHit {
                    query: id.clone(),
                    side,
                    rank,
                    times,
                });
                self.oversized.extend(named);
            }
            if before.runs.iter().any(|run| run.rank.is_some()) {
                self.seen_in_part(&id, after, (&targets, &own), depths[1], reading);
            }
            let by_document = [reciprocal(before, depths[0]), reciprocal(after, depths[1])];
            let is_worse = by_chunk[1] < by_chunk[0] && by_document[1] >= by_document[0];
            if had_chunks && asks_the_same {
                compared += 1;
                drop += by_chunk[0] - by_chunk[1];
                worse.extend(is_worse.then_some(id));
            } else if had_chunks && !own.is_empty() {
                own_compared += 1;
                own_drop += by_chunk[0] - by_chunk[1];
                own_worse.extend(is_worse.then_some(id));
            }
        }
        if !by_span && own_drop > DROP * f64::from(own_compared) {
            self.worse_by_own_labels = own_worse;
        }
        let same_ids = shared > 0 && f64::from(shared) >= SAME_IDS * f64::from(of_expected);
        if same_ids && !by_span && drop > DROP * f64::from(compared) {
            self.worse_by_chunk = worse;
        }
    }

    /// Ranks the runs of the head that contain less than half of every expected passage. A part of a passage counts if
    /// the head's own labels name it. It is not known whether another part is the right one, so it counts only in the
    /// best case.
    fn seen_in_part(
        &mut self,
        id: &str,
        after: &mut QueryRecord,
        (targets, own): (&[RelevanceTarget], &BTreeSet<String>),
        depth: usize,
        reading: Viewpoint,
    ) {
        let (mut is_confirmed, mut is_possible) = (false, false);
        for run in after.runs.iter_mut().filter(|run| run.rank.is_none()) {
            let part = targets::in_part(targets, &run.hits[..run.hits.len().min(depth)], own);
            is_confirmed |= part.confirmed.is_some();
            is_possible |= part.confirmed.is_none() && part.possible.is_some();
            let counts = part.confirmed.or(part.possible.filter(|_| reading.at_best));
            run.rank = counts;
            run.held = counts;
        }
        if is_possible {
            self.in_part.push(id.to_owned());
        } else if is_confirmed {
            self.by_own_label.push(id.to_owned());
        }
    }

    /// Ranks a query without a counterpart on the other side by its own labels.
    fn alone(&self, query: &mut QueryRecord, depth: usize, by_span: bool) {
        let targets = targets::relevance_targets(query, None, by_span);
        if !targets.is_empty() {
            place(query, &targets, depth, self.rule);
        }
    }
}

/// Stores in every run the rank of the first relevant hit among the examined hits; returns the hits that are many times
/// as long as their passage.
fn place(
    query: &mut QueryRecord,
    targets: &[RelevanceTarget],
    depth: usize,
    rule: SpanRule,
) -> Vec<(u32, f64)> {
    let mut oversized = Vec::new();
    query.labels.chunks = true;
    for run in &mut query.runs {
        let looked_at = &run.hits[..run.hits.len().min(depth)];
        let place = targets::find(targets, looked_at, rule);
        run.rank = place.as_ref().map(|place| place.rank);
        run.held = place.as_ref().map(|place| place.held);
        run.judged = Ranking::default();
        // The first repeat with oversized hits is used for all repeats.
        if oversized.is_empty() {
            oversized = place.map_or_else(Vec::new, |place| place.oversized);
        }
    }
    oversized
}

/// 1 / rank of the first relevant hit in the first repeat; 0 if no examined hit is relevant.
fn reciprocal(query: &QueryRecord, depth: usize) -> f64 {
    let rank = query.runs.first().and_then(|run| run.rank);
    let rank = rank.filter(|rank| *rank as usize <= depth);
    rank.map_or(0.0, |rank| 1.0 / f64::from(rank))
}

/// Whether both sides send the pipeline the same question, and name the documents or chunks that they expect.
fn is_same_question(before: &QueryRecord, after: &QueryRecord) -> bool {
    let is_same = !before.query.is_empty() && before.query == after.query;
    is_same && are_named(&before.labels) && are_named(&after.labels)
}

/// Whether an answer of the base met its requirements, and the head has given another answer.
fn may_have_lost(before: &QueryRecord, after: &QueryRecord) -> bool {
    fn answers(query: &QueryRecord) -> Vec<&AnswerRecord> {
        let runs = query.runs.iter();
        runs.filter_map(|run| run.answer.as_ref()).collect()
    }
    let (old, new) = (answers(before), answers(after));
    let held = |answer: &&AnswerRecord| answer.lacks.is_empty() && answer.forbidden.is_empty();
    let is_known = |answer: &&AnswerRecord| {
        let mut old = old.iter();
        old.any(|one| one.text.digest == answer.text.digest)
    };
    let is_same = !new.is_empty() && new.iter().all(is_known);
    old.iter().any(held) && !is_same
}

/// Whether the corpus of a side lacks a chunk that some query expects.
fn cut_anew(side: &RetrievalSection) -> bool {
    side.items.values().any(|query| query.labels.cut_anew)
}

/// The digest of a golden entry whose chunks are in other documents than the chunks of the base.
fn elsewhere(query: &QueryRecord) -> Digest {
    let fields = Fields::of("kelvin/golden/elsewhere/v1").field("query", query.input.bytes());
    let docs = query.labels.expected_chunks.values().flatten();
    docs.fold(fields, |fields, doc| fields.field("document", doc))
        .digest()
}

/// The names of the base's chunks: those that it returned, and those that it expects.
fn named(base: &RetrievalSection) -> BTreeSet<String> {
    let returned = hits(base).filter_map(|hit| hit.chunk_id.clone());
    let expected = base.items.values().flat_map(|query| {
        let chunks = query.labels.expected_chunks.keys();
        chunks.cloned()
    });
    returned.chain(expected).collect()
}

fn hits(side: &RetrievalSection) -> impl Iterator<Item = &Hit> {
    let runs = side.items.values().flat_map(|query| &query.runs);
    runs.flat_map(|run| &run.hits)
}
