//! The limits of the gate, and its rules for cases of doubt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::MetricPair;
use kelvin_record::settings::{
    AnswersRule, FailOrWarn, GateRule, GateSettings, MetricPolicy as Weight,
};
use kelvin_record::settings::{MetricRule, OnSuspected as OnSuspectedSetting};

/// The limits of the gate, and its rules for cases of doubt.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The limit of a drop, in the metric's own unit, at least 0. A larger drop is a regression.
    pub max_drop: f64,
    /// How a drop is distinguished from noise.
    pub rule: Rule,
    /// Whether every item must have the same answer as on the base.
    pub same_answers: bool,
    /// The exceptions for single metrics, by id.
    pub metrics: BTreeMap<String, MetricPolicy>,
    /// The effect of a drop that noise may explain.
    pub on_suspected: OnSuspected,
    /// The effect of a case that broke completely.
    pub on_broken_case: Effect,
    /// The effect of a gated metric that was not measured.
    pub on_unmeasured: Effect,
    /// The share of a metric's cells that may be lost, in total and of each governing type; in `[0, 1]`.
    pub max_missing: f64,
    /// The effect of so many edited cases that little of a metric can be paired.
    pub on_edited: Effect,
    /// Whether the pipeline is declared deterministic: then one run is enough.
    pub deterministic: bool,
    /// The limits for the re-runs.
    pub budget: RerunBudget,
    /// Whether `baseline: {compute: true}` may be advised: it is not set already, and could be used.
    pub may_compute: bool,
}

/// How a drop is distinguished from noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// By the noise of the metric, with re-runs if they can be made.
    Auto,
    /// Noise is ignored: every drop beyond the limit is a regression.
    Threshold,
}

/// The exceptions for one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricPolicy {
    /// The limit for this metric, which replaces the general limit.
    pub max_drop: Option<f64>,
    /// Whether the metric is gated, regardless of its report.
    pub policy: Option<Attention>,
    /// The worst value that the head may have, regardless of the base: a minimum if higher is better, a maximum if
    /// lower is better.
    pub min: Option<f64>,
}

/// How much a metric matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// The metric can fail the job.
    Gate,
    /// The metric can lead to a warning.
    Warn,
    /// The metric is only shown.
    Info,
}

/// The effect of a finding on the job.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The finding fails the job.
    Fail,
    /// It warns.
    Warn,
}

/// The effect of a drop that noise may explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSuspected {
    /// A doubtful result fails if no case was run again, and leads to a warning if re-runs were made.
    Auto,
    /// The effect is the same whether or not cases were run again.
    Always(Effect),
}

/// The limits for the re-runs; the caller counts the re-runs, because it makes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RerunBudget {
    /// The maximum number of runs of a case on the head, including the first; 1 allows no re-run.
    pub head_repeats: usize,
    /// The maximum number of invocations for all re-runs together.
    pub calls: Option<usize>,
    /// The maximum time for all re-runs together, in minutes.
    pub minutes: Option<f64>,
}

/// What may be advised, and is not in the configuration already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advisable {
    /// `baseline: {compute: true}`.
    pub compute: bool,
    /// A budget for the re-runs, in place of the default.
    pub budget: bool,
}

impl Advisable {
    /// Why nothing more was run again, where more calls would have been needed.
    pub const fn spent(self) -> &'static str {
        match self.budget {
            true => {
                "the re-runs that are made by default leave it open; `gate: {budget: {calls: N}}` allows more"
            }
            false => "the budget for re-runs ran out",
        }
    }

    /// The settings by which the base is run more often.
    pub const fn runs_of_the_base(self) -> &'static str {
        match self.compute {
            true => "`baseline: {repeats: 5}`, or `baseline: {compute: true}`,",
            false => "`baseline: {repeats: 5}`",
        }
    }
}

impl Default for Policy {
    /// The policy of an empty configuration.
    fn default() -> Self {
        Self::of(&GateSettings::default())
    }
}

