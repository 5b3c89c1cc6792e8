//! The measures: each gives a number from 0 to 1 for one query, or none if it does not apply.

use super::ranking::{reciprocal_rank, success};
use super::record::{Labels, QueryRecord, RetrievalBasis, Retrieved};
use kelvin_record::Direction;

/// A measure of one query.
type Value = Box<dyn Fn(&Labels, &Retrieved) -> Option<f64>>;

/// The measures of citations, which apply only to a pipeline that cites.
pub(super) const CITATIONS: [&str; 2] = ["citation_coverage", "citation_precision"];

/// One measure.
pub(super) struct Measure {
    /// The name of the measure, without the name of the probe.
    pub(super) name: String,
    /// The better direction of the measure.
    pub(super) direction: Direction,
    /// Whether the gate judges the measure by default, if it has a value.
    pub(super) headline: bool,
    /// Whether the value comes from ranks, not from yes or no.
    pub(super) by_rank: bool,
    /// Whether relevance is judged by chunk, so that the measure does not apply to runs with other chunks.
    pub(super) needs_chunks: bool,
    /// Why the measure is null if no query counts.
    pub(super) reason: &'static str,
    /// The value of the measure for one query.
    value: Value,
}

impl Measure {
    /// A measure whose value is yes or no, and which is not a headline.
    fn new(
        name: impl Into<String>,
        reason: &'static str,
        value: impl Fn(&Labels, &Retrieved) -> Option<f64> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            direction: Direction::Higher,
            headline: false,
            by_rank: false,
            needs_chunks: false,
            reason,
            value: Box::new(value),
        }
    }

    const fn headline(mut self, is_headline: bool) -> Self {
        self.headline = is_headline;
        self
    }

    const fn by_rank(mut self) -> Self {
        self.by_rank = true;
        self
    }

    const fn needs_chunks(mut self) -> Self {
        self.needs_chunks = true;
        self
    }

    const fn lower_is_better(mut self) -> Self {
        self.direction = Direction::Lower;
        self
    }

    /// The value of each repeat of a query.
    pub(super) fn of(&self, query: &QueryRecord) -> Vec<Option<f64>> {
        let runs = query.runs.iter();
        runs.map(|run| (self.value)(&query.labels, run)).collect()
    }
}

const NO_CHUNKS: &str = "no query has expected chunks";
const NO_DOCS: &str = "no query has expected documents";
const NO_JUDGEMENT: &str = "no query has judged relevance";

/// Every measure, in the order of docs/retrieval.md, which defines what counts and in which queries. `answers`: whether
/// the pipeline answers any query.
pub(super) fn all(basis: &RetrievalBasis, answers: bool) -> Vec<Measure> {
    let deepest = basis.k.iter().copied().max();
    let by_k = basis
        .k
        .iter()
        .flat_map(|&k| measures_of_first(k, Some(k) == deepest));
    let mut all: Vec<Measure> = by_k.collect();
    let cut_off = basis.cut_off;
    let mrr = Measure::new("mrr", NO_CHUNKS, move |labels, run| {
        labels.chunks.then(|| reciprocal_rank(run.rank, cut_off))
    });
    let depth = basis.depth();
    let no_target = "no query has expected chunks or documents";
    let found = Measure::new("found", no_target, move |labels, run| {
        let first = match (labels.chunks, labels.docs) {
            (true, _) => run.held.or(run.rank),
            (false, true) => run.docs.first(),
            (false, false) => return None,
        };
        Some(success(first, depth))
    });
    let map = Measure::new("map", NO_JUDGEMENT, |labels, run| {
        labels.judged.then(|| run.judged.average_precision())
    });
    all.push(mrr.headline(true).by_rank());
    all.push(found.headline(true));
    all.push(map.by_rank().needs_chunks());
    all.extend(of_answers(answers));
    all
}

