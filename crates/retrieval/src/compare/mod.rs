//! Compares two retrieval runs query by query: by chunk if both used the same chunker, otherwise by document and span,
//! or by document alone.

mod align;
mod labelled;
mod newcomers;
mod page;
mod ranked;
mod spans;
mod targets;
mod told;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::{figures, figures_by_document};
use super::record::chunker_versions;
use super::{QueryRecord, RetrievalSection, SpanRule};
use align::Alignment;
use kelvin_record::{ComparedSide, Metric, Surroundings, Viewpoint};
pub(super) use labelled::by_document;
pub use newcomers::UnjudgedHit;
pub(super) use ranked::ranked;

/// What makes a hit of one side the same as a hit of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChunkerVersionMatch {
    /// The chunk.
    Exact,
    /// Half of an expected passage: a span of the golden set, or what an expected chunk covered on
    /// the base.
    FallbackDocSpan,
    /// An expected document.
    FallbackDoc,
}

impl ChunkerVersionMatch {
    /// The mode in the form for reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::FallbackDocSpan => "fallback_doc_span",
            Self::FallbackDoc => "fallback_doc",
        }
    }
}

/// What became of a query.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum QueryOutcome {
    /// The base hit and the head misses.
    Regression,
    /// The base found the passage; the head returned only a part of it, and it is not known whether this part is the
    /// one that was asked for.
    Open,
    /// Both sides found it, and the head ranks it lower.
    Loss,
    /// Only the head found it, or the head ranks it higher.
    Win,
    /// Both sides found it at the same rank, or neither found it.
    Draw,
}

/// One query on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryChange {
    /// The query.
    pub id: String,
    /// The change of its result.
    pub outcome: QueryOutcome,
    /// The rank of the first hit that counts on the base; null if there is none.
    pub base_rank: Option<u32>,
    /// The rank of the first hit that counts on the head; null if there is none.
    pub head_rank: Option<u32>,
    /// What changed, and known causes.
    pub note: String,
}

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    /// The base's.
    pub base: Option<f64>,
    /// The head's.
    pub head: Option<f64>,
    /// Head minus base, unrounded; null if either is null.
    pub delta: Option<f64>,
}

/// A hit that counts for an expected passage and is many times as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OversizedHit {
    /// The query.
    pub query: String,
    /// The side that returned it.
    pub side: ComparedSide,
    /// Its rank.
    pub rank: u32,
    /// Its length as a multiple of the length of the passage.
    pub times: f64,
}

/// Two retrieval runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievalChange {
    /// What makes two hits the same.
    pub chunker_version_match: ChunkerVersionMatch,
    /// When an expected passage counts as found; missing if hits are not compared by spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_rule: Option<SpanRule>,
    /// The versions of the chunker on the base.
    pub base_versions: Vec<String>,
    /// The versions of the chunker on the head.
    pub head_versions: Vec<String>,
    /// Every figure of either side, by id.
    pub deltas: BTreeMap<String, Delta>,
    /// How many queries there are of each outcome.
    pub counts: BTreeMap<QueryOutcome, usize>,
    /// The queries of both sides that expect something, by id.
    pub queries: Vec<QueryChange>,
    /// Queries that are on one side only, or were edited; not compared.
    pub not_compared: Vec<String>,
    /// Queries whose chunks differ, and whose documents are not known: lost coverage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_aligned: Vec<String>,
    /// Hits that count for an expected passage and are many times as long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub oversized_hits: Vec<OversizedHit>,
    /// Whether the base tells the spans of its hits and the head no longer does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spans_gone: bool,
    /// Queries that are as good by document and worse by chunk, if the head names another chunker but uses the chunk
    /// names of the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worse_by_chunk: Vec<String>,
    /// Queries that are as good by document and worse by the chunks that the labels of each side expect, if the head
    /// expects other chunks than the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worse_by_own_labels: Vec<String>,
    /// Queries of the same question whose labels the head edits: both sides are ranked by the labels of one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relabelled: Vec<String>,
    /// The side whose labels are used; missing if no label was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<ComparedSide>,
    /// The relabelled queries whose labels require something else of the answer, and whose answer changed too:
    /// `groundedness` has no value for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers_apart: Vec<String>,
    /// Queries that count as found because the labels of the head name the part that was returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_own_label: Vec<String>,
    /// Queries for which only a part of the expected passage was returned, and it is not known whether this part is the
    /// one that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_part: Vec<String>,
    /// The share of the hits of the head that somebody can have judged: documents that the base had, or that a label
    /// names; missing if a corpus is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<f64>,
    /// The hits that nobody can have judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<UnjudgedHit>,
}

