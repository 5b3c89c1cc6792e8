//! Computes the composite of a run from its checks, and decides from the runs of a scenario whether it passes.

use super::keys::Aggregation;
use super::record::{ChecksBasis, Outcome, ScenarioRun};
use kelvin_base::stats;

/// Two figures that differ by no more than this count as equal: a sum of weights is rounded.
const GUARD: f64 = 1e-9;

/// Computes the values that follow from the checks of a run.
///
/// An error leaves the run without a composite, even if other checks have results: an unknown score is neither 0 nor
/// any other number. If a gate does not hold, or a forbidden action was made, the composite is 0 and the run fails,
/// even if the threshold is 0. Otherwise the composite is the weighted mean of the scores of the checks that apply.
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

/// The runs of a scenario that determine its own verdict: those that the configuration requests, without those that a
/// gate added in case of doubt.
pub(super) fn replicas<'r>(runs: &'r [ScenarioRun], basis: &ChecksBasis) -> &'r [ScenarioRun] {
    &runs[..runs.len().min(basis.replicas)]
}

/// Whether a scenario passes. Runs that are errors count for neither side: if the verdict would change with another
/// result of these runs, it is an error too. The verdict is also an error if a scenario was not run as often as it
/// should have been.
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
    // Runs to which no check applies count neither as passed nor as failed. The others are known, are errors, or never
    // ran.
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

/// The combined result of several runs of one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// Whether one of the runs passes: pass@k.
    pub(super) any: bool,
    /// Whether all of the runs pass: pass^k.
    pub(super) all: bool,
    /// Whether some pass and some fail.
    pub(super) is_flaky: bool,
}

