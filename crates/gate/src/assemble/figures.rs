//! The figures shown with a verdict, and the cases that caused a drop.

use super::{Assembly, MetricFinding};
use crate::compare::{MetricPair, Presence, loss};
use crate::governing::TypeDecision;
use crate::look::{self, GUARD, Look};
use crate::policy::Attention;
use crate::subject::gated_metric;
use crate::unpaired;
use crate::verdict::{Cause, CellCounts, Driver, MetricVerdict, SwapsVerdict};
use kelvin_record::Direction;

/// How many cases are named as the cause of a drop at most, and how many variants of each.
const MOST_DRIVERS: usize = 3;
const MOST_VARIANTS: usize = 5;

/// The largest rounding error of a sum of many numbers that cancel each other out.
const ROUNDING: f64 = 1e-12;

impl Assembly<'_> {
    /// The figures of a metric for the verdict.
    pub(super) fn metric_verdict(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        policy: Attention,
        look: Option<&Look>,
        found: &MetricFinding,
    ) -> MetricVerdict {
        // `loss` also converts a loss back into the value.
        let value = |turned: f64| loss(pair.direction, turned);
        let names: Vec<&str> = match self.unpaired.get(id).filter(|_| found.unpaired) {
            Some(seen) => seen.names.iter().map(String::as_str).collect(),
            None => pair
                .cases
                .iter()
                .filter(|(_, case)| !case.cells.is_empty())
                .map(|(name, _)| *name)
                .collect(),
        };
        // A metric that is judged by its swaps, or that is only shown, has no look, but its two values can still be
        // compared. Where both sides have the same swaps, these are the values of the reports, by which a `min` is judged.
        let whole = &pair.coverage.whole;
        let are_told = pair.base.is_some() && pair.head.is_some();
        let has_values = self.types.contains_key(id) && are_told && whole.is_whole();
        let is_looked_at =
            self.decisions.contains_key(id) || has_values || self.incomparable.is_some();
        let common = match look {
            Some(look) => Some((look.base, look.head)),
            None if is_looked_at => None,
            None => means_of_both(pair),
        };
        let lost = pair.coverage.lost.keys();
        MetricVerdict {
            verdict: found.word,
            cause: found.cause,
            policy,
            headline: pair.headline,
            lower_is_better: pair.direction == Direction::Lower,
            base: common.map_or(pair.base, |(base, _)| rounded(Some(value(base)))),
            head: common.map_or(pair.head, |(_, head)| rounded(Some(value(head)))),
            drop: rounded(match (look, common) {
                (Some(look), _) => Some(look.drop),
                (None, Some((base, head))) => Some(head - base),
                (None, None) => drop_of_values(pair),
            }),
            max_drop: self.policy.max_drop(id),
            at_least: rounded(look.and_then(|look| look.lower)),
            confidence: look
                .filter(|look| look.lower.is_some())
                .map(|look| 1.0 - look.alpha),
            at_most: rounded(look.and_then(|look| look.upper)),
            detectable: look.and_then(|look| look.detectable),
            resolution: look.map(|look| look.resolution),
            cases: look.map_or(0, |look| look.cases),
            cells: look.map_or(0, |look| look.cells),
            between_reports: look.and_then(|look| look.between_reports),
            lost: lost.map(|name| (*name).to_owned()).collect(),
            coverage: CellCounts {
                base: whole.base,
                paired: whole.paired,
                lost: whole.lost,
                turned: whole.turned,
                paired_cases: pair.coverage.cases,
            },
            unpaired: found.unpaired,
            is_thin: self.incomparable.is_none() && unpaired::is_thin(pair),
            cannot_rerun: pair.cannot_rerun,
            is_at_worst: self.policy.attention(id, pair) == Attention::Gate
                && !self.types.contains_key(id)
                && is_at_worst(pair),
            swaps: self.types.get(id).map(swaps),
            drivers: look
                .filter(|_| matches!(found.cause, Cause::Drop | Cause::Suspected))
                .map_or_else(Vec::new, |look| drivers(pair, &names, look)),
        }
    }
}

fn swaps(decision: &TypeDecision) -> SwapsVerdict {
    let figures = &decision.figures;
    let exact = |figure: f64| if figure.abs() < GUARD { 0.0 } else { figure };
    SwapsVerdict {
        of_type: decision.name.clone(),
        status: decision.status,
        swaps: figures.swaps,
        moved_base: figures.moved_base,
        moved_head: figures.moved_head,
        drop: exact(figures.drop),
        limit: exact(figures.limit),
        unseen: decision.is_unseen(),
        unsteady: decision.unsteady.clone(),
    }
}

/// Whether the means of both sides are the worst possible value, so that every single value is.
fn is_at_worst(pair: &MetricPair<'_>) -> bool {
    let worst = match pair.direction {
        Direction::Higher => pair.range.low,
        Direction::Lower => pair.range.high,
    };
    let is_worst = |side: Option<f64>| {
        side.zip(worst)
            .is_some_and(|(value, worst)| (value - worst).abs() < GUARD)
    };
    pair.presence == Presence::Both && is_worst(pair.base) && is_worst(pair.head)
}

/// Replaces a figure that differs from 0 only by rounding with 0.
fn rounded(figure: Option<f64>) -> Option<f64> {
    figure.map(|figure| if figure.abs() < ROUNDING { 0.0 } else { figure })
}

/// The mean losses over the cells that both sides measured; none if these are all cells, so that the values in the
/// reports can be used. Without this, cases that a change adds would change a figure although no case has changed.
fn means_of_both(pair: &MetricPair<'_>) -> Option<(f64, f64)> {
    let metric = gated_metric(pair, 0.0, (&[], &|_| false));
    let (base, head) = look::means(&metric.cases)?;
    let is_reported = |mean: f64, reported: Option<f64>| {
        reported.is_some_and(|value| (loss(pair.direction, value) - mean).abs() < GUARD)
    };
    let are_all = is_reported(base, pair.base) && is_reported(head, pair.head);
    (!are_all).then_some((base, head))
}

/// How much worse the head is, according to the values in the two reports.
pub(super) fn drop_of_values(pair: &MetricPair<'_>) -> Option<f64> {
    Some(loss(pair.direction, pair.head?) - loss(pair.direction, pair.base?))
}

/// The cases that contribute most to a drop.
fn drivers(pair: &MetricPair<'_>, names: &[&str], look: &Look) -> Vec<Driver> {
    let mut shares: Vec<(&str, f64)> = names
        .iter()
        .zip(&look.shares)
        .map(|(name, share)| (*name, *share))
        .filter(|(_, share)| *share > GUARD)
        .collect();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    shares
        .into_iter()
        .take(MOST_DRIVERS)
        .map(|(name, share)| Driver {
            case: name.to_owned(),
            share,
            variants: pair.cases[name]
                .moved(pair.direction)
                .into_iter()
                .filter(|(_, drop)| *drop > 0.0)
                .take(MOST_VARIANTS)
                .map(|(variant, _)| variant.to_owned())
                .collect(),
        })
        .collect()
}
