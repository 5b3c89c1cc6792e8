//! How far the head is from an anchor, which is an older report: plain figures with their intervals.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_of_type;
use super::look::GUARD;
use super::policy::{Attention, Effect, Policy};
use super::sentence::name;
use super::verdict::{Reason, ReasonCode, Verdict, Word};
use crate::compare::{Comparison, loss};
use kelvin_base::stats;
use kelvin_page::{display, safe};
use kelvin_record::{Direction, Interval, Metric};

/// What became of the gated metrics since the anchor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The commit of the anchor; null if it could not be obtained.
    pub commit: Option<String>,
    /// Which report the anchor is, in words, or why there is no anchor.
    pub anchor: String,
    /// The gated metrics that both the anchor and the head have, by id.
    pub metrics: BTreeMap<String, Drifted>,
}

/// One metric at the anchor and now, each over all of its own samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drifted {
    /// Whether a higher or a lower value is better.
    pub direction: Direction,
    /// The value of the metric at the anchor.
    pub anchor: f64,
    /// The 95 % interval of the value at the anchor.
    pub anchor_interval: Option<Interval>,
    /// The value of the metric now.
    pub head: f64,
    /// The 95 % interval of the value now.
    pub head_interval: Option<Interval>,
    /// How much worse the head is; a positive number is worse, whichever direction is better.
    pub drop: f64,
    /// How much worse the head may be: `baseline.max_drift`, but at least the drop that the gate allows a single
    /// change.
    pub limit: f64,
    /// Whether the head is worse by more than this limit.
    pub is_beyond: bool,
}

/// The gated metrics of an anchor and a head. `max_drift`: how much worse each may be.
pub fn metrics(
    policy: &Policy,
    max_drift: f64,
    comparison: &Comparison<'_>,
    (anchor, head): (&BTreeMap<String, Metric>, &BTreeMap<String, Metric>),
) -> BTreeMap<String, Drifted> {
    let gated = comparison.metrics.iter();
    let gated = gated.filter(|(id, pair)| policy.attention(id, pair) == Attention::Gate);
    gated
        .filter_map(|(id, pair)| {
            let (before, now) = (anchor.get(*id)?, head.get(*id)?);
            let [was, is] = match is_of_type(comparison, id) {
                true => [moved(before)?, moved(now)?],
                false => [(before.value?, before.interval), (now.value?, now.interval)],
            };
            let ((was, was_interval), (is, is_interval)) = (was, is);
            let drop = loss(pair.direction, is) - loss(pair.direction, was);
            let limit = max_drift.max(policy.max_drop(id));
            let drifted = Drifted {
                direction: pair.direction,
                anchor: was,
                anchor_interval: was_interval,
                head: is,
                head_interval: is_interval,
                drop,
                limit,
                is_beyond: drop > limit + GUARD,
            };
            Some(((*id).to_owned(), drifted))
        })
        .collect()
}

/// How far the swaps of a governing type move the decision, as a mean over all of them, with its 95 % interval over the
/// cases. The value of such a metric is a ratio to the largest possible move; if only a few swaps move the decision,
/// the ratio hides this.
fn moved(metric: &Metric) -> Option<(f64, Option<Interval>)> {
    let cases = metric.per_case.values();
    let cases: Vec<(f64, usize)> = cases
        .filter_map(|case| Some((case.value?, case.n)))
        .collect();
    let all: usize = cases.iter().map(|(_, n)| n).sum();
    let sum: f64 = cases.iter().map(|(value, n)| value * *n as f64).sum();
    let by_case: Vec<(f64, usize)> = cases.iter().map(|(value, _)| (*value, 1)).collect();
    let interval = stats::clustered_interval(&by_case);
    let interval = interval.map(|(low, high)| Interval { low, high });
    (all > 0).then(|| (sum / all as f64, interval))
}

impl Drift {
    /// Reports every metric that drifted further than allowed; if the configuration says so, the gate fails. Metrics
    /// that could not be compared lead to a warning, so that no change passes unnoticed because an anchor is missing.
    pub fn add_to_verdict(&self, verdict: &mut Verdict, effect: Effect) {
        let beyond = self.metrics.iter().filter(|(_, drifted)| drifted.is_beyond);
        let mut reasons: Vec<Reason> = beyond
            .map(|(id, drifted)| {
                Reason::new(ReasonCode::Drift, Some(effect), self.sentence(id, drifted))
                    .about(id.clone())
            })
            .collect();
        if effect == Effect::Fail && !reasons.is_empty() {
            verdict.passed = false;
            verdict.verdict = verdict.verdict.max(Word::Regression);
        }
        if effect == Effect::Fail && self.commit.is_none() {
            reasons.push(Reason::new(
                ReasonCode::DriftUnknown,
                Some(Effect::Warn),
                self.note(),
            ));
        }
        let fails = |reason: &&Reason| reason.effect == Some(Effect::Fail);
        // Failures that concern only this change come first.
        let at = verdict.reasons.iter().take_while(fails).count();
        verdict.reasons.splice(at..at, reasons);
    }

    /// The anchor with which the head was compared, in one line.
    pub fn note(&self) -> String {
        let anchor = safe::line(&self.anchor);
        let beyond = self.metrics.values().filter(|metric| metric.is_beyond);
        match (&self.commit, beyond.count()) {
            (None, _) => format!("nothing is known of drift: {anchor}"),
            (Some(_), 0) => {
                format!("no gated metric drifted by more than is allowed since {anchor}")
            }
            (Some(_), beyond) => format!(
                "{beyond} of {} gated metrics drifted by more than is allowed since {anchor}",
                self.metrics.len(),
            ),
        }
    }

    fn sentence(&self, id: &str, drifted: &Drifted) -> String {
        let verb = match drifted.direction {
            Direction::Lower => "rose",
            Direction::Higher => "fell",
        };
        let value = |value: f64, interval: Option<Interval>| match interval {
            Some(Interval { low, high }) => format!(
                "{} (95 % interval {} to {})",
                display(value),
                display(low),
                display(high)
            ),
            None => display(value).to_string(),
        };
        let overlap = match (drifted.anchor_interval, drifted.head_interval) {
            (Some(one), Some(other)) if one.low <= other.high && other.low <= one.high => {
                "; the intervals overlap, so a part of it may be noise"
            }
            _ => "",
        };
        format!(
            "{} drifted: it {verb} from {} at {} to {} now, by {}; the limit of drift is {}{overlap}",
            name(id),
            value(drifted.anchor, drifted.anchor_interval),
            safe::line(&self.anchor),
            value(drifted.head, drifted.head_interval),
            display(drifted.drop),
            display(drifted.limit),
        )
    }
}
