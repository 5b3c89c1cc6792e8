//! From the checks of a run to its composite, and from the runs of a scenario to whether it passes.

use super::keys::Aggregation;
use super::record::{ChecksBasis, Outcome, ScenarioRun};
use crate::stats;

/// What two figures may differ by and still be the same: a sum of weights is rounded.
const GUARD: f64 = 1e-9;

/// Fills in what follows from the checks of a run.
///
/// An error leaves the run without a composite, whatever else was found: an unknown score is neither 0
/// nor anything else. A gate that does not hold, and what is forbidden, make the composite 0, and the run
/// fails then, also where the threshold is 0. Otherwise it is the mean of the scores by their weights,
/// over the checks that apply.
pub(super) fn settle(run: &mut ScenarioRun, basis: &ChecksBasis) {
    (run.outcome, run.composite) = scored(run, basis);
}

fn scored(run: &ScenarioRun, basis: &ChecksBasis) -> (Outcome, Option<f64>) {
    let results = || {
        let checks = run.checks.iter();
        checks.filter_map(|(name, check)| Some((basis.invariants.get(name)?, check)))
    };
    let is_unknown = results().any(|(_, check)| check.outcome == Outcome::Error);
    if is_unknown || run.failure.is_some() {
        return (Outcome::Error, None);
    }
    if !run.forbidden.is_empty() {
        return (Outcome::Failed, Some(0.0));
    }
    let mut all_hold = true;
    let (mut sum, mut weights, mut applicable) = (0.0, 0.0, 0_usize);
    for (invariant, check) in results() {
        let Some(score) = check.score else {
            continue;
        };
        applicable += 1;
        let holds = check.outcome == Outcome::Passed;
        let is_strict = basis.gate_strict && score < 1.0 - GUARD;
        if invariant.gate && (!holds || is_strict) {
            return (Outcome::Failed, Some(0.0));
        }
        all_hold &= holds;
        sum += invariant.weight * score;
        weights += invariant.weight;
    }
    if applicable == 0 || weights <= 0.0 {
        return (Outcome::Skipped, None);
    }
    let composite = sum / weights;
    let passes = match basis.pass_threshold {
        Some(threshold) => composite >= threshold - GUARD,
        None => all_hold,
    };
    let outcome = if passes {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    (outcome, Some(composite))
}

/// The runs of a scenario that its own verdict rests on: those that were asked for, and not those that a
/// gate asked for when it was in doubt.
pub(super) fn replicas<'r>(runs: &'r [ScenarioRun], basis: &ChecksBasis) -> &'r [ScenarioRun] {
    &runs[..runs.len().min(basis.replicas)]
}

/// Whether a scenario passes. Runs that are errors count for neither side: where the verdict would be
/// another one if they had gone the other way, it is an error too. So is that of a scenario that was not
/// run as often as it should have been.
pub(super) fn aggregated(runs: &[ScenarioRun], basis: &ChecksBasis) -> Outcome {
    let runs = replicas(runs, basis);
    if runs.is_empty() {
        return Outcome::Error;
    }
    let count = |outcome| runs.iter().filter(|run| run.outcome == outcome).count();
    let (passed, skipped) = (count(Outcome::Passed), count(Outcome::Skipped));
    if skipped == runs.len() {
        return Outcome::Skipped;
    }
    if basis.replica_aggregation == Aggregation::Mean {
        return by_mean(runs, basis);
    }
    // What does not apply counts for neither side. The rest is known, is an error, or was never run.
    let counted = basis.replicas.saturating_sub(skipped);
    let unknown = counted.saturating_sub(passed + count(Outcome::Failed));
    let needed = match basis.replica_aggregation {
        Aggregation::All | Aggregation::Mean => counted,
        Aggregation::Any => 1,
        Aggregation::Majority => counted / 2 + 1,
        Aggregation::AtLeast(needed) => needed,
    };
    match () {
        () if passed >= needed => Outcome::Passed,
        () if passed + unknown < needed => Outcome::Failed,
        () => Outcome::Error,
    }
}

fn by_mean(runs: &[ScenarioRun], basis: &ChecksBasis) -> Outcome {
    let is_unknown = |run: &ScenarioRun| run.outcome == Outcome::Error;
    let composites: Vec<f64> = runs.iter().filter_map(|run| run.composite).collect();
    if runs.iter().any(is_unknown) || runs.len() < basis.replicas {
        return Outcome::Error;
    }
    match stats::mean(&composites).zip(basis.pass_threshold) {
        Some((mean, threshold)) if mean >= threshold - GUARD => Outcome::Passed,
        Some(_) => Outcome::Failed,
        None => Outcome::Error,
    }
}

/// What several runs of one scenario say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// Whether one of them passes: pass@k.
    pub(super) any: bool,
    /// Whether all of them pass: pass^k.
    pub(super) all: bool,
    /// Whether some pass and some fail.
    pub(super) is_flaky: bool,
}

/// What the replicas of a scenario say together; none where one of them is an error or is missing, so
/// that it is not known.
pub(super) fn together(runs: &[ScenarioRun], basis: &ChecksBasis) -> Option<Together> {
    let runs = replicas(runs, basis);
    let is_known = |run: &ScenarioRun| matches!(run.outcome, Outcome::Passed | Outcome::Failed);
    if runs.len() < basis.replicas || !runs.iter().all(is_known) {
        return None;
    }
    let passes = |run: &ScenarioRun| run.outcome == Outcome::Passed;
    let (any, all) = (runs.iter().any(passes), runs.iter().all(passes));
    Some(Together {
        any,
        all,
        is_flaky: any && !all,
    })
}
