//! Figures with intervals, for samples that are grouped by prompt, by the bootstrap where no formula fits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::digest::Fields;
use kelvin_base::draw::Draw;
use kelvin_base::stats;

/// A figure of a trial: a value with its interval, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialFigure {
    /// Unrounded.
    pub value: Option<f64>,
    /// The ends of the 95 % interval; the samples of one prompt count as one cluster.
    pub interval: Option<(f64, f64)>,
    /// How many samples it is made from.
    pub n: usize,
    /// How many prompts these samples belong to.
    pub prompts: usize,
    /// Why there is no value, or a remark that a reader should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl TrialFigure {
    /// A figure that could not be measured, with the reason.
    pub(super) fn unmeasured(reason: impl Into<String>) -> Self {
        Self {
            note: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Adds a note for the reader of the figure.
    #[must_use]
    pub(super) fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// Samples by prompt.
#[derive(Clone, Debug)]
pub(super) struct Samples<T> {
    /// The samples of each prompt; no list is empty.
    clusters: Vec<Vec<T>>,
}

impl<T: Copy> Samples<T> {
    /// Samples with the number of their prompt. Their order within a prompt does not change.
    pub(super) fn by_prompt(samples: impl IntoIterator<Item = (usize, T)>) -> Self {
        let mut clusters: Vec<Vec<T>> = Vec::new();
        for (prompt, sample) in samples {
            if clusters.len() <= prompt {
                clusters.resize_with(prompt + 1, Vec::new);
            }
            clusters[prompt].push(sample);
        }
        clusters.retain(|cluster| !cluster.is_empty());
        Self { clusters }
    }

    /// How many prompts have a sample.
    pub(super) fn prompts(&self) -> usize {
        self.clusters.len()
    }

    /// All samples.
    pub(super) fn all(&self) -> Vec<T> {
        self.clusters.iter().flatten().copied().collect()
    }

    /// The same samples after a conversion.
    pub(super) fn map<U: Copy>(&self, form: impl Fn(T) -> U) -> Samples<U> {
        let clusters = self.clusters.iter();
        Samples {
            clusters: clusters
                .map(|cluster| cluster.iter().map(|sample| form(*sample)).collect())
                .collect(),
        }
    }

    /// A statistic of all samples, with a bootstrap interval.
    pub(super) fn figure(
        &self,
        bootstrap: Bootstrap,
        name: &str,
        statistic: impl Fn(&[T]) -> Option<f64>,
    ) -> TrialFigure {
        let all = self.all();
        let Some(value) = statistic(&all) else {
            return self.none(match all.len() {
                0 => "there is no sample",
                _ => "the samples have too few values for it",
            });
        };
        let of_drawn = |drawn: &[usize]| {
            let clusters = drawn.iter().map(|at| &self.clusters[*at]);
            let samples: Vec<T> = clusters.flatten().copied().collect();
            statistic(&samples)
        };
        self.valued(
            value,
            bootstrap.interval(name, self.clusters.len(), of_drawn),
        )
    }

    fn valued(&self, value: f64, interval: Option<(f64, f64)>) -> TrialFigure {
        TrialFigure {
            value: Some(value),
            interval,
            n: self.clusters.iter().map(Vec::len).sum(),
            prompts: self.prompts(),
            note: None,
        }
    }

    fn none(&self, reason: &str) -> TrialFigure {
        TrialFigure {
            n: self.clusters.iter().map(Vec::len).sum(),
            prompts: self.prompts(),
            ..TrialFigure::unmeasured(reason)
        }
    }
}

impl Samples<f64> {
    /// The mean, with a bootstrap interval. The sums of the prompts are computed once, not in every resample.
    pub(super) fn mean(&self, bootstrap: Bootstrap, name: &str) -> TrialFigure {
        let Some(value) = stats::mean(&self.all()) else {
            return self.none("there is no sample");
        };
        let sums = self.sums();
        let of_drawn = |drawn: &[usize]| {
            let (mut sum, mut count) = (0.0, 0);
            for (of_prompt, n) in drawn.iter().map(|at| sums[*at]) {
                sum += of_prompt;
                count += n;
            }
            Some(sum / count as f64)
        };
        self.valued(value, bootstrap.interval(name, sums.len(), of_drawn))
    }

    /// The mean of shares in `[0, 1]`, with an interval that has a width even if all samples agree: twenty pairs in the
    /// right order do not prove that all pairs are.
    pub(super) fn share(&self) -> TrialFigure {
        let Some(value) = stats::mean(&self.all()) else {
            return self.none("there is no sample");
        };
        self.valued(value, stats::clustered_interval(&self.sums()))
    }

    /// The sum and the count of the samples of each prompt.
    fn sums(&self) -> Vec<(f64, usize)> {
        let clusters = self.clusters.iter();
        clusters
            .map(|cluster| (cluster.iter().sum(), cluster.len()))
            .collect()
    }
}

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
