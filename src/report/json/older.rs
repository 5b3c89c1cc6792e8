//! Reports whose figures an earlier version made by other rules.

use std::collections::BTreeMap;

use crate::notice::{Code, Notice};
use crate::probe::evidence::{self, Settings};
use crate::report::Report;

/// A figure that only a report has in which hedges counted into invariance.
const HEDGES_IN_INVARIANCE: &str = "evidence.invariance.hedge_injection";

/// Whether the figures of these metrics were made by other rules than those of this version.
pub(crate) fn are_of_earlier_rules<V>(metrics: &BTreeMap<String, V>) -> bool {
    metrics.contains_key(HEDGES_IN_INVARIANCE)
}

/// The same records with the figures that this version makes of them. Otherwise two figures of one
/// name would be compared that are means over different kinds.
pub(super) fn by_the_rules_of_today(mut report: Report) -> Report {
    if !are_of_earlier_rules(&report.metrics) {
        return report;
    }
    let settings = Settings {
        governing_types: &report.run.governing_types,
        basis: &report.run.basis,
        ending: report.run.ending,
        scorer: None,
    };
    let again = evidence::recompute(std::mem::take(&mut report.cases), &settings);
    report.cases = again.cases;
    report.metrics.retain(|id, _| !id.starts_with("evidence."));
    report.metrics.extend(again.metrics);
    report.notices.push(Notice::new(
        Code::Recomputed,
        "the report is of an earlier version, in which `hedge_injection` counted into \
         evidence.invariance; its figures were computed again without it",
    ));
    report
}