/// The combined result of the replicas of a scenario; none if one of them is an error or is missing, so that it is not
/// known.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::{CheckResult, InvariantBasis};

    /// Invariants with their weights and whether they are gates.
    fn basis(invariants: &[(&str, f64, bool)]) -> ChecksBasis {
        let invariants = invariants.iter().map(|(name, weight, gate)| {
            let basis = InvariantBasis {
                description: "it holds".to_owned(),
                weight: *weight,
                gate: *gate,
                own: false,
                judge: None,
            };
            ((*name).to_owned(), basis)
        });
        ChecksBasis {
            invariants: invariants.collect(),
            pass_threshold: None,
            gate_strict: false,
            replicas: 1,
            replica_aggregation: Aggregation::All,
        }
    }

    /// A run whose checks have these scores; none for an error.
    fn run(basis: &ChecksBasis, scores: &[(&str, Option<f64>)]) -> ScenarioRun {
        let with = |outcome, score| CheckResult {
            outcome,
            score,
            reason: String::new(),
            details: None,
            judged: None,
        };
        let checks = scores.iter().map(|(name, score)| {
            let result = match score {
                Some(score) if *score >= 0.5 => with(Outcome::Passed, Some(*score)),
                Some(score) => with(Outcome::Failed, Some(*score)),
                None => with(Outcome::Error, None),
            };
            ((*name).to_owned(), result)
        });
        let mut run = ScenarioRun {
            outcome: Outcome::Error,
            composite: None,
            checks: checks.collect(),
            output: None,
            calls: None,
            events: None,
            forbidden: Vec::new(),
            failure: None,
        };
        settle(&mut run, basis);
        run
    }

    /// Runs that came to these outcomes.
    fn runs(outcomes: &[Outcome]) -> Vec<ScenarioRun> {
        let run = |outcome: &Outcome| ScenarioRun {
            outcome: *outcome,
            composite: match outcome {
                Outcome::Passed => Some(1.0),
                Outcome::Failed => Some(0.0),
                Outcome::Error | Outcome::Skipped => None,
            },
            checks: BTreeMap::new(),
            output: None,
            calls: None,
            events: None,
            forbidden: Vec::new(),
            failure: None,
        };
        outcomes.iter().map(run).collect()
    }

    use Outcome::{Error, Failed, Passed, Skipped};

    #[test]
    fn inv_25_inv_26_the_composite_is_the_mean_by_weight_to_the_last_digit() {
        let two = basis(&[("a", 1.0, false), ("b", 0.3, false)]);
        let lost = run(&two, &[("a", Some(1.0)), ("b", Some(0.0))]);
        assert_eq!(lost.composite, Some(1.0 / 1.3));
        let mut three = basis(&[("a", 1.0, true), ("b", 0.3, false), ("c", 0.2, false)]);
        three.pass_threshold = Some(0.85);
        let without = |lost: &str| {
            let scores =
                ["a", "b", "c"].map(|name| (name, Some(f64::from(u8::from(name != lost)))));
            let run = run(&three, &scores);
            (run.outcome, run.composite.expect("known"))
        };
        let (outcome, composite) = without("b");
        assert_eq!(
            (outcome, format!("{composite:.4}").as_str()),
            (Failed, "0.8000")
        );
        let (outcome, composite) = without("c");
        assert_eq!(
            (outcome, format!("{composite:.4}").as_str()),
            (Passed, "0.8667")
        );
        assert_eq!(without("a"), (Failed, 0.0), "a is a gate");
        assert_eq!(without(""), (Passed, 1.0));
    }

    #[test]
    fn the_score_of_a_judged_check_enters_the_composite() {
        let judged = basis(&[
            ("sql", 0.5, true),
            ("http", 0.3, false),
            ("tone", 0.2, false),
        ]);
        let scores = [("sql", Some(1.0)), ("http", Some(1.0)), ("tone", Some(0.7))];
        let composite = run(&judged, &scores).composite.expect("known");
        assert!((composite - 0.94).abs() < 1e-12, "{composite}");
    }

    #[test]
    fn inv_22_a_gate_that_passes_with_less_than_1_holds_unless_gates_are_strict() {
        let mut one = basis(&[("tone", 1.0, true)]);
        assert_eq!(run(&one, &[("tone", Some(0.8))]).composite, Some(0.8));
        one.gate_strict = true;
        assert_eq!(run(&one, &[("tone", Some(0.8))]).composite, Some(0.0));
        assert_eq!(run(&one, &[("tone", Some(1.0 - 1e-12))]).outcome, Passed);
    }

    #[test]
    fn inv_27_a_gate_that_fails_fails_the_run_also_where_the_threshold_is_0() {
        let mut two = basis(&[("a", 1.0, true), ("b", 9.0, false)]);
        two.pass_threshold = Some(0.0);
        let failed = run(&two, &[("a", Some(0.0)), ("b", Some(1.0))]);
        assert_eq!((failed.outcome, failed.composite), (Failed, Some(0.0)));
        let none_holds = basis(&[("b", 1.0, false)]);
        let mut none_holds = ChecksBasis {
            pass_threshold: Some(0.0),
            ..none_holds
        };
        assert_eq!(run(&none_holds, &[("b", Some(0.0))]).outcome, Passed);
        none_holds.pass_threshold = None;
        assert_eq!(run(&none_holds, &[("b", Some(0.0))]).outcome, Failed);
    }

    #[test]
    fn inv_28_an_error_leaves_no_composite_whatever_else_was_found() {
        let two = basis(&[("a", 1.0, true), ("b", 1.0, false)]);
        for other in [0.0, 1.0] {
            let unknown = run(&two, &[("a", Some(other)), ("b", None)]);
            assert_eq!((unknown.outcome, unknown.composite), (Error, None));
        }
        let mut forbidden = run(&two, &[("a", Some(1.0)), ("b", Some(1.0))]);
        assert_eq!(forbidden.outcome, Passed);
        forbidden.forbidden.push("it wrote elsewhere".to_owned());
        settle(&mut forbidden, &two);
        assert_eq!(
            (forbidden.outcome, forbidden.composite),
            (Failed, Some(0.0))
        );
    }

    #[test]
    fn what_does_not_apply_is_in_no_mean_and_alone_is_no_pass() {
        let two = basis(&[("a", 1.0, false), ("b", 1.0, false)]);
        let mut skipped = run(&two, &[("a", Some(1.0)), ("b", None)]);
        skipped.checks.get_mut("b").expect("there").outcome = Skipped;
        settle(&mut skipped, &two);
        assert_eq!((skipped.outcome, skipped.composite), (Passed, Some(1.0)));
        skipped.checks.remove("a");
        settle(&mut skipped, &two);
        assert_eq!((skipped.outcome, skipped.composite), (Skipped, None));
    }

    #[test]
    fn inv_29_a_threshold_of_0_8_is_met_by_0_7999999999999999() {
        let mut four = basis(&[("a", 0.1, false), ("b", 0.7, false), ("c", 0.2, false)]);
        four.pass_threshold = Some(0.8);
        let scores = [("a", Some(1.0)), ("b", Some(1.0)), ("c", Some(0.0))];
        let met = run(&four, &scores);
        assert!(met.composite.expect("known") < 0.8, "{:?}", met.composite);
        assert_eq!(met.outcome, Passed);
    }

    #[test]
    fn inv_30_without_a_threshold_every_check_has_to_pass() {
        let two = basis(&[("a", 1.0, false), ("b", 0.01, false)]);
        assert_eq!(
            run(&two, &[("a", Some(1.0)), ("b", Some(0.0))]).outcome,
            Failed
        );
        assert_eq!(
            run(&two, &[("a", Some(1.0)), ("b", Some(0.6))]).outcome,
            Passed
        );
    }

    #[test]
    fn inv_31_inv_32_replicas_are_put_together_as_the_configuration_says() {
        let of = |aggregation, outcomes: &[Outcome]| {
            let basis = ChecksBasis {
                replicas: outcomes.len(),
                replica_aggregation: aggregation,
                pass_threshold: Some(0.6),
                ..basis(&[("a", 1.0, false)])
            };
            aggregated(&runs(outcomes), &basis)
        };
        let two_of_three = [Passed, Failed, Passed];
        for (aggregation, outcome) in [
            (Aggregation::All, Failed),
            (Aggregation::Any, Passed),
            (Aggregation::Majority, Passed),
            (Aggregation::AtLeast(2), Passed),
            (Aggregation::AtLeast(3), Failed),
            (Aggregation::Mean, Passed),
        ] {
            assert_eq!(of(aggregation, &two_of_three), outcome, "{aggregation:?}");
        }
        assert_eq!(of(Aggregation::Majority, &[Passed, Failed]), Failed);
        assert_eq!(of(Aggregation::Mean, &[Passed, Failed]), Failed);
        // An error counts for neither side: it is told where it would make the difference.
        for (aggregation, outcomes, outcome) in [
            (Aggregation::All, [Passed, Error, Passed], Error),
            (Aggregation::All, [Failed, Error, Passed], Failed),
            (Aggregation::Any, [Failed, Error, Failed], Error),
            (Aggregation::Any, [Passed, Error, Failed], Passed),
            (Aggregation::Majority, [Passed, Passed, Error], Passed),
            (Aggregation::Majority, [Passed, Failed, Error], Error),
            (Aggregation::Majority, [Failed, Failed, Error], Failed),
            (Aggregation::Mean, [Passed, Passed, Error], Error),
            (Aggregation::All, [Passed, Skipped, Passed], Passed),
            (Aggregation::All, [Skipped, Skipped, Skipped], Skipped),
        ] {
            assert_eq!(
                of(aggregation, &outcomes),
                outcome,
                "{aggregation:?} {outcomes:?}"
            );
        }
    }

    #[test]
    fn inv_31_pass_at_k_pass_hat_k_and_flaky_need_every_replica_and_count_no_rerun() {
        let basis = |replicas| ChecksBasis {
            replicas,
            ..basis(&[("a", 1.0, false)])
        };
        let of = |outcomes: &[Outcome], replicas| together(&runs(outcomes), &basis(replicas));
        let known = |any, all, is_flaky| Some(Together { any, all, is_flaky });
        assert_eq!(of(&[Passed, Failed, Passed], 3), known(true, false, true));
        assert_eq!(of(&[Passed, Passed], 2), known(true, true, false));
        assert_eq!(of(&[Failed, Failed], 2), known(false, false, false));
        assert_eq!(of(&[Passed, Error], 2), None);
        assert_eq!(of(&[Passed], 2), None, "one is missing");
        // The third run was asked for by a gate in doubt.
        assert_eq!(of(&[Passed, Passed, Failed], 2), known(true, true, false));
        assert_eq!(
            aggregated(&runs(&[Passed, Passed, Failed]), &basis(2)),
            Passed
        );
        assert_eq!(aggregated(&runs(&[Passed]), &basis(2)), Error);
    }
}