/// A run in the form in which it is compared with another one.
#[derive(Clone, Debug)]
pub struct Aligned {
    /// The section of the run; its queries have the digests by which they are paired.
    pub section: RetrievalSection,
    /// The figures of the run, by id.
    pub metrics: BTreeMap<String, Metric>,
}

/// Aligns two runs, so that the same figures of both can be compared, and reports what changed in each query. If the
/// chunker is the same, the runs do not change. Otherwise a first hit counts by document, or by document and span, on
/// both sides, and measures that need chunks are left out.
pub fn align(
    base: &RetrievalSection,
    head: &RetrievalSection,
    around: Surroundings,
    reading: Viewpoint,
) -> (Aligned, Aligned, RetrievalChange) {
    let (mut old, mut new) = (base.clone(), head.clone());
    let alignment = Alignment::between(&mut old, &mut new, reading);
    // The figures are always computed again, so that both sides follow the same rules.
    let [old, new] = [old, new].map(|section| Aligned {
        metrics: match alignment.mode {
            ChunkerVersionMatch::Exact => figures(&section),
            ChunkerVersionMatch::FallbackDocSpan | ChunkerVersionMatch::FallbackDoc => {
                figures_by_document(&section)
            }
        },
        section,
    });
    let change = change(&old, &new, alignment, (around, reading));
    (old, new, change)
}

/// The changes of every query and every figure.
fn change(
    base: &Aligned,
    head: &Aligned,
    alignment: Alignment,
    (around, reading): (Surroundings, Viewpoint),
) -> RetrievalChange {
    let (old, new) = (&base.section, &head.section);
    let notes = causes(old, new, around);
    let deltas = deltas(&base.metrics, &head.metrics);
    let depth = old.basis.figures.depth().min(new.basis.figures.depth());
    let mut queries = Vec::new();
    let mut not_compared = Vec::new();
    for id in old.items.keys().chain(new.items.keys()) {
        match (old.items.get(id), new.items.get(id)) {
            (Some(before), Some(after)) if before.input == after.input => {
                if let (Some(before), Some(after)) = (rank(before, depth), rank(after, depth)) {
                    let is_in_part = after.is_none() && alignment.in_part.contains(id);
                    queries.push(query_change(id, (before, after), is_in_part, &notes));
                }
            }
            _ => not_compared.push(id.clone()),
        }
    }
    queries.sort_by(|one, other| one.id.cmp(&other.id));
    queries.dedup_by(|one, other| one.id == other.id);
    not_compared.sort();
    not_compared.dedup();
    let mut counts = BTreeMap::new();
    for query in &queries {
        *counts.entry(query.outcome).or_default() += 1;
    }
    RetrievalChange {
        chunker_version_match: alignment.mode,
        span_rule: (alignment.mode == ChunkerVersionMatch::FallbackDocSpan)
            .then_some(alignment.rule),
        base_versions: versions(old),
        head_versions: versions(new),
        deltas,
        counts,
        queries,
        not_compared,
        not_aligned: alignment.not_aligned,
        oversized_hits: alignment.oversized,
        spans_gone: alignment.spans_gone,
        worse_by_chunk: alignment.worse_by_chunk,
        worse_by_own_labels: alignment.worse_by_own_labels,
        labels: (!alignment.relabelled.is_empty()).then_some(reading.labels),
        relabelled: alignment.relabelled,
        answers_apart: alignment.answers_apart,
        by_own_label: alignment.by_own_label,
        in_part: alignment.in_part,
        judged: alignment.newcomers.judged(),
        unjudged: alignment.newcomers.unjudged,
    }
}

