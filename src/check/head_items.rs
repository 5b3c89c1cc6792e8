//! Runs the code of the base on items of the head: cases that a change edits are run with the old code too, so that
//! they are paired like all others and cannot hide a drop.
//!
//! Cases that the change adds are not run with the old code: many easy new cases would dilute a drop in the others.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use anyhow::ensure;

use super::budget::Allowance;
use super::compute::{self, WantedItems};
use crate::sentence::in_a_sentence;
use kelvin_base::digest::Digest;
use kelvin_gate::align;
use kelvin_gate::compare::{Measured, Turnover, compare};
use kelvin_gate::differences::Difference;
use kelvin_gate::report::Report;
use kelvin_record::{CaseValue, Ending, Metric};
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// The calls that were made with the code of the base, in addition to its stored answers.
#[derive(Default)]
pub(super) struct AskedOfTheBase {
    /// How many calls were made with the code of the base.
    pub(super) calls: usize,
    /// The seed of the head, if the base has answered: from then on the base is measured on the items of the head.
    pub(super) seed: Option<u64>,
    /// The items whose stored answers are kept.
    pub(super) left: BTreeSet<String>,
    /// The note about the calls with the code of the base, for the verdict.
    pub(super) told: Option<Difference>,
    /// How the change edited the items; this is no longer visible once the items are paired.
    pub(super) turnover: BTreeMap<String, Turnover>,
}

/// Runs the code of the base on the items whose input differs from the stored one, and replaces the stored answers.
pub(super) fn ask_of_the_base(
    (config, what, observer): (&Config, WantedItems<'_>, &dyn Observer),
    base: &mut Report,
    head: &Report,
    allowance: &mut Allowance,
) -> AskedOfTheBase {
    let (old, new) = (Measured::from(&*base), Measured::from(head));
    let turned = compare(&old, &new).turnover;
    let is_edited = turned
        .values()
        .any(|found| found.edited + found.added + found.removed > 0);
    let mut asked = AskedOfTheBase::default();
    if !is_edited && base.run.seed == head.run.seed {
        return asked;
    }
    // Items with the same input need no run: only their labels may differ.
    let aligned = align::align(base, head);
    let names = asked_otherwise(
        &Measured::from(&aligned.base),
        &Measured::from(&aligned.head),
    );
    if names.is_empty() {
        return asked;
    }
    let turned = turned.into_iter();
    asked.turnover = turned.map(|(name, one)| (name.to_owned(), one)).collect();
    let repeats = NonZeroUsize::new(base.run.repeats).unwrap_or(NonZeroUsize::MIN);
    let measured = allowance
        .pay_for_the_base(&names, repeats, head)
        .and_then(|()| {
            let seed = head.run.seed;
            compute::on_items_of_the_head(config, what, (&names, repeats, seed), observer)
        })
        .and_then(|measured| {
            ensure!(
                measured.run.ending == Ending::Complete,
                "the pipeline of the base did not finish on these items"
            );
            Ok(measured)
        });
    let mut measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            let why = in_a_sentence(&error);
            asked.told = Some(Difference::CasesOfTheHeadNotRun { why });
            return asked;
        }
    };
    asked.calls = measured.run.session.cost.invocations;
    asked.seed = Some(head.run.seed);
    let left = unfit(&names, base, &measured);
    leave_out(&mut measured, &left);
    compute::replace(base, measured);
    asked.told = Some(Difference::BaseRanCasesOfTheHead {
        cases: names.len(),
        left: left.iter().cloned().collect(),
    });
    asked.left = left;
    asked
}

/// The items on both sides for which the input of the head differs from that of the base.
fn asked_otherwise(old: &Measured<'_>, new: &Measured<'_>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for (probe, items) in &new.items {
        let Some(before) = old.items.get(probe) else {
            continue;
        };
        let is_other = |name: &str, digest: Digest| {
            let before = before.by_name.get(name);
            before.is_some_and(|before| before.digest != digest)
        };
        let others = items.by_name.iter();
        let others = others.filter(|(name, item)| is_other(name, item.digest));
        names.extend(others.map(|(name, _)| (*name).to_owned()));
    }
    for (id, metric) in new.metrics {
        let Some(before) = old.metrics.get(id) else {
            continue;
        };
        let inputs = |value: &CaseValue| -> BTreeSet<Digest> {
            value.cells.values().map(|cell| cell.input).collect()
        };
        for (name, value) in &metric.per_case {
            let before = before.per_case.get(name).map(inputs);
            if before.is_some_and(|before| !inputs(value).is_subset(&before)) {
                names.insert(name.clone());
            }
        }
    }
    names.into_iter().collect()
}

/// The items whose stored answers are kept, and which therefore count as edited. First, those on which the base fails:
/// otherwise an input that breaks both sides would remove a case from the comparison. Second, those with fewer cells
/// than before: otherwise an edit that removes the governing units would do the same.
fn unfit(names: &[String], base: &Report, measured: &Report) -> BTreeSet<String> {
    let cells = |metric: Option<&Metric>, name: &str| -> usize {
        let value = metric.and_then(|metric| metric.per_case.get(name));
        let cells = value.into_iter().flat_map(|value| value.cells.values());
        cells
            .filter(|cell| cell.values.iter().any(Option::is_some))
            .count()
    };
    let is_unfit = |name: &&String| {
        let has_fewer = base
            .metrics
            .iter()
            .any(|(id, before)| cells(Some(before), name) > cells(measured.metrics.get(id), name));
        let mut rates = measured.metrics.values();
        let has_failed = rates.any(|metric| {
            let value = metric.per_case.get(*name);
            let failed = |value: &CaseValue| value.value.is_none_or(|share| share > 0.0);
            metric.is_failure_rate && value.is_some_and(failed)
        });
        has_fewer || has_failed
    };
    names.iter().filter(is_unfit).cloned().collect()
}

/// Removes some items from a report.
fn leave_out(report: &mut Report, ids: &BTreeSet<String>) {
    for metric in report.metrics.values_mut() {
        metric.per_case.retain(|name, _| !ids.contains(name));
    }
    report.probes.leave_out(ids);
}
