//! Figures with intervals, for samples that are grouped by prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bootstrap::Bootstrap;
use kelvin_base::stats;

/// A figure of a trial: a value with its interval, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
            value: None,
            interval: None,
            n: 0,
            prompts: 0,
            note: Some(reason.into()),
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
