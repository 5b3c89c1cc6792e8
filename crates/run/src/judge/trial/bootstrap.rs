//! Bootstrap intervals for statistics of clustered samples.

use kelvin_base::digest::Fields;
use kelvin_base::draw::Draw;

/// The share of resamples beyond each end of a 95 % interval.
const TAIL: f64 = 0.025;
/// The lowest share of resamples that must have a value. If more have none, the interval would only describe the
/// resamples in which the statistic happened to exist.
const LEAST: f64 = 0.95;

/// Draws clusters anew, so that an interval needs no formula for the variance of its statistic.
///
/// The percentile interval of Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13. Whole
/// clusters are drawn, since the samples within a cluster are not independent (Davison and Hinkley, "Bootstrap Methods
/// and their Application", 1997, section 3.8). The draws depend only on the name of the statistic and the number of
/// clusters, so equal samples have equal intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bootstrap {
    /// How often the clusters are drawn.
    pub resamples: usize,
}

impl Bootstrap {
    /// A two-sided 95 % interval for a statistic of this many clusters. The statistic gets the indices of the drawn
    /// clusters, each as often as it was drawn. None for fewer than two clusters, or if the statistic has no value in
    /// more than a twentieth of the resamples.
    pub(super) fn interval(
        self,
        name: &str,
        clusters: usize,
        statistic: impl Fn(&[usize]) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        if clusters < 2 {
            return None;
        }
        let key = Fields::of("kelvin/bootstrap/v1")
            .field("statistic", name)
            .field("clusters", (clusters as u64).to_be_bytes());
        let mut draw = Draw::of(key.digest());
        let mut drawn = vec![0; clusters];
        let mut values = Vec::with_capacity(self.resamples);
        for _ in 0..self.resamples {
            drawn.fill_with(|| draw.below(clusters));
            values.extend(statistic(&drawn).filter(|value| value.is_finite()));
        }
        if values.is_empty() || (values.len() as f64) < LEAST * self.resamples as f64 {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some((quantile(&values, TAIL), quantile(&values, 1.0 - TAIL)))
    }
}

/// A quantile of sorted values, with linear interpolation (Hyndman and Fan, "Sample quantiles in statistical packages",
/// 1996, definition 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_base::digest::Digest;
    use kelvin_base::stats::mean;

    const BOOTSTRAP: Bootstrap = Bootstrap { resamples: 1_000 };

    fn of_mean(samples: &[f64]) -> Option<(f64, f64)> {
        BOOTSTRAP.interval("mean", samples.len(), |drawn| {
            let values: Vec<f64> = drawn.iter().map(|at| samples[*at]).collect();
            mean(&values)
        })
    }

    #[test]
    fn quantiles_are_linear_between_the_values() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0], 0.0), 1.0);
        assert_eq!(quantile(&[1.0, 2.0], 1.0), 2.0);
    }

    #[test]
    fn equal_samples_have_equal_intervals_and_a_constant_has_no_width() {
        let samples: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(of_mean(&samples), of_mean(&samples));
        assert_eq!(of_mean(&[0.25; 5]), Some((0.25, 0.25)));
        assert_eq!(of_mean(&[1.0]), None);
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_normal_theory() {
        let samples: Vec<f64> = (0..200).map(|at| f64::from(at % 20)).collect();
        let (low, high) = of_mean(&samples).expect("there are clusters");
        // The standard deviation of 0..=19 is 5.766; 1.96 standard errors are 0.799.
        assert!((low - (9.5 - 0.799)).abs() < 0.06, "{low}");
        assert!((high - (9.5 + 0.799)).abs() < 0.06, "{high}");
    }

    #[test]
    fn the_truth_is_covered_about_as_often_as_it_says() {
        let mut covered = 0;
        for trial in 0..200_u32 {
            let mut draw = Draw::of(Digest::of(&trial.to_be_bytes()));
            let samples: Vec<f64> = (0..40).map(|_| draw.unit()).collect();
            let (low, high) = of_mean(&samples).expect("there are clusters");
            covered += usize::from(low <= 0.5 && 0.5 <= high);
        }
        assert!((180..=199).contains(&covered), "{covered}");
    }

    #[test]
    fn a_statistic_that_often_has_no_value_has_no_interval() {
        let none = BOOTSTRAP.interval("none", 10, |drawn| drawn.contains(&3).then_some(1.0));
        assert_eq!(none, None);
        assert_eq!(BOOTSTRAP.interval("infinite", 10, |_| Some(f64::NAN)), None);
    }
}
