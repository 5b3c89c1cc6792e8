//! Figures that reports of older versions lack, made from what they recorded.

use crate::report::Report;

/// Adds the figures without which nothing could be paired, where an older version did not make them.
pub(crate) fn completed(mut report: Report) -> Report {
    for (kind, section) in report.probes.known() {
        kind.complete(section, &mut report.metrics);
    }
    report
}
