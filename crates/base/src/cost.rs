//! The cost of a run: calls, seconds, tokens and money.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// The cost of a run; the part of a report in which two equal runs may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Calls of the pipeline, further attempts included.
    pub invocations: usize,
    /// Answers that came from the cache.
    pub cache_hits: usize,
    /// Answers that an interrupted run had left.
    pub resumed: usize,
    /// Calls that were further attempts.
    pub retries: usize,
    /// Seconds spent in calls, added up over all jobs.
    pub pipeline_seconds: f64,
    /// The tokens that the calls of this run used, if they called a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tokens of all answers, those of the cache included: what this run would have used without a
    /// cache, and what is compared with another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_of_answers: Option<Usage>,
}

impl Cost {
    /// How many answers the cost covers, including failures.
    pub const fn answers(&self) -> usize {
        self.invocations.saturating_sub(self.retries) + self.cache_hits + self.resumed
    }

    /// The cost of an answer relative to the cost of an answer in the other run: in money, or in tokens if the money of
    /// one run is unknown. None if one run has neither figure.
    pub fn times(&self, other: &Self) -> Option<f64> {
        let (own, others) = (self.usage_of_answers?, other.usage_of_answers?);
        let tokens = |usage: &Usage| (usage.untold == 0).then_some(usage.tokens() as f64);
        let (own, others) = own
            .usd
            .zip(others.usd)
            .filter(|(_, others)| *others > 0.0)
            .or_else(|| tokens(&own).zip(tokens(&others)))?;
        let each = |sum: f64, cost: &Self| sum / cost.answers() as f64;
        let times = each(own, self) / each(others, other);
        times.is_finite().then_some(times)
    }

    /// The sum of both costs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            invocations: self.invocations + other.invocations,
            cache_hits: self.cache_hits + other.cache_hits,
            resumed: self.resumed + other.resumed,
            retries: self.retries + other.retries,
            pipeline_seconds: self.pipeline_seconds + other.pipeline_seconds,
            usage: Usage::sum(self.usage, other.usage),
            usage_of_answers: Usage::sum(self.usage_of_answers, other.usage_of_answers),
        }
    }
}
