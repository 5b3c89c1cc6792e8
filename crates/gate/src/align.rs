//! Prepares two reports for their comparison: each kind of probe aligns its own sections.

use crate::report::Report;
use kelvin_record::{ItemComparisons, Surroundings, Viewpoint, probe_of};

/// Two reports that can be compared.
#[derive(Clone, Debug)]
pub struct AlignedReports {
    /// The report that the change is compared with.
    pub base: Report,
    /// The report of the change.
    pub head: Report,
    /// The comparison of the items of each probe that both sides have and that aligns its sections.
    pub comparisons: ItemComparisons,
}

/// Aligns the sections that both reports have of the same probe, by the labels of the base and the known values.
pub fn align(base: &Report, head: &Report) -> AlignedReports {
    align_by(base, head, Viewpoint::default())
}

/// Aligns the two reports by one of the viewpoints.
pub fn align_by(base: &Report, head: &Report, reading: Viewpoint) -> AlignedReports {
    let mut aligned = AlignedReports {
        base: base.clone(),
        head: head.clone(),
        comparisons: ItemComparisons::default(),
    };
    for kind in head.probes.kinds().iter() {
        let name = kind.name();
        let (Some(old), Some(new)) = (base.probes.of(name), head.probes.of(name)) else {
            continue;
        };
        kind.figures_of_base(old, new, &mut aligned.base.metrics);
        let around = Surroundings {
            configuration: base.run.fingerprints.config != head.run.fingerprints.config,
            command: old.fingerprint().command != new.fingerprint().command,
        };
        let Some(sections) = kind.align(old, new, around, reading) else {
            continue;
        };
        let sides = [
            (&mut aligned.base, sections.base),
            (&mut aligned.head, sections.head),
        ];
        for (report, side) in sides {
            report.metrics.retain(|id, _| probe_of(id) != name);
            report.metrics.extend(side.metrics);
            report.probes.put(name, side.section);
        }
        aligned.comparisons.put(name, sections.items);
    }
    aligned
}
