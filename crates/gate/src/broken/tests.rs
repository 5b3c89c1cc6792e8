use super::super::look::{Draws, PairedCell};
use super::*;

fn losses(losses: &[f64]) -> Draws {
    let losses = losses.iter().copied().map(Some);
    losses.collect::<Vec<Option<f64>>>().into()
}

/// A case of one cell.
fn case(base: &[f64], head: &[f64]) -> PairedCase {
    PairedCase {
        cells: vec![PairedCell {
            base: losses(base),
            head: losses(head),
        }],
        weight: 1.0,
        ..PairedCase::default()
    }
}

/// A suite of cases that never vary and hold, of which the last is the one in question.
fn suite(count: usize, base: &[f64], head: &[f64]) -> Vec<PairedCase> {
    let mut cases = vec![case(&[0.0; 3], &[0.0]); count - 1];
    cases.push(case(base, head));
    cases
}

fn judge(cases: &[PairedCase]) -> BrokenFinding {
    UsualBreaks::of(cases, 1, (false, Demand::default())).judge(cases.last().unwrap(), true)
}

#[test]
fn the_evidence_agrees_with_the_oracle() {
    // Computed with scipy.special.betaln.
    let cases = suite(50, &[0.0; 3], &[1.0]);
    let guard = UsualBreaks::of(&cases, 1, (false, Demand::default()));
    let runs = BadRuns::of(&cases[49], Demand::default()).unwrap();
    for (bad, all, want) in [
        (1, 1, 407.7),
        (2, 2, 3_634.161_747_343_567),
        (3, 3, 18_142.013_466_042_157),
    ] {
        let got = guard.log_e_value(&runs, bad, all).exp();
        assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
    }
}

#[test]
fn one_case_that_fell_to_nothing_among_fifty_is_found_by_its_second_run() {
    assert_eq!(
        judge(&suite(50, &[0.0; 3], &[1.0])),
        BrokenFinding::Rerun(2)
    );
    assert_eq!(
        judge(&suite(50, &[0.0; 3], &[1.0, 1.0])),
        BrokenFinding::Broken { bad: 2, runs: 2 }
    );
}

#[test]
fn a_case_that_is_well_again_when_run_again_is_dropped() {
    let finding = judge(&suite(20, &[0.0; 3], &[1.0, 0.0, 0.0, 0.0]));
    assert_eq!(finding, BrokenFinding::Clear);
}

#[test]
fn rows_of_one_name_that_stand_in_the_same_order_on_both_sides_break_nothing() {
    let half: Vec<f64> = [[1.0; 20], [0.0; 20]].concat();
    let mut better = half.clone();
    better[19] = 0.0;
    let mut slightly_worse = half.clone();
    slightly_worse[20] = 1.0;
    for head in [&half, &better, &slightly_worse] {
        assert_eq!(judge(&suite(11, &half, head)), BrokenFinding::Clear);
    }
    let guard = UsualBreaks::of(&suite(11, &half, &half), 1, (true, Demand::default()));
    assert_eq!(
        guard.judge(&case(&half, &half), false),
        BrokenFinding::Clear
    );
    let finding = judge(&suite(11, &half, &[1.0; 40]));
    assert_eq!(finding, BrokenFinding::Broken { bad: 40, runs: 40 });
}

#[test]
fn a_first_run_that_is_less_than_half_worse_raises_nothing() {
    assert_eq!(
        judge(&suite(20, &[0.0; 3], &[0.49, 1.0, 1.0])),
        BrokenFinding::Clear
    );
    assert!(matches!(
        judge(&suite(20, &[0.0; 3], &[0.5])),
        BrokenFinding::Rerun(_)
    ));
    // Worse than the median, not than the best run.
    assert_eq!(
        judge(&suite(20, &[0.0, 0.4, 0.5], &[0.8])),
        BrokenFinding::Clear
    );
}

