//! The measures: each a number from 0 to 1 for one query, or nothing where it does not apply.

use super::ranking::{reciprocal_rank, success};
use super::record::{Labels, QueryRecord, RetrievalBasis, Retrieved};
use crate::probe::Direction;

/// A measure of one query.
type Value = Box<dyn Fn(&Labels, &Retrieved) -> Option<f64>>;

/// One measure.
pub(super) struct Measure {
    /// Its name, without that of the probe.
    pub(super) name: String,
    /// Which way is better.
    pub(super) direction: Direction,
    /// Whether the gate looks at it unless the configuration says otherwise, where it has a value.
    pub(super) headline: bool,
    /// Whether its value comes from ranks, and is not yes or no.
    pub(super) by_rank: bool,
    /// Why it is null where no query counts.
    pub(super) reason: &'static str,
    /// Its value for one query.
    value: Value,
}

impl Measure {
    /// The value of each repeat of a query.
    pub(super) fn of(&self, query: &QueryRecord) -> Vec<Option<f64>> {
        let runs = query.runs.iter();
        runs.map(|run| (self.value)(&query.labels, run)).collect()
    }
}

const NO_CHUNKS: &str = "no query has expected chunks";
const NO_DOCS: &str = "no query has expected documents";
const NO_JUDGEMENT: &str = "no query has judged relevance";

/// How the names of the measures begin whose values come from ranks.
const BY_RANK: [&str; 6] = [
    "success@",
    "recall_doc@",
    "precision@",
    "ndcg@",
    "mrr",
    "map",
];

/// Every measure, in the order of the documentation. What counts, and in which queries, is what
/// docs/retrieval.md says.
pub(super) fn all(basis: &RetrievalBasis) -> Vec<Measure> {
    let deepest = basis.k.iter().copied().max();
    let mut all = Vec::new();
    let mut add = |name: String, headline, reason, value: Value| {
        all.push((name, headline, reason, value));
    };
    for &k in &basis.k {
        let is_deepest = Some(k) == deepest;
        add(
            format!("success@{k}"),
            false,
            NO_CHUNKS,
            Box::new(move |labels, run| labels.chunks.then(|| success(run.held.or(run.rank), k))),
        );
        add(
            format!("recall_doc@{k}"),
            is_deepest,
            NO_DOCS,
            Box::new(move |labels, run| {
                labels.docs.then(|| run.docs.recall(k).unwrap_or_default())
            }),
        );
        add(
            format!("precision@{k}"),
            false,
            NO_JUDGEMENT,
            Box::new(move |labels, run| labels.judged.then(|| run.judged.precision(k))),
        );
        add(
            format!("ndcg@{k}"),
            is_deepest,
            NO_JUDGEMENT,
            Box::new(move |labels, run| labels.judged.then(|| run.judged.ndcg(k))),
        );
    }
    let cut_off = basis.cut_off;
    add(
        "mrr".to_owned(),
        true,
        NO_CHUNKS,
        Box::new(move |labels, run| labels.chunks.then(|| reciprocal_rank(run.rank, cut_off))),
    );
    let depth = basis.depth();
    add(
        "found".to_owned(),
        true,
        "no query has expected chunks or documents",
        Box::new(move |labels, run| {
            let first = match (labels.chunks, labels.docs) {
                (true, _) => run.held.or(run.rank),
                (false, true) => run.docs.first(),
                (false, false) => return None,
            };
            Some(success(first, depth))
        }),
    );
    add(
        "map".to_owned(),
        false,
        NO_JUDGEMENT,
        Box::new(|labels, run| labels.judged.then(|| run.judged.average_precision())),
    );
    add(
        "citation_coverage".to_owned(),
        true,
        "no query has a grounded answer",
        Box::new(|_, run| {
            let answer = run.answer.as_ref().filter(|_| run.ran())?;
            let covered = answer.citations > 0 && answer.broken.is_empty();
            answer.grounded.then(|| f64::from(u8::from(covered)))
        }),
    );
    add(
        "groundedness".to_owned(),
        true,
        "no judged query with `must_contain` or `forbidden` has an answer",
        Box::new(|labels, run| {
            let answer = run.answer.as_ref().filter(|_| run.ran())?;
            let holds = answer.lacks.is_empty() && answer.forbidden.is_empty();
            labels.content.then(|| f64::from(u8::from(holds)))
        }),
    );
    add(
        "refusal_correctness".to_owned(),
        true,
        "no query that should be refused has an answer",
        Box::new(|labels, run| {
            let answer = run.answer.as_ref().filter(|_| run.ran())?;
            labels.refuse.then(|| f64::from(u8::from(!answer.grounded)))
        }),
    );
    add(
        "empty_result_rate".to_owned(),
        false,
        "no query ran",
        Box::new(|_, run| run.ran().then(|| f64::from(u8::from(run.count == 0)))),
    );
    all.into_iter()
        .map(|(name, headline, reason, value)| Measure {
            direction: match name.as_str() {
                "empty_result_rate" => Direction::Lower,
                _ => Direction::Higher,
            },
            by_rank: BY_RANK.iter().any(|prefix| name.starts_with(prefix)),
            name,
            headline,
            reason,
            value,
        })
        .collect()
}

/// How often a query got no answer from the pipeline. Gated beside the measures, of which it is
/// none: it says nothing of what was found.
pub(super) fn failure_rate() -> Measure {
    Measure {
        name: "failure_rate".to_owned(),
        direction: Direction::Lower,
        headline: true,
        by_rank: false,
        reason: "there is no query",
        value: Box::new(|_, run| Some(f64::from(u8::from(!run.ran())))),
    }
}
