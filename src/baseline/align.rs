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
    let (Some(old), Some(new)) = (base.retrieval(), head.retrieval()) else {
        return aligned;
    };
    let command = |report: &Report| {
        let section = report.probes.of("retrieval");
        section.and_then(|section| section.fingerprint().command)
    };
    let around = Around {
        configuration: base.run.fingerprints.config != head.run.fingerprints.config,
        command: match (command(base), command(head)) {
            (Some(before), Some(after)) => before != after,
            // A report of version 1 does not tell it for each probe.
            _ => false,
        },
    };
    let (old, new, change) = compare::align(&old, &new, around);
    for (report, section) in [(&mut aligned.base, old), (&mut aligned.head, new)] {
        report.metrics.retain(|id, _| probe_of(id) != "retrieval");
        report.metrics.extend(section.metrics);
        let ending = report.run.ending;
        let stored = crate::probe::retrieval::stored(section.record, ending);
        report.probes.put("retrieval", Box::new(stored));
    }
    aligned.retrieval = Some(change);
    aligned
}