impl From<FailOrWarn> for Effect {
    fn from(setting: FailOrWarn) -> Self {
        match setting {
            FailOrWarn::Fail => Self::Fail,
            FailOrWarn::Warn => Self::Warn,
        }
    }
}

impl From<&MetricRule> for MetricPolicy {
    fn from(rule: &MetricRule) -> Self {
        Self {
            max_drop: rule.max_drop,
            policy: rule.policy.map(|weight| match weight {
                Weight::Gate => Attention::Gate,
                Weight::Warn => Attention::Warn,
                Weight::Info => Attention::Info,
            }),
            min: rule.min,
        }
    }
}

impl Policy {
    /// Whether a drop is judged as if answers never varied.
    pub fn is_exact(&self) -> bool {
        self.deterministic || self.rule == Rule::Threshold
    }

    /// The policy of a configuration.
    pub fn of(settings: &GateSettings) -> Self {
        let GateSettings {
            max_drop,
            metrics,
            rule,
            answers,
            on_suspected,
            on_broken_case,
            on_unmeasured,
            max_missing,
            on_edited,
            deterministic,
            // The judges behind the figures are checked separately.
            calibration: _,
            require_calibration: _,
            unfit_judge: _,
            // Approvals are considered once there is a verdict.
            approval: _,
            budget,
        } = settings;
        Self {
            max_drop: *max_drop,
            rule: match rule {
                GateRule::Auto => Rule::Auto,
                GateRule::Threshold => Rule::Threshold,
            },
            same_answers: *answers == AnswersRule::Same,
            metrics: metrics
                .iter()
                .map(|(id, rule)| (id.clone(), MetricPolicy::from(rule)))
                .collect(),
            on_suspected: match on_suspected {
                OnSuspectedSetting::Auto => OnSuspected::Auto,
                OnSuspectedSetting::Fail => OnSuspected::Always(Effect::Fail),
                OnSuspectedSetting::Warn => OnSuspected::Always(Effect::Warn),
            },
            on_broken_case: (*on_broken_case).into(),
            on_unmeasured: (*on_unmeasured).into(),
            max_missing: *max_missing,
            on_edited: (*on_edited).into(),
            deterministic: *deterministic,
            budget: RerunBudget {
                head_repeats: budget.head_repeats.get(),
                calls: budget.calls,
                minutes: budget.minutes,
            },
            may_compute: true,
        }
    }

    /// What may be advised.
    pub const fn advisable(&self) -> Advisable {
        Advisable {
            compute: self.may_compute,
            budget: self.budget.calls.is_none() && self.budget.minutes.is_none(),
        }
    }

    /// The limit of a metric's drop.
    pub fn max_drop(&self, id: &str) -> f64 {
        self.metrics
            .get(id)
            .and_then(|metric| metric.max_drop)
            .unwrap_or(self.max_drop)
    }

    /// Whether the configuration sets how much this metric may drop, or allows every metric to drop by 1 or more.
    pub(crate) fn is_set_for(&self, id: &str) -> bool {
        let own = self.metrics.get(id).and_then(|metric| metric.max_drop);
        own.is_some() || self.max_drop >= 1.0
    }

    /// The worst value that a metric may have.
    pub fn min(&self, id: &str) -> Option<f64> {
        self.metrics.get(id)?.min
    }

    /// The attention that a metric gets: as configured, or as its report says. A metric with its own limit is gated.
    pub fn attention(&self, id: &str, metric: &MetricPair<'_>) -> Attention {
        self.attention_to(id, metric.gated)
    }

    /// The attention that a metric of one report gets; `gated`: whether the report says that it is gated.
    pub(crate) fn attention_to(&self, id: &str, gated: bool) -> Attention {
        let rule = self.metrics.get(id);
        let has_limit = rule.is_some_and(|rule| rule.max_drop.is_some() || rule.min.is_some());
        match rule.and_then(|rule| rule.policy) {
            Some(attention) => attention,
            None if gated || has_limit => Attention::Gate,
            None => Attention::Info,
        }
    }
}