#[test]
fn a_case_that_was_always_noisy_needs_more_than_its_noise() {
    let noisy = |head: &[f64]| judge(&suite(20, &[0.0, 1.0, 0.0, 1.0, 0.0], head));
    assert!(matches!(noisy(&[1.0, 1.0]), BrokenFinding::Rerun(_)));
    assert_eq!(noisy(&[1.0, 0.0, 1.0]), BrokenFinding::Clear);
}

#[test]
fn with_fewer_than_three_base_runs_it_only_warns() {
    for base in [vec![0.0], vec![0.0; 2]] {
        let finding = judge(&suite(20, &base, &[1.0; 8]));
        assert_eq!(finding, BrokenFinding::Suspected { bad: 8, runs: 8 });
    }
}

#[test]
fn more_cases_and_more_metrics_ask_for_more_evidence() {
    let cases = suite(20, &[0.0; 3], &[1.0, 1.0]);
    let judge =
        |gated| UsualBreaks::of(&cases, gated, (false, Demand::default())).judge(&cases[19], true);
    assert_eq!(judge(1), BrokenFinding::Broken { bad: 2, runs: 2 });
    assert_eq!(judge(5), BrokenFinding::Rerun(3));
}

#[test]
fn it_asks_for_no_more_than_twelve_runs_and_for_none_where_there_can_be_none() {
    let cases = suite(2_000, &[0.0, 1.0, 0.0], &[1.0; 12]);
    assert!(!matches!(judge(&cases), BrokenFinding::Rerun(_)));
    let cases = suite(50, &[0.0; 3], &[1.0]);
    let guard = UsualBreaks::of(&cases, 1, (false, Demand::default()));
    // One bad run of fifty cases is what noise makes now and then.
    assert_eq!(guard.judge(&cases[49], false), BrokenFinding::Clear);
}

#[test]
fn a_declared_deterministic_case_is_broken_by_one_run() {
    let cases = suite(5, &[0.0], &[1.0]);
    let guard = UsualBreaks::of(&cases, 1, (true, Demand::default()));
    assert_eq!(
        guard.judge(&cases[4], true),
        BrokenFinding::Broken { bad: 1, runs: 1 }
    );
}

#[test]
fn a_case_that_the_head_gave_no_value_for_is_run_again_and_broken_where_it_gives_none() {
    let silent = |runs: usize| {
        let mut cases = suite(20, &[0.0], &[0.0]);
        cases[19].cells[0].head = vec![None; runs].into();
        judge(&cases)
    };
    assert!(matches!(silent(1), BrokenFinding::Rerun(_)));
    assert!(matches!(silent(8), BrokenFinding::Broken { .. }));
}

#[test]
fn what_is_declared_needs_one_good_run_of_the_base_and_ranks_are_never_certain() {
    let cases = suite(20, &[0.0], &[1.0; 8]);
    let judge = |demand| UsualBreaks::of(&cases, 1, (false, demand)).judge(&cases[19], true);
    let declared = Demand {
        is_declared: true,
        ..Demand::default()
    };
    assert!(matches!(judge(declared), BrokenFinding::Broken { .. }));
    let ranks = Demand {
        by_rank: true,
        ..Demand::default()
    };
    assert!(matches!(judge(ranks), BrokenFinding::Suspected { .. }));
}

#[test]
fn more_runs_of_the_base_are_wanted_only_for_a_case_that_may_be_broken() {
    let wants = |base: &[f64], head: &[f64], demand: Demand| {
        let cases = suite(50, base, head);
        UsualBreaks::of(&cases, 1, (false, demand)).wants_base_runs(&cases[49])
    };
    let usual = Demand::default();
    assert!(wants(&[0.0], &[1.0], usual));
    assert!(!wants(&[0.0; 3], &[1.0], usual));
    assert!(!wants(&[0.0], &[0.0], usual));
    assert!(!wants(
        &[0.0],
        &[[1.0].as_slice(), &[0.0; 11]].concat(),
        usual
    ));
    let declared = Demand {
        is_declared: true,
        ..usual
    };
    assert!(!wants(&[0.0], &[1.0], declared));
}
