//! Other stored reports of the base's code, whose answers are repeats of the base.

use super::{CellPair, Comparison, MetricPair};

/// Such a report, compared with the head.
#[derive(Clone, Debug)]
pub(crate) struct StoredComparison<'a> {
    /// What it has beside what the head has.
    pub(crate) comparison: Comparison<'a>,
    /// Whether its first answers may be those of another report, from the cache of kelvin.
    pub(crate) first_is_copied: bool,
}

/// A metric of such a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMetric<'s, 'a> {
    metric: &'s MetricPair<'a>,
    first_is_copied: bool,
}

/// The values of the repeats, and those of all pairs.
type Values<'a> = (&'a [Option<f64>], Vec<Vec<Option<f64>>>);

impl<'a> StoredComparison<'a> {
    /// A metric of it.
    pub(crate) fn metric(&self, id: &str) -> Option<StoredMetric<'_, 'a>> {
        Some(StoredMetric {
            metric: self.comparison.metrics.get(id)?,
            first_is_copied: self.first_is_copied,
        })
    }
}

impl<'a> StoredMetric<'_, 'a> {
    /// What it has for the input of a cell of the base; none where it has no value for it.
    pub(crate) fn cell(&self, case: &str, cell: &CellPair<'_>) -> Option<Values<'a>> {
        let cells = &self.metric.cases.get(case)?.cells;
        let same =
            |other: &&CellPair<'_>| other.variant == cell.variant && other.input == cell.input;
        let found = cells.iter().find(same)?;
        let first = usize::from(self.first_is_copied);
        let values = found.base.get(first..)?;
        let pairs = found.base_pairs.iter().skip(first);
        let pairs: Vec<Vec<Option<f64>>> = pairs
            .map(|own| own.iter().skip(first).copied().collect())
            .collect();
        let mut all = values.iter().chain(pairs.iter().flatten());
        all.any(Option::is_some).then_some((values, pairs))
    }
}
