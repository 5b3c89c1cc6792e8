//! The mean over parts that were not all measured equally often.

use super::interval::interval_of;
use crate::stats::mean;

/// A mean in which each part counts once, with the mean of its samples, however often it was run. A part is a variant
/// of a case, or the case itself where it has no variants. Doubtful parts are run again, and would weigh
/// more if every sample counted the same.
#[derive(Clone, Debug, Default)]
pub struct Balanced {
    /// The mean of each part.
    means: Vec<f64>,
    /// For each case the sum over its parts, and the number of its parts.
    cases: Vec<(f64, usize)>,
    samples: usize,
}

impl Balanced {
    /// Adds a case with the samples of each of its parts. A part without samples does not count.
    pub fn add(&mut self, parts: impl IntoIterator<Item = Vec<f64>>) {
        let before = self.means.len();
        for part in parts {
            self.samples += part.len();
            self.means.extend(mean(&part));
        }
        let added = &self.means[before..];
        if !added.is_empty() {
            self.cases.push((added.iter().sum(), added.len()));
        }
    }

    /// The mean; none where there are no samples.
    pub fn value(&self) -> Option<f64> {
        mean(&self.means)
    }

    /// How many samples there are in all.
    pub const fn samples(&self) -> usize {
        self.samples
    }

    /// The 95 % interval of a mean of values from 0 to 1; none below two cases. Every part is assumed to have the
    /// average number of runs.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let runs = self.samples as f64 / self.means.len().max(1) as f64;
        let cases = self.cases.iter();
        let cases: Vec<(f64, f64)> = cases
            .map(|(sum, parts)| (sum * runs, *parts as f64 * runs))
            .collect();
        interval_of(&cases)
    }
}

#[cfg(test)]
mod tests {
    use super::Balanced;
    use crate::stats::clustered_interval;

    fn of(cases: &[&[&[f64]]]) -> Balanced {
        let mut balanced = Balanced::default();
        for case in cases {
            balanced.add(case.iter().map(|part| part.to_vec()));
        }
        balanced
    }

    #[test]
    fn what_was_run_more_often_weighs_no_more() {
        let one_case_in_doubt = of(&[&[&[0.0; 9]], &[&[1.0]], &[&[1.0]], &[&[1.0]]]);
        assert_eq!(one_case_in_doubt.value(), Some(0.75));
        assert_eq!(one_case_in_doubt.samples(), 12);
        let one_variant_in_doubt = of(&[&[&[0.0; 5], &[1.0]], &[&[1.0], &[1.0]]]);
        assert_eq!(one_variant_in_doubt.value(), Some(0.75));
        // A part that never answered does not count, and neither does a case of such parts.
        assert_eq!(of(&[&[&[1.0], &[]], &[&[]]]).value(), Some(1.0));
        assert_eq!(of(&[]).value(), None);
    }

    #[test]
    fn with_equal_runs_the_interval_is_that_of_the_samples() {
        let balanced = of(&[
            &[&[1.0, 0.0], &[1.0, 1.0]],
            &[&[1.0, 1.0]],
            &[&[0.0, 1.0], &[1.0, 1.0]],
        ]);
        let (low, high) = balanced.interval().expect("of three cases");
        let plain = clustered_interval(&[(3.0, 4), (2.0, 2), (3.0, 4)]).expect("the same");
        assert!((low - plain.0).abs() < 1e-12 && (high - plain.1).abs() < 1e-12);
        assert!(low <= 0.8 && 0.8 <= high);
        assert_eq!(of(&[&[&[1.0]]]).interval(), None);
    }
}
