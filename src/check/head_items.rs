//! The items of the head on the code of the base: cases that a change edits are asked of the code before it as
//! well, so that they are paired like any other and a drop cannot hide in them.
//!
//! Cases that the change adds are not: a hundred easy ones would water down a drop in the others.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use anyhow::ensure;

use super::budget::Allowance;
use super::compute::{self, What};
use kelvin_base::digest::Digest;
use kelvin_gate::align;
use kelvin_gate::compare::{Measured, Turnover, compare};
use kelvin_gate::differences::Difference;
use kelvin_gate::report::Report;
use kelvin_record::{CaseValue, Ending, Metric};
use kelvin_run::Observer;
use kelvin_run::config::Config;

/// What was asked of the base beside what is stored of it.
#[derive(Default)]
pub(super) struct AskedOfTheBase {
    /// How many calls that took.
    pub(super) calls: usize,
    /// The seed of the head, where the base has answered: it has the items of the head from now on.
    pub(super) seed: Option<u64>,
    /// The items that stay as they were.
    pub(super) left: BTreeSet<String>,
    /// What is told of it.
    pub(super) told: Option<Difference>,
    /// What the change did to the items, which nobody sees any more once they are paired.
    pub(super) turnover: BTreeMap<String, Turnover>,
}

/// Runs the code of the base on the items that it was asked otherwise, and puts what it answers in the place of
/// what is stored.
pub(super) fn ask_of_the_base(
    (config, what, observer): (&Config, What<'_>, &dyn Observer),
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
    // What was answered already needs only to be held against other labels.
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
            let why = format!("{error:#}");
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

/// The items of both sides of which the head has an input that the base was not asked.
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

/// What stays as it was, and so counts as edited: what the base could not answer, so that nobody takes a case out
/// of the comparison by an input that breaks both; and what has fewer cells than before, so that nobody does it
/// by an edit that takes the governing units away.
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

/// The same without some items.
fn leave_out(report: &mut Report, ids: &BTreeSet<String>) {
    for metric in report.metrics.values_mut() {
        metric.per_case.retain(|name, _| !ids.contains(name));
    }
    report.probes.leave_out(ids);
}
