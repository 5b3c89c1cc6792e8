//! Which metrics a false alarm is divided among.

use super::GatedMetric;
use crate::look;

/// Among how many metrics a false alarm is divided. The failure rate of a pipeline that never failed
/// on either side cannot give one, and takes nothing from the others.
pub(super) fn tested<'s>(subjects: impl Iterator<Item = &'s GatedMetric>) -> usize {
    let has_failures = |subject: &GatedMetric| {
        let cells = subject.cases.iter().flat_map(|case| &case.cells);
        let mut losses = cells.flat_map(|cell| cell.base.values.iter().chain(&cell.head.values));
        losses.any(|loss| loss.is_some_and(|loss| loss > look::GUARD))
    };
    let counts = |subject: &&GatedMetric| !subject.is_failure_rate || has_failures(subject);
    subjects.filter(counts).count().max(1)
}
