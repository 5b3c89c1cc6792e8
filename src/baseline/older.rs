//! Figures that reports of older versions lack, made from what they recorded.

use crate::probe::{evidence, retrieval};
use crate::report::Report;

/// Adds the failure rate of every case and query, where an older version did not: without it nothing
/// could be paired.
pub(crate) fn completed(mut report: Report) -> Report {
    let id = "evidence.failure_rate";
    let has_cases = |report: &Report| {
        let metric = report.metrics.get(id);
        metric.is_some_and(|metric| !metric.per_case.is_empty())
    };
    if !report.cases.is_empty() && !has_cases(&report) {
        let metric = evidence::failure_rate(&report.cases);
        report.metrics.insert(id.to_owned(), metric);
    }
    if let Some(record) = &report.retrieval {
        let metric = || retrieval::failure_rate(record);
        let id = "retrieval.failure_rate".to_owned();
        report.metrics.entry(id).or_insert_with(metric);
    }
    report
}
