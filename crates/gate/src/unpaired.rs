//! Judges metrics whose inputs changed: the cases with the same name are also compared as a whole, each side with its
//! own inputs.
//!
//! Edited cases have no pairs, so the pairs cannot show a drop in them. Since the inputs differ, repeats do not show
//! all of the noise, and even a deterministic pipeline is not exact here: the noise is estimated from the differences
//! between the cases.

use super::look::{self, Look, LookOutcome, LookSettings, Noise, PairedCase, PairedCell};
use super::policy::{Attention, Policy, Rule};
use crate::compare::{Comparison, MetricPair, Presence, Unpaired, loss};
use kelvin_record::{Repeats, WantedRepeats};
use std::collections::BTreeMap;

/// The probability of a false alarm over all gated metrics together. The pairs have their own, so that this one is
/// small: an unchanged pipeline whose cases were edited would otherwise be judged twice at 5 %.
const ALPHA: f64 = 0.02;

/// With fewer moved cases than this, there is no regression.
const FEWEST_MOVED: usize = 5;

/// How often a case that moved is run before a drop is reported.
pub(super) const MOST_RUNS: usize = 5;

/// With fewer paired cases than this, the pairs show little.
const FEWEST_PAIRED: usize = 5;

/// The result of comparing the cases with the same name.
#[derive(Clone, Debug)]
pub(super) struct SameNames {
    /// The names of the cases.
    pub(super) names: Vec<String>,
    /// The look at these cases.
    pub(super) look: Look,
}

/// Whether a metric has inputs that changed.
pub(super) const fn has_turned(pair: &MetricPair<'_>) -> bool {
    pair.coverage.whole.turned > 0
}

/// Whether so much has changed that the pairs alone are not enough for a conclusion: less than half of the base's cells
/// can be paired, or fewer than five cases. If the base itself has fewer cases, one case that cannot be paired is
/// enough.
pub(super) fn is_thin(pair: &MetricPair<'_>) -> bool {
    let whole = &pair.coverage.whole;
    let few = pair.coverage.cases < FEWEST_PAIRED.min(pair.coverage.base_cases);
    has_turned(pair) && (2 * whole.paired < whole.base || few)
}

/// Looks at the cases with the same name of every metric whose inputs changed. The false alarms are divided among the
/// gated metrics that can cause one: those in which enough cases moved.
pub(super) fn looks(comparison: &Comparison<'_>, policy: &Policy) -> BTreeMap<String, SameNames> {
    let looks = |gated: usize| {
        let metrics = comparison.metrics.iter();
        metrics.filter_map(move |(id, metric)| Some((*id, look(metric, policy, id, gated)?)))
    };
    let may_alarm = |(id, seen): &(&str, SameNames)| {
        let is_gated = policy.attention(id, &comparison.metrics[id]) == Attention::Gate;
        is_gated && seen.look.moved >= FEWEST_MOVED
    };
    let gated = looks(1).filter(may_alarm).count().max(1);
    looks(gated)
        .map(|(id, seen)| (id.to_owned(), seen))
        .collect()
}

/// Looks at the cases with the same name; none if no input changed, or no comparison is possible. `gated`: among how
/// many metrics the false alarms are divided.
fn look(pair: &MetricPair<'_>, policy: &Policy, id: &str, gated: usize) -> Option<SameNames> {
    if pair.presence != Presence::Both || !has_turned(pair) {
        return None;
    }
    let (names, cases): (Vec<String>, Vec<PairedCase>) = pair
        .cases
        .iter()
        .filter_map(|(name, case)| {
            let whole = as_case(pair, case.unpaired.as_ref()?);
            Some(((*name).to_owned(), whole))
        })
        .unzip();
    let question = LookSettings {
        max_drop: policy.max_drop(id),
        widest: pair.range.width(),
        alpha: ALPHA,
        gated,
        noise: match policy.rule {
            Rule::Auto => Noise::Cases,
            Rule::Threshold => Noise::Declared,
        },
        max_missing: 1.0,
    };
    let mut look = look::look(&cases, &question).ok()?;
    let few = look.moved < FEWEST_MOVED && policy.rule == Rule::Auto;
    if look.outcome == LookOutcome::Regression && few {
        look.outcome = LookOutcome::Inconclusive;
        look.reason = look::LookReason::Suspected;
    }
    Some(SameNames { names, look })
}

/// The cases whose input differs on the head, each as a whole: requirements for every case apply to them too.
pub(super) fn edited(pair: &MetricPair<'_>) -> Vec<(String, PairedCase)> {
    let edited = pair.cases.iter().filter_map(|(name, case)| {
        let whole = case.unpaired.as_ref().filter(|_| case.cells.is_empty())?;
        Some(((*name).to_owned(), as_case(pair, whole)))
    });
    edited.collect()
}

fn as_case(pair: &MetricPair<'_>, whole: &Unpaired) -> PairedCase {
    let turn = |values: &[Option<f64>]| -> Vec<Option<f64>> {
        let values = values.iter();
        values
            .map(|value| value.map(|value| loss(pair.direction, value)))
            .collect()
    };
    PairedCase {
        cells: vec![PairedCell {
            base: turn(&whole.base).into(),
            head: turn(&whole.head).into(),
        }],
        weight: whole.samples as f64,
        ..PairedCase::default()
    }
}

impl SameNames {
    /// Whether the drop exceeds the limit, regardless of noise.
    pub(super) fn is_beyond(&self) -> bool {
        matches!(
            self.look.reason,
            look::LookReason::Drop | look::LookReason::Suspected
        )
    }

    /// The cases to run again before a drop is reported: those that moved, better or worse.
    pub(super) fn moved(&self, runs: usize) -> WantedRepeats {
        let shares = self.names.iter().zip(&self.look.shares);
        shares
            .filter(|(_, share)| share.abs() > look::GUARD)
            .map(|(name, _)| (name.clone(), Repeats::of_all(runs).into()))
            .collect()
    }
}
