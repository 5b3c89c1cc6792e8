//! The figures of the retrieval probe, in the order in which people read them.

use super::{Figure, family};
use crate::report::Report;

/// The order of the measures, without their `@k`.
const ORDER: [&str; 12] = [
    "success",
    "mrr",
    "recall_doc",
    "precision",
    "ndcg",
    "map",
    "citation_coverage",
    "groundedness",
    "refusal_correctness",
    "empty_result_rate",
    "total_queries",
    "failed_queries",
];

/// The figures with their names; `success@k` is also known as `hit@k`.
pub(crate) fn rows(report: &Report) -> Vec<(String, Figure<'_>)> {
    let mut rows: Vec<_> = family(report, "retrieval");
    rows.sort_by_key(|(name, _)| place(name));
    rows.into_iter()
        .map(|(name, metric)| {
            let shown = match name.strip_prefix("success@") {
                Some(k) => format!("{name} (hit@{k})"),
                None => name.to_owned(),
            };
            let mut figure = Figure::of(Some(metric));
            if name.ends_with("_queries") {
                figure.shown = metric.value.unwrap_or_default().to_string();
            }
            (shown, figure)
        })
        .collect()
}

/// By measure, then by `k` as a number.
fn place(name: &str) -> (usize, usize) {
    let (measure, k) = name.split_once('@').unwrap_or((name, "0"));
    let at = ORDER.iter().position(|known| *known == measure);
    (at.unwrap_or(ORDER.len()), k.parse().unwrap_or(0))
}

/// How many queries there are, in words.
pub(super) fn counted(queries: usize) -> String {
    match queries {
        1 => "1 query".to_owned(),
        more => format!("{more} queries"),
    }
}
