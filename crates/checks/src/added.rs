//! Invariants that a change brings. The base was never asked about them, so a scenario that fails one of them was not
//! right before: it is told, and nothing fell by it. Both sides are compared by the invariants of the base.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::figures;
use super::record::{ChecksBasis, ChecksSection, InvariantBasis, Outcome, ScenarioRun};
use super::{page, scoring};
use kelvin_page::{counted, safe};
use kelvin_record::{AlignedSection, AlignedSections, AlignmentWarning, ItemComparison};

/// The invariants that a change brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct NewInvariants {
    /// Every new invariant, in order.
    pub new_invariants: Vec<NewInvariant>,
}

/// How an invariant that only the change has ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct NewInvariant {
    /// Its name.
    pub name: String,
    /// Whether the composite is 0 if it does not hold.
    pub gate: bool,
    /// In how many scenarios it applies, or could not be judged.
    pub scenarios: usize,
    /// In how many of them it does not hold, or could not be judged, in at least one run.
    pub not_held: usize,
    /// The first of these scenarios; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<NotHeld>,
}

/// A scenario in which a new invariant does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct NotHeld {
    /// The id of the scenario.
    pub scenario: String,
    /// What is wrong there, in a clause.
    pub why: String,
}

/// Takes the new invariants out of what is compared; none if the change adds none, or if it edits others as well: then
/// nobody could tell a new invariant from a renamed one.
pub(super) fn align(base: &ChecksSection, head: &ChecksSection) -> Option<AlignedSections> {
    let new = new_invariants(&base.basis, &head.basis)?;
    let told = new.iter().map(|name| ending(head, name)).collect();
    let mut all = figures(&head.items, &head.basis);
    let mut compared = head.clone();
    compared
        .basis
        .invariants
        .retain(|name, _| !new.contains(name));
    for scenario in compared.items.values_mut() {
        for run in &mut scenario.runs {
            run.checks.retain(|name, _| !new.contains(name));
            scoring::settle(run, &compared.basis);
        }
    }
    let mut metrics = figures(&compared.items, &compared.basis);
    // Their own figures are shown as new.
    let own = new
        .iter()
        .filter_map(|name| all.remove_entry(&format!("checks.{name}")));
    metrics.extend(own);
    Some(AlignedSections {
        base: AlignedSection {
            metrics: figures(&base.items, &base.basis),
            section: Box::new(base.clone()),
        },
        head: AlignedSection {
            metrics,
            section: Box::new(compared),
        },
        items: Arc::new(NewInvariants {
            new_invariants: told,
        }),
    })
}

/// The names of the invariants that only the head has, if the head has every invariant of the base as it was. An
/// invariant of single scenarios is part of these scenarios, which are edited then.
fn new_invariants(base: &ChecksBasis, head: &ChecksBasis) -> Option<BTreeSet<String>> {
    let counts_as = |one: &InvariantBasis| {
        let judge = one
            .judge
            .as_ref()
            .map(|judge| (judge.grader_id.clone(), judge.pass_threshold));
        (one.weight, one.gate, one.own, judge)
    };
    let is_kept = |(name, before): (&String, &InvariantBasis)| {
        let after = head.invariants.get(name);
        after.is_some_and(|after| counts_as(after) == counts_as(before))
    };
    if base.invariants.is_empty() || !base.invariants.iter().all(is_kept) {
        return None;
    }
    let only_head = head
        .invariants
        .iter()
        .filter(|(name, one)| !one.own && !base.invariants.contains_key(*name));
    let new: BTreeSet<String> = only_head.map(|(name, _)| name.clone()).collect();
    (!new.is_empty()).then_some(new)
}

/// How a new invariant ends in the scenarios of the head.
fn ending(head: &ChecksSection, name: &str) -> NewInvariant {
    let is_any = |runs: &[ScenarioRun], wanted: fn(Outcome) -> bool| {
        let mut checks = runs.iter().filter_map(|run| run.checks.get(name));
        checks.any(|check| wanted(check.outcome))
    };
    let of = |wanted: fn(Outcome) -> bool| {
        let items = head.items.iter();
        let items = items.filter(move |(_, scenario)| is_any(&scenario.runs, wanted));
        items.map(|(id, _)| id).collect::<Vec<_>>()
    };
    let not_held = of(|outcome| matches!(outcome, Outcome::Failed | Outcome::Error));
    let first = not_held.first().and_then(|id| {
        let why = page::why(head, id, &format!("checks.{name}"))?;
        let scenario = (*id).clone();
        Some(NotHeld { scenario, why })
    });
    NewInvariant {
        name: name.to_owned(),
        gate: head.basis.invariants.get(name).is_some_and(|one| one.gate),
        scenarios: of(|outcome| outcome != Outcome::Skipped).len(),
        not_held: not_held.len(),
        first,
    }
}

impl NewInvariant {
    /// What the reader of the verdict has to know; none if the invariant holds wherever it applies.
    fn warning(&self) -> Option<AlignmentWarning> {
        if self.not_held == 0 {
            return None;
        }
        let first = self
            .first
            .as_ref()
            .map(|NotHeld { scenario, why }| format!("; in `{}`: {why}", safe::line(scenario)));
        let scenarios = counted(self.scenarios, "scenario");
        let gate = if self.gate { " (a gate)" } else { "" };
        Some(AlignmentWarning {
            text: format!(
                "the new invariant `{}`{gate} does not hold in {} of {scenarios}{}; the base was never asked about it, so \
                 the other figures are compared without it",
                safe::line(&self.name),
                self.not_held,
                first.unwrap_or_default(),
            ),
            is_open: self.gate,
        })
    }
}

impl ItemComparison for NewInvariants {
    fn warnings(&self) -> Vec<AlignmentWarning> {
        let warnings = self.new_invariants.iter().map(NewInvariant::warning);
        warnings.flatten().collect()
    }
}