/// The measures of the first `k` hits.
fn measures_of_first(k: usize, is_deepest: bool) -> [Measure; 4] {
    let success_at = Measure::new(format!("success@{k}"), NO_CHUNKS, move |labels, run| {
        labels.chunks.then(|| success(run.held.or(run.rank), k))
    });
    let recall = Measure::new(format!("recall_doc@{k}"), NO_DOCS, move |labels, run| {
        labels.docs.then(|| run.docs.recall(k).unwrap_or_default())
    });
    let precision = Measure::new(
        format!("precision@{k}"),
        NO_JUDGEMENT,
        move |labels, run| labels.judged.then(|| run.judged.precision(k)),
    );
    let ndcg = Measure::new(format!("ndcg@{k}"), NO_JUDGEMENT, move |labels, run| {
        labels.judged.then(|| run.judged.ndcg(k))
    });
    [
        success_at.by_rank(),
        recall.headline(is_deepest).by_rank(),
        precision.by_rank().needs_chunks(),
        ndcg.headline(is_deepest).by_rank().needs_chunks(),
    ]
}

/// The measures for answers.
fn of_answers(answers: bool) -> [Measure; 6] {
    let no_answer = "no query has a grounded answer";
    let [coverage, precision] = CITATIONS;
    let coverage = Measure::new(coverage, no_answer, |_, run| {
        let answer = run.answer.as_ref().filter(|_| run.ran())?;
        let covered = answer.citations > 0 && answer.broken.is_empty();
        answer.grounded.then(|| f64::from(u8::from(covered)))
    });
    let precision = Measure::new(precision, no_answer, |labels, run| {
        let answer = run.answer.as_ref().filter(|_| run.ran())?;
        let right = answer.cited.iter();
        let right = right
            .filter(|cited| labels.accepts(cited, &run.hits))
            .count();
        let share = match (answer.cited.len(), answer.citations) {
            (0, 0) => 0.0,
            // Nobody can have judged the documents that this answer cites.
            (0, _) => return None,
            (all, _) => right as f64 / all as f64,
        };
        answer.grounded.then_some(share)
    });
    let groundedness = Measure::new(
        "groundedness",
        "no judged query with `must_contain` or `forbidden` has an answer",
        |labels, run| {
            let answer = run.answer.as_ref().filter(|_| run.ran())?;
            let holds = answer.lacks.is_empty() && answer.forbidden.is_empty();
            labels.content.then(|| f64::from(u8::from(holds)))
        },
    );
    let answered = Measure::new(
        "answered_rate",
        "no query that should be answered has an answer",
        move |labels, run| {
            // A search has no answers, so the rate does not apply to it; for any other pipeline, a run without an
            // answer counts as not answered.
            let is_asked = labels.wants_an_answer() && answers && run.ran();
            let is_grounded = run.answer.as_ref().is_some_and(|answer| answer.grounded);
            is_asked.then(|| f64::from(u8::from(is_grounded)))
        },
    );
    let refusals = Measure::new(
        "refusal_correctness",
        "no query that should be refused has an answer",
        |labels, run| {
            let answer = run.answer.as_ref().filter(|_| run.ran())?;
            labels.refuse.then(|| f64::from(u8::from(!answer.grounded)))
        },
    );
    let empty = Measure::new("empty_result_rate", "no query ran", |_, run| {
        run.ran().then(|| f64::from(u8::from(run.count == 0)))
    });
    [
        coverage.headline(true),
        precision.headline(true),
        groundedness.headline(true),
        answered.headline(true),
        refusals.headline(true),
        empty.lower_is_better(),
    ]
}

/// How often a query got no answer from the pipeline. This rate is gated in addition to the measures and is not one of
/// them, because it does not depend on the hits.
pub(super) fn failure_rate() -> Measure {
    let rate = Measure::new("failure_rate", "there is no query", |_, run| {
        Some(f64::from(u8::from(!run.ran())))
    });
    rate.headline(true).lower_is_better()
}
