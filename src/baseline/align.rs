//! Two reports in the form in which they are compared: each probe aligns its own sections.

use crate::probe::probe_of;
use crate::probe::retrieval::compare::{self, Around, RetrievalChange};
use crate::report::Report;

/// Two reports that can be compared.
#[derive(Clone, Debug)]
pub(crate) struct AlignedReports {
    /// What the change is compared with.
    pub(crate) base: Report,
    /// The change.
    pub(crate) head: Report,
    /// What became of the queries, where both sides have some.
    pub(crate) retrieval: Option<RetrievalChange>,
}

/// Aligns what both reports have of the same probe.
pub(crate) fn align(base: &Report, head: &Report) -> AlignedReports {
    let mut aligned = AlignedReports {
        base: base.clone(),
        head: head.clone(),
        retrieval: None,
    };
    let (Some(old), Some(new)) = (&base.retrieval, &head.retrieval) else {
        return aligned;
    };
    let (before, after) = (&base.run.fingerprints, &head.run.fingerprints);
    let around = Around {
        configuration: before.config != after.config,
        command: before.command != after.command,
    };
    let (old, new, change) = compare::align(old, new, around);
    for (report, section) in [(&mut aligned.base, old), (&mut aligned.head, new)] {
        report.metrics.retain(|id, _| probe_of(id) != "retrieval");
        report.metrics.extend(section.metrics);
        report.retrieval = Some(section.record);
    }
    aligned.retrieval = Some(change);
    aligned
}
