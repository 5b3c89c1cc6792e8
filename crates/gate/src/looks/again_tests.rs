//! What was decided is looked at again with what was run for other metrics.

use super::tests::{RERUN, case, dropped, next, suite};
use super::{GatedMetric, LookOutcome, Looks, LooksStep, MetricDecision};

/// A metric that passes by the first look, beside one that is run again for; what the re-runs of one of its cases
/// show, as bad cells of nine in each run; and what becomes of it then.
fn after(runs: &[usize]) -> Option<MetricDecision> {
    let of = |cases| -> GatedMetric { suite(cases).remove("m").expect("the one") };
    let mut subjects = suite(dropped(3, 1));
    subjects.insert("still".to_owned(), of(dropped(0, 1)));
    let mut looks = Looks::new(RERUN, false, 0.1);
    assert!(matches!(next(&mut looks, &subjects), LooksStep::Rerun(_)));
    subjects.insert("m".to_owned(), of(dropped(3, 3)));
    let mut cases = dropped(0, 3);
    cases[0] = case(&[0, 0, 0], runs);
    subjects.insert("still".to_owned(), of(cases));
    match next(&mut looks, &subjects) {
        LooksStep::Decided(mut decisions) => decisions.remove("still"),
        LooksStep::Rerun(_) => None,
    }
}

#[test]
fn figures_are_those_of_all_runs() {
    let decision = after(&[0, 0, 1]).expect("it passes still");
    let look = decision.look.expect("measured");
    assert_eq!(look.outcome, LookOutcome::Pass);
    let drop = 1.0 / 9.0 / 3.0 / 10.0;
    assert!((look.drop - drop).abs() < 1e-12, "{}", look.drop);
}

#[test]
fn what_would_not_pass_any_more_is_open_again() {
    let passes = |decision: &MetricDecision| {
        let look = decision.look.as_ref();
        look.is_ok_and(|look| look.outcome == LookOutcome::Pass)
    };
    assert!(!after(&[0, 9, 9]).is_some_and(|decision| passes(&decision)));
}
