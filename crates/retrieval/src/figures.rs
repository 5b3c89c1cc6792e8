//! Computes figures from records: the mean over the queries that count, with its interval and with the value of every
//! query, which is the mean of its runs.

use std::collections::BTreeMap;

use super::measures::{self, Measure};
use super::record::{QueryRecord, RetrievalSection};
use kelvin_base::stats::{self, Balanced};
use kelvin_record::{CaseValue, Cells, Direction, Interval, Metric, Range, Unit};

/// The family of all figures of this probe, because each figure covers all queries.
const ALL: &str = "retrieval";

/// Every figure of a run, by id.
pub fn figures(section: &RetrievalSection) -> BTreeMap<String, Metric> {
    figures_of(section, measures_of(section))
}

/// The figures that can also be computed for a run with other chunks: those that need no judged chunk.
pub(super) fn figures_by_document(section: &RetrievalSection) -> BTreeMap<String, Metric> {
    let mut measures = measures_of(section);
    measures.retain(|measure| !measure.needs_chunks);
    figures_of(section, measures)
}

fn measures_of(section: &RetrievalSection) -> Vec<Measure> {
    measures::all(&section.basis.figures, answers(&section.items))
}

fn figures_of(section: &RetrievalSection, measures: Vec<Measure>) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = measures
        .iter()
        .map(|measure| {
            let id = format!("{ALL}.{}", measure.name);
            (id, figure(measure, &section.items))
        })
        .collect();
    if !cites(&section.items) {
        for name in measures::CITATIONS {
            // If the other side of a comparison cites, its metric is gated, and so is this one.
            if let Some(metric) = metrics.get_mut(&format!("{ALL}.{name}")) {
                metric.gated = false;
            }
        }
    }
    gate_one(&mut metrics);
    metrics.insert("retrieval.failure_rate".to_owned(), failure_rate(section));
    let failed = |query: &&QueryRecord| query.runs.iter().any(|run| !run.ran());
    let failed = section.items.values().filter(failed).count();
    let total = section.items.len();
    let count = |value: usize| {
        Metric::new(Ok(value as f64), total, failed)
            .counts_in(Unit::Count, Range::COUNT)
            .of_family(ALL)
    };
    metrics.insert("retrieval.total_queries".to_owned(), count(total));
    let lower = count(failed).lower_is_better();
    metrics.insert("retrieval.failed_queries".to_owned(), lower);
    metrics
}

/// Whether a run has an answer to any query.
pub(super) fn answers(queries: &BTreeMap<String, QueryRecord>) -> bool {
    let mut runs = queries.values().flat_map(|query| &query.runs);
    runs.any(|run| run.answer.is_some())
}

/// Whether any answer of a run cites.
pub(super) fn cites(queries: &BTreeMap<String, QueryRecord>) -> bool {
    let mut runs = queries.values().flat_map(|query| &query.runs);
    runs.any(|run| run.answer.as_ref().is_some_and(|one| one.citations > 0))
}

/// Gates one figure if none is gated: a run without any headline figure must not pass for that reason. The failure rate
/// is added later, since it does not depend on the hits.
fn gate_one(metrics: &mut BTreeMap<String, Metric>) {
    if !metrics.values().any(|metric| metric.gated)
        && let Some(metric) = metrics.get_mut("retrieval.mrr")
    {
        metric.gated = true;
    }
}

/// The share of the queries without an answer.
fn failure_rate(section: &RetrievalSection) -> Metric {
    let mut metric = figure(&measures::failure_rate(), &section.items);
    metric.is_failure_rate = true;
    metric
}

fn figure(measure: &Measure, queries: &BTreeMap<String, QueryRecord>) -> Metric {
    let (mut all, mut n_failed) = (Balanced::default(), 0);
    let mut per_case = BTreeMap::new();
    for (id, query) in queries {
        let repeats = measure.of(query);
        let here: Vec<f64> = repeats.iter().copied().flatten().collect();
        let Some(mean) = stats::mean(&here) else {
            continue;
        };
        n_failed += query.runs.iter().filter(|run| !run.ran()).count();
        let n = here.len();
        all.add([here]);
        let value = CaseValue {
            value: Some(mean),
            n,
            repeats: if repeats.len() > 1 {
                repeats
            } else {
                Vec::new()
            },
            cells: Cells::default(),
        };
        per_case.insert(id.clone(), value);
    }
    let value = all.value().ok_or_else(|| measure.reason.to_owned());
    let mut metric = Metric::new(value, all.samples(), n_failed)
        .of_family(ALL)
        .interval(all.interval().map(|(low, high)| Interval { low, high }));
    if measure.direction == Direction::Lower {
        metric = metric.lower_is_better();
    }
    metric.gated = measure.headline && metric.value.is_some();
    metric.by_rank = measure.by_rank;
    metric.per_case = per_case.into();
    metric
}