/// The rank of the first relevant hit in the first repeat; none if no hit is expected.
fn rank(query: &QueryRecord, depth: usize) -> Option<Option<u32>> {
    let labels = &query.labels;
    let run = query.runs.first();
    let rank = match (labels.chunks, labels.docs) {
        (true, _) => run.and_then(|run| run.rank),
        (false, true) => run.and_then(|run| run.docs.first()),
        (false, false) => return None,
    };
    Some(rank.filter(|rank| *rank as usize <= depth))
}

/// The change of a query. `is_in_part`: only a part of the passage that the base had was returned.
fn query_change(
    id: &str,
    (base, head): (Option<u32>, Option<u32>),
    is_in_part: bool,
    causes: &[String],
) -> QueryChange {
    let (outcome, what) = match (base, head) {
        (Some(rank), None) if is_in_part => {
            (QueryOutcome::Open, format!("rank {rank}, now a part of it"))
        }
        (None, None) => (QueryOutcome::Draw, String::new()),
        (None, Some(rank)) => (QueryOutcome::Win, format!("missed, now rank {rank}")),
        (Some(rank), None) => (QueryOutcome::Regression, format!("rank {rank}, now missed")),
        (Some(before), Some(after)) => {
            let outcome = match after.cmp(&before) {
                std::cmp::Ordering::Less => QueryOutcome::Win,
                std::cmp::Ordering::Equal => QueryOutcome::Draw,
                std::cmp::Ordering::Greater => QueryOutcome::Loss,
            };
            let what = match outcome {
                QueryOutcome::Draw => String::new(),
                _ => format!("rank {before}, now {after}"),
            };
            (outcome, what)
        }
    };
    let note = match outcome {
        QueryOutcome::Draw => what,
        _ => {
            let parts: Vec<&str> = std::iter::once(&what)
                .chain(causes)
                .map(String::as_str)
                .collect();
            parts.join("; ")
        }
    };
    QueryChange {
        id: id.to_owned(),
        outcome,
        base_rank: base,
        head_rank: head,
        note,
    }
}

fn versions(side: &RetrievalSection) -> Vec<String> {
    let versions = chunker_versions(side).into_iter();
    versions.map(str::to_owned).collect()
}

/// Known reasons for differences between two runs.
fn causes(old: &RetrievalSection, new: &RetrievalSection, around: Surroundings) -> Vec<String> {
    [
        (
            "the chunker version differs",
            chunker_versions(old) != chunker_versions(new),
        ),
        ("the configuration differs", around.configuration),
        ("the command differs", around.command),
        (
            "the golden set differs",
            old.fingerprint.items != new.fingerprint.items,
        ),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(what, _)| what.to_owned())
    .collect()
}

fn deltas(
    base: &BTreeMap<String, Metric>,
    head: &BTreeMap<String, Metric>,
) -> BTreeMap<String, Delta> {
    let ids = base.keys().chain(head.keys());
    let value = |side: &BTreeMap<String, Metric>, id: &str| side.get(id)?.value;
    ids.map(|id| {
        let (base, head) = (value(base, id), value(head, id));
        let delta = base.zip(head).map(|(base, head)| head - base);
        (id.clone(), Delta { base, head, delta })
    })
    .collect()
}

impl RetrievalChange {
    /// The queries that changed, worst first: regressions by the lost rank, losses by how far they fell, then wins.
    pub fn worst_first(&self) -> Vec<&QueryChange> {
        let mut changed: Vec<&QueryChange> = self
            .queries
            .iter()
            .filter(|query| query.outcome != QueryOutcome::Draw)
            .collect();
        let reciprocal = |rank: Option<u32>| rank.map_or(0.0, |rank| 1.0 / f64::from(rank));
        let hurt = |query: &QueryChange| reciprocal(query.base_rank) - reciprocal(query.head_rank);
        changed.sort_by(|one, other| {
            one.outcome
                .cmp(&other.outcome)
                .then(hurt(other).total_cmp(&hurt(one)))
                .then(one.id.cmp(&other.id))
        });
        changed
    }
}

#[cfg(test)]
mod tests;
