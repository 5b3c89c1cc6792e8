//! A confidence interval for a mean of clustered samples.

use super::special::{beta_quantile, t_upper_quantile};

/// The probability beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;

/// A two-sided 95 % interval for the mean of clustered values in `[0, 1]`.
///
/// `clusters` contains, for each case, the sum of its values and their number; cases without values do not count. None
/// for fewer than two cases, or if a sum is not finite.
///
/// Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated
/// from survey data", Survey Methodology 24 (1998): the variance of the ratio estimator between clusters gives the
/// effective number of independent samples, and the exact interval for a proportion of that many samples is used. So
/// the interval stays within `[0, 1]` and has a width even if every sample agrees.
///
/// Our addition is a hedge of half a case. If the samples of a case tend to flip together and such a case is rare, a
/// suite often contains none. Then its variance is far too small, and the plain interval covers the truth in as little
/// as 72 % of suites. So the variance for each end includes an additional half case, all of whose samples are at that
/// end. The interval is never wider than if the samples of each case were copies of one another.
pub fn clustered_interval(clusters: &[(f64, usize)]) -> Option<(f64, f64)> {
    let clusters: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(sum, n)| (*sum, *n as f64))
        .collect();
    interval_of(&clusters)
}

/// Computes the interval for clusters with a fractional number of samples, more than 0 each.
pub(super) fn interval_of(clusters: &[(f64, f64)]) -> Option<(f64, f64)> {
    if clusters.len() < 2 || !clusters.iter().all(|(sum, _)| sum.is_finite()) {
        return None;
    }
    let samples: f64 = clusters.iter().map(|(_, n)| n).sum();
    let sum: f64 = clusters.iter().map(|(sum, _)| sum).sum();
    let mean = (sum / samples).clamp(0.0, 1.0);
    let worth = Worth::of(clusters, mean, samples);
    Some((
        exact_low(mean, worth.effective(mean)),
        exact_high(mean, worth.effective(1.0 - mean)),
    ))
}

/// The effective number of independent samples of a mean.
struct Worth {
    /// The number of cases, at least two.
    cases: f64,
    /// The number of samples, at least as many.
    samples: f64,
    /// `p(1 - p)` of the mean: the variance of one independent sample, or more.
    single: f64,
    /// The sum over the cases of the squared deviations of their sums.
    squares: f64,
    /// The effective number if the samples of each case are copies of one another.
    copies: f64,
    /// The factor for a variance that is estimated with only `cases - 1` degrees of freedom.
    known: f64,
}

impl Worth {
    fn of(clusters: &[(f64, f64)], mean: f64, samples: f64) -> Self {
        let cases = clusters.len() as f64;
        let squares_of_sizes: f64 = clusters.iter().map(|(_, n)| n * n).sum();
        let quantile = |df: f64| t_upper_quantile(TAIL, df);
        Self {
            cases,
            samples,
            single: mean * (1.0 - mean),
            squares: clusters
                .iter()
                .map(|(sum, n)| (sum - mean * n).powi(2))
                .sum(),
            // Kish, "Survey Sampling" (1965), section 8.2; the number of cases if all are equal.
            copies: samples * samples / squares_of_sizes,
            // Korn and Graubard, section 2.
            known: (quantile(samples - 1.0) / quantile(cases - 1.0)).powi(2),
        }
    }

    /// The effective number of samples, at most the real number. An additional half case deviates by `off` in every
    /// sample.
    fn effective(&self, off: f64) -> f64 {
        /// A standard error below this is a rounding error, and is no estimate of the clustering.
        const ROUNDING: f64 = 1e-12;
        if self.variance(self.squares).sqrt() < ROUNDING {
            return self.copies;
        }
        let hedge = 0.5 * (off * self.samples / self.cases).powi(2);
        let least = self.worth(self.squares).min(self.copies);
        self.worth(self.squares + hedge)
            .max(least)
            .min(self.samples)
    }

    fn worth(&self, squares: f64) -> f64 {
        self.single / self.variance(squares) * self.known
    }

    /// The variance of a ratio estimator between clusters (Cochran, "Sampling Techniques", 1977,
    /// section 6.4), with one degree of freedom subtracted.
    fn variance(&self, squares: f64) -> f64 {
        self.cases / (self.cases - 1.0) * squares / (self.samples * self.samples)
    }
}

/// The lower end of the interval of Clopper and Pearson (1934) for `mean * n` successes among `n`,
/// which need not be whole numbers.
fn exact_low(mean: f64, n: f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    beta_quantile(TAIL, mean * n, (1.0 - mean) * n + 1.0)
}

/// The upper end: the mirrored lower end of the failures.
fn exact_high(mean: f64, n: f64) -> f64 {
    1.0 - exact_low(1.0 - mean, n)
}

#[cfg(test)]
mod tests;
