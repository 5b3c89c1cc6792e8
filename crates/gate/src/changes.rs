//! The changed cases, in the order in which people should examine them.

use std::cmp::Reverse;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::look::GUARD;
use super::verdict::Verdict;
use crate::compare::{CasePair, Change, Comparison, MetricPair, loss};

/// What became of one case in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseChange {
    /// The metric.
    pub metric: String,
    /// The case.
    pub case: String,
    /// win, loss, draw, regression, added, removed, edited, or why it cannot be compared.
    pub change: Change,
    /// The value on the base.
    pub base: Option<f64>,
    /// The value on the head.
    pub head: Option<f64>,
    /// The variants that got worse, worst first, with the values on both sides; for a case that got better, the
    /// variants that got better. In words.
    pub flipped: Vec<String>,
    /// The same variants, each with its values on both sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantChange>,
    /// Variants without a counterpart that has the same input.
    pub not_comparable: usize,
}

/// One variant of a case on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantChange {
    /// Its name; null for a case that has no variants.
    pub variant: Option<String>,
    /// The mean of its repeats on the base.
    pub base: f64,
    /// The mean of its repeats on the head.
    pub head: f64,
}

impl fmt::Display for VariantChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, base, head) = (self.variant.as_deref(), self.base, self.head);
        write!(f, "{} {base:.2} to {head:.2}", variant.unwrap_or(""))
    }
}

impl CaseChange {
    /// Whether its value changed by at least half of the scale from 0 to 1, and also by half of its old value: half a
    /// second is little compared with twenty seconds.
    pub(crate) fn is_by_half(&self) -> bool {
        const HALF: f64 = 0.5;
        let both = self.base.zip(self.head);
        both.is_some_and(|(base, head)| (base - head).abs() >= HALF * base.abs().max(1.0) - GUARD)
    }

    /// Whether the case got worse.
    pub const fn is_worse(&self) -> bool {
        matches!(self.change, Change::Regression | Change::Loss)
    }
}

/// The cases of the gated metrics that got better or worse. First come the metrics that dropped beyond their limit or
/// in which a case broke, in the order of the reasons, then the others by their rank. Within a metric, the cases that
/// the reason names come first.
pub fn case_changes(comparison: &Comparison<'_>, verdict: &Verdict) -> Vec<CaseChange> {
    let place = |id: &str| {
        let mut reasons = verdict.reasons.iter();
        let place = reasons
            .position(|reason| reason.effect.is_some() && reason.metric.as_deref() == Some(id));
        place.unwrap_or(usize::MAX)
    };
    let mut metrics: Vec<(&str, &MetricPair<'_>)> = comparison
        .metrics
        .iter()
        .filter(|(_, metric)| metric.gated)
        .map(|(id, metric)| (*id, metric))
        .collect();
    metrics.sort_by(|(one, _), (other, _)| {
        let key = |id: &str| {
            let beyond = verdict.metrics.get(id).and_then(|metric| metric.beyond());
            let matters = beyond.is_some() || verdict.is_broken_in(id);
            (Reverse(matters), place(id))
        };
        let rank = |id: &str| {
            verdict
                .metrics
                .get(id)
                .map(super::verdict::MetricVerdict::rank)
        };
        key(one).cmp(&key(other)).then_with(|| {
            let (one, other) = (rank(one), rank(other));
            one.zip(other)
                .map_or(std::cmp::Ordering::Equal, |(one, other)| one.order(&other))
        })
    });
    let changes = metrics
        .into_iter()
        .flat_map(|(id, metric)| of_metric(id, metric, verdict));
    changes.collect()
}

fn of_metric(id: &str, metric: &MetricPair<'_>, verdict: &Verdict) -> Vec<CaseChange> {
    let mut cases: Vec<(&str, &CasePair<'_>)> = metric
        .worst_first()
        .into_iter()
        .filter(|(_, case)| case.change != Change::Draw || case.not_comparable > 0)
        .collect();
    // The sort is stable: the cases that the reason does not name stay sorted by how much worse they got.
    let drivers = verdict
        .metrics
        .get(id)
        .map_or(&[][..], |metric| &metric.drivers);
    let named = |name: &str| {
        let broke = |case: &super::verdict::BrokenCase| {
            case.certain && case.metric == id && case.case == name
        };
        let place = drivers.iter().position(|driver| driver.case == name);
        let is_broken = verdict.broken_cases.iter().any(broke);
        (place.unwrap_or(usize::MAX), Reverse(is_broken))
    };
    cases.sort_by_key(|(name, _)| named(name));
    let changes = cases.into_iter().map(|(name, case)| {
        let variants = flipped(metric, case);
        CaseChange {
            metric: id.to_owned(),
            case: name.to_owned(),
            change: case.change,
            base: case.base,
            head: case.head,
            flipped: variants.iter().map(ToString::to_string).collect(),
            variants,
            not_comparable: case.not_comparable,
        }
    });
    changes.collect()
}

/// The variants that moved in the same direction as the case, sorted by how far they moved.
fn flipped(metric: &MetricPair<'_>, case: &CasePair<'_>) -> Vec<VariantChange> {
    let mean = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        kelvin_base::stats::mean(&known)
    };
    let mut moved: Vec<(f64, VariantChange)> = case
        .cells
        .iter()
        .filter_map(|cell| {
            let (base, head) = (mean(cell.base)?, mean(cell.head)?);
            let drop = loss(metric.direction, head) - loss(metric.direction, base);
            let is_shown = match case.change {
                Change::Loss | Change::Regression => drop > GUARD,
                Change::Win => drop < -GUARD,
                _ => drop.abs() > GUARD,
            };
            let variant = cell.variant.map(str::to_owned);
            is_shown.then_some((
                drop.abs(),
                VariantChange {
                    variant,
                    base,
                    head,
                },
            ))
        })
        .collect();
    moved.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    moved.into_iter().map(|(_, variant)| variant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_large_value_is_not_half_of_one() {
        let by_half = |base: f64, head: f64| {
            let change = CaseChange {
                metric: "m".to_owned(),
                case: "c".to_owned(),
                change: Change::Loss,
                base: Some(base),
                head: Some(head),
                flipped: Vec::new(),
                variants: Vec::new(),
                not_comparable: 0,
            };
            change.is_by_half()
        };
        assert!(by_half(1.0, 0.5) && by_half(0.0, 0.5) && by_half(2.0, 9.0));
        assert!(!by_half(1.0, 0.6) && !by_half(20.0, 20.6));
    }
}
