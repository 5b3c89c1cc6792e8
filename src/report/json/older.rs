//! Reports of earlier versions: what they do not say is filled in, and figures that they made by other
//! rules are made again.

use std::collections::BTreeMap;

use crate::probe::{Metric, Range, Unit, probe_of, registry};
use crate::report::Report;

/// The figures that earlier versions had for each kind of perturbation or each governing type too.
const DETAILED: [&str; 5] = [
    "evidence.invariance",
    "evidence.sensitivity",
    "evidence.following",
    "evidence.mechanical_sensitivity",
    "evidence.drop",
];

/// The probes of earlier versions, and what one and several of their items are called.
pub(crate) const ITEMS: [(&str, &str, &str); 2] = [
    ("evidence", "case", "cases"),
    ("retrieval", "query", "queries"),
];

/// Whether the figures of these metrics were made by other rules than those of this version.
pub(crate) fn are_of_earlier_rules<V>(metrics: &BTreeMap<String, V>) -> bool {
    let ids: Vec<&str> = metrics.keys().map(String::as_str).collect();
    registry::kinds()
        .into_iter()
        .any(|kind| kind.is_of_earlier_rules(&ids))
}

/// The same records with the figures that this version makes of them.
pub(super) fn by_the_rules_of_today(mut report: Report) -> Report {
    for kind in registry::kinds() {
        let name = kind.name();
        if let Some(section) = report.probes.take(name) {
            let (section, notice) = kind.renew(section, &mut report.metrics);
            report.probes.put(name, section);
            report.notices.extend(notice);
        }
    }
    report
}

/// Fills in what earlier versions left to the id of a metric: its family, its unit, its range, and what
/// it is to a reader and to the gate. A metric that has a family says all of it itself.
pub(crate) fn describe(id: &str, metric: &mut Metric) {
    if !metric.family.is_empty() {
        return;
    }
    let is_of = |family: &str| {
        let rest = id.strip_prefix(family);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let detailed = DETAILED.into_iter().find(|family| is_of(family));
    metric.family = detailed.unwrap_or_else(|| probe_of(id)).to_owned();
    (metric.unit, metric.range) = match (detailed, id) {
        (None, "evidence.kelvin_score" | "evidence.kelvin_score_corrected") => {
            (Unit::Score, Range::of(0.0, 2.0))
        }
        (Some("evidence.following"), _) | (None, "evidence.following") => {
            (Unit::Ratio, Range::default())
        }
        (None, "evidence.donor_contrast") => (Unit::Share, Range::of(-1.0, 1.0)),
        (None, "retrieval.total_queries" | "retrieval.failed_queries") => {
            (Unit::Count, Range::COUNT)
        }
        _ => (Unit::Share, Range::SHARE),
    };
    metric.headline = is_headline(id);
    metric.is_failure_rate = matches!(id, "evidence.failure_rate" | "retrieval.failure_rate");
}

/// Whether earlier versions showed a metric of this id first, whatever the gate made of it.
pub(crate) fn is_headline(id: &str) -> bool {
    matches!(id, "evidence.kelvin_score" | "evidence.sensitivity")
}
