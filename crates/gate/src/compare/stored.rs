//! Other stored reports of the base's code, whose answers are repeats of the base.

use super::{CellPair, Comparison, MetricPair};

/// Another stored report, compared with the head.
#[derive(Clone, Debug)]
pub struct StoredComparison<'a> {
    /// The comparison of the stored report with the head.
    pub comparison: Comparison<'a>,
    /// Whether its first answers may come from the cache of kelvin, and so from another report.
    pub first_is_copied: bool,
}

/// A metric of another stored report.
#[derive(Clone, Copy, Debug)]
pub struct StoredMetric<'s, 'a> {
    metric: &'s MetricPair<'a>,
    first_is_copied: bool,
}

/// The values of the repeats, and those of all pairs.
type Values<'a> = (&'a [Option<f64>], Vec<Vec<Option<f64>>>);

impl<'a> StoredComparison<'a> {
    /// A metric of the stored report.
    pub fn metric(&self, id: &str) -> Option<StoredMetric<'_, 'a>> {
        Some(StoredMetric {
            metric: self.comparison.metrics.get(id)?,
            first_is_copied: self.first_is_copied,
        })
    }
}

impl<'a> StoredMetric<'_, 'a> {
    /// The values for the input of a cell of the base; none where the stored report has no value for it.
    pub fn cell(&self, case: &str, cell: &CellPair<'_>) -> Option<Values<'a>> {
        let cells = &self.metric.cases.get(case)?.cells;
        let same =
            |other: &&CellPair<'_>| other.variant == cell.variant && other.input == cell.input;
        let found = cells.iter().find(same)?;
        answers(found, usize::from(self.first_is_copied))
    }
}

/// The values of a cell of the base after the first answers to each input; none where no values are left.
fn answers<'a>(cell: &CellPair<'a>, first: usize) -> Option<Values<'a>> {
    let values = cell.base.get(first..)?;
    let pairs = cell.base_pairs.iter().skip(first);
    let pairs: Vec<Vec<Option<f64>>> = pairs
        .map(|own| own.iter().skip(first).copied().collect())
        .collect();
    let mut all = values.iter().chain(pairs.iter().flatten());
    all.any(Option::is_some).then_some((values, pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_answers_that_are_copies_are_left_out_and_their_pairs_with_them() {
        let base_pairs = [vec![Some(0.0), Some(0.1)], vec![Some(0.2), Some(0.3)]];
        let cell = CellPair {
            variant: None,
            input: None,
            base: &[Some(0.0), Some(0.3)],
            head: &[],
            base_pairs: &base_pairs,
            head_pairs: &[],
        };
        let (values, pairs) = answers(&cell, 0).expect("there are some");
        assert_eq!(
            (values, pairs.as_slice()),
            (cell.base, base_pairs.as_slice())
        );
        let (values, pairs) = answers(&cell, 1).expect("there are some");
        assert_eq!((values, pairs), (&[Some(0.3)][..], vec![vec![Some(0.3)]]));
        let once = CellPair {
            base: &[Some(0.0)],
            base_pairs: &[],
            ..cell
        };
        assert_eq!(answers(&once, 1), None);
    }
}
