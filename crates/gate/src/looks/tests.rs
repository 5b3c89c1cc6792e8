use super::super::look::{Draws, LookReason, PairedCell};
use super::*;
use kelvin_record::{Repeats, Wanted};

/// A case of nine cells: on each side, how many are bad in each run.
pub(super) fn case(base: &[usize], head: &[usize]) -> PairedCase {
    let cells = (0..9)
        .map(|cell| {
            let losses = |runs: &[usize]| -> Draws {
                let losses = runs.iter();
                losses
                    .map(|bad| Some(f64::from(u8::from(cell < *bad))))
                    .collect::<Vec<Option<f64>>>()
                    .into()
            };
            PairedCell {
                base: losses(base),
                head: losses(head),
            }
        })
        .collect();
    PairedCase {
        cells,
        weight: 1.0,
        variants: 9,
        crosses: false,
    }
}

pub(super) fn suite(cases: Vec<PairedCase>) -> BTreeMap<String, GatedMetric> {
    let subject = GatedMetric {
        names: (0..cases.len()).map(|at| format!("c{at:02}")).collect(),
        cases,
        max_drop: 0.05,
        widest: f64::INFINITY,
        is_failure_rate: false,
        by_rank: false,
        cannot_rerun: false,
        exact_at: None,
    };
    BTreeMap::from([("m".to_owned(), subject)])
}

/// More calls than any of these suites can use.
const PLENTY: usize = 10_000;

pub(super) const RERUN: Means = Means {
    head_runs: 5,
    base: false,
};
const STORED: Means = Means {
    head_runs: 1,
    base: false,
};

/// Looks once more, with more calls left than it can use.
pub(super) fn next(looks: &mut Looks, subjects: &BTreeMap<String, GatedMetric>) -> LooksStep {
    looks.next(subjects, PLENTY)
}

fn looks(means: Means) -> Looks {
    Looks::new(means, false, 0.1)
}

fn asked(step: &LooksStep) -> &Rerun {
    match step {
        LooksStep::Rerun(rerun) => rerun,
        LooksStep::Decided(_) => panic!("{step:?}"),
    }
}

fn only(step: LooksStep) -> (Look, LooksEnding) {
    match step {
        LooksStep::Decided(decisions) => {
            let decision = decisions["m"].clone();
            (decision.look.unwrap(), decision.ending)
        }
        LooksStep::Rerun(_) => panic!("{step:?}"),
    }
}

/// Ten cases, of which `bad` have lost four of nine cells for good.
pub(super) fn dropped(bad: usize, runs: usize) -> Vec<PairedCase> {
    (0..10)
        .map(|at| {
            let (lost, runs) = if at < bad { (4, runs) } else { (0, 1) };
            case(&[0, 0, 0], &vec![lost; runs])
        })
        .collect()
}

#[test]
fn an_unchanged_stable_pipeline_costs_nothing_extra() {
    let (look, ending) = only(next(&mut looks(RERUN), &suite(dropped(0, 1))));
    assert_eq!(
        (look.outcome, ending),
        (LookOutcome::Pass, LooksEnding::Decided)
    );
}

#[test]
fn a_drop_is_confirmed_by_three_runs_of_all_cases_where_the_base_stays_as_it_is() {
    let mut looks = looks(RERUN);
    let step = next(&mut looks, &suite(dropped(3, 1)));
    let wanted = (0..10).map(|at| (format!("c{at:02}"), Repeats::of_all(3).into()));
    let expected = Rerun {
        base: WantedRepeats::new(),
        head: wanted.collect(),
    };
    assert_eq!(asked(&step), &expected);
    let (look, ending) = only(next(&mut looks, &suite(dropped(3, 3))));
    assert_eq!(
        (look.outcome, look.basis),
        (LookOutcome::Regression, BoundsSource::Still)
    );
    assert_eq!(
        (look.alpha, ending),
        (ALPHA_OF_A_LOOK, LooksEnding::Decided)
    );
}

#[test]
fn a_case_that_got_better_is_run_again_like_one_that_got_worse() {
    let mut cases = dropped(3, 1);
    cases[9] = case(&[4, 4, 4], &[0]);
    let step = next(&mut looks(RERUN), &suite(cases));
    assert!(asked(&step).head.contains_key("c09"), "{step:?}");
}

#[test]
fn where_answers_are_crossed_the_input_is_repeated_more_often_than_its_variants() {
    let mut cases = dropped(3, 1);
    cases.iter_mut().for_each(|case| case.crosses = true);
    let step = next(&mut looks(RERUN), &suite(cases));
    let opening = Repeats {
        input: 4,
        variants: 2,
    };
    assert_eq!(asked(&step).head["c00"], opening.into());
}

#[test]
fn the_next_calls_go_to_the_answer_that_varies() {
    // The answers to the input vary, those to the variants do not.
    let draws = |inputs: &[u8]| Draws {
        values: Vec::new(),
        pairs: vec![inputs.iter().map(|loss| Some(f64::from(*loss))).collect(); 2],
        ..Draws::default()
    };
    let noisy = PairedCase {
        cells: vec![
            PairedCell {
                base: draws(&[0, 1, 0, 1]),
                head: draws(&[1, 0, 0, 1]),
            };
            9
        ],
        weight: 1.0,
        variants: 9,
        crosses: true,
    };
    let suite = suite(vec![noisy; 40]);
    let mut looks = looks(Means {
        head_runs: 20,
        base: false,
    });
    // What is there was repeated already, so that the first re-run begins where the error is.
    let step = looks.next(&suite, 5_000);
    for runs in asked(&step).head.values() {
        assert!(runs.input > 4 && runs.variants == 2, "{step:?}");
    }
}

#[test]
fn noise_that_never_settles_is_inconclusive_after_all_rounds() {
    let noisy = |runs: usize| {
        let head: Vec<usize> = (0..runs)
            .map(|run| if run % 2 == 0 { 9 } else { 0 })
            .collect();
        let other: Vec<usize> = head.iter().map(|bad| 9 - bad).collect();
        let case = |at| case(&[0, 9, 1], if at < 4 { &head } else { &other });
        (0..6).map(case).collect::<Vec<PairedCase>>()
    };
    let mut looks = looks(RERUN);
    let mut runs = 1;
    let (look, ending) = loop {
        match next(&mut looks, &suite(noisy(runs))) {
            LooksStep::Rerun(rerun) => {
                let most = rerun.head.values().map(|runs| runs.input).max();
                assert!(most > Some(runs), "it asks for what there is: {rerun:?}");
                runs = most.expect("it asks for something");
            }
            decided @ LooksStep::Decided(_) => break only(decided),
        }
    };
    assert_eq!(look.outcome, LookOutcome::Inconclusive);
    assert!(ending.was_rerun(), "{ending:?}");
    assert!(
        (3..=5).contains(&runs),
        "no input is run more often than allowed: {runs}"
    );
}

#[test]
fn a_failed_rerun_does_not_ask_for_ever() {
    let mut looks = looks(RERUN);
    let stuck = suite(dropped(3, 1));
    let mut asked = 0;
    let (_, ending) = loop {
        match next(&mut looks, &stuck) {
            LooksStep::Rerun(_) => asked += 1,
            decided @ LooksStep::Decided(_) => break only(decided),
        }
    };
    // Nothing confirms the drop, and nothing excuses it.
    assert_eq!(ending, LooksEnding::RerunsFailed);
    assert!((1..=ROUNDS).contains(&asked), "{asked}");
}

#[test]
fn what_was_repeated_already_needs_no_rerun() {
    let (look, _) = only(next(&mut looks(RERUN), &suite(dropped(3, 5))));
    assert_eq!(look.outcome, LookOutcome::Regression);
    let step = next(&mut looks(RERUN), &suite(dropped(1, 3)));
    assert!(matches!(step, LooksStep::Decided(_)), "{step:?}");
}

#[test]
fn an_input_is_never_run_more_often_than_the_configuration_allows() {
    for head_runs in 2..5 {
        let mut looks = looks(Means {
            head_runs,
            base: false,
        });
        let step = next(&mut looks, &suite(dropped(3, 1)));
        let runs = asked(&step).head["c00"].clone();
        assert_eq!(runs, Repeats::of_all(head_runs.min(3)).into());
    }
}

#[test]
fn a_budget_that_buys_nothing_leaves_it_open() {
    let (look, ending) = only(looks(RERUN).next(&suite(dropped(3, 1)), 2));
    assert_eq!(
        (look.outcome, look.reason, ending),
        (
            LookOutcome::Inconclusive,
            LookReason::Suspected,
            LooksEnding::NoBudget
        )
    );
}

#[test]
fn a_small_budget_buys_fewer_repeats_of_all_cases() {
    // Ten cases with ten inputs each: two runs of all are within 150 calls, three are not.
    let step = looks(RERUN).next(&suite(dropped(3, 1)), 150);
    let runs: Vec<Wanted> = asked(&step).head.values().cloned().collect();
    assert_eq!(runs, vec![Wanted::from(Repeats::of_all(2)); 10]);
}

#[test]
fn what_was_asked_for_and_not_run_is_no_look() {
    let mut looks = looks(RERUN);
    let suite = suite(dropped(3, 1));
    assert!(matches!(next(&mut looks, &suite), LooksStep::Rerun(_)));
    let decision = &looks.give_up(&suite)["m"];
    let look = decision.look.as_ref().unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Inconclusive, LookReason::Suspected)
    );
    assert_eq!(decision.ending, LooksEnding::NoBudget);
}

#[test]
fn stored_reports_are_red_only_if_five_cases_moved_and_stand_out() {
    let stored = |bad: usize, lost: usize| {
        let cases = (0..20)
            .map(|at| case(&[0], &[if at < bad { lost } else { 0 }]))
            .collect();
        only(next(&mut looks(STORED), &suite(cases)))
    };
    let (look, ending) = stored(7, 4);
    assert_eq!(
        (look.outcome, look.basis, ending),
        (
            LookOutcome::Regression,
            BoundsSource::Cases,
            LooksEnding::Decided
        )
    );
    let (look, ending) = stored(4, 9);
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Inconclusive, LookReason::Suspected)
    );
    assert_eq!(ending, LooksEnding::NoRerun);
    assert_eq!(stored(1, 2).0.outcome, LookOutcome::Pass);
}

#[test]
fn where_a_metric_asks_for_it_single_runs_are_red_only_if_the_exact_test_leaves_no_doubt() {
    let stored = |bad: usize, better: usize| {
        let base = |at: usize| usize::from((bad..bad + better).contains(&at));
        let cases = (0..40)
            .map(|at| case(&[base(at)], &[usize::from(at < bad)]))
            .collect();
        let mut subjects = suite(cases);
        let subject = subjects.get_mut("m").unwrap();
        (subject.max_drop, subject.exact_at) = (0.01, Some(0.001));
        only(next(&mut looks(STORED), &subjects)).0
    };
    // Nine lost and none won: chance makes that in 1 of 512, and by the rule of the looks it would be red.
    let look = stored(9, 0);
    assert_eq!(look.outcome, LookOutcome::Inconclusive);
    assert!((look.chance.unwrap() - 1.0 / 512.0).abs() < 1e-9);
    let look = stored(10, 0);
    assert_eq!(look.outcome, LookOutcome::Regression);
    assert!(look.chance.unwrap() < 0.001);
    assert_eq!(stored(13, 2).outcome, LookOutcome::Inconclusive);
    assert_eq!(stored(0, 0).outcome, LookOutcome::Pass);
}

#[test]
fn a_single_head_run_against_a_repeated_base_is_judged_like_one_on_each_side() {
    // The repeats of the base never varied, and would make any drop certain.
    let cases = |bad: usize| {
        let cases = (0..20).map(|at| case(&[0, 0, 0], &[if at < bad { 5 } else { 0 }]));
        only(next(&mut looks(STORED), &suite(cases.collect())))
    };
    assert_eq!(cases(4).0.reason, LookReason::Suspected);
    assert_eq!(cases(8).0.basis, BoundsSource::Cases);
}

#[test]
fn a_base_that_can_be_run_is_run_beside_the_head_wherever_something_is_open() {
    let means = Means {
        head_runs: 5,
        base: true,
    };
    let mut one = looks(means);
    let step = next(&mut one, &suite(dropped(3, 1)));
    assert_eq!(asked(&step).base, asked(&step).head);
    assert_eq!(asked(&step).base.len(), 3);
    let mut other = one.clone();
    // The base is still as good: a regression.
    let (look, _) = only(next(&mut one, &suite(dropped(3, 3))));
    assert_eq!(look.outcome, LookOutcome::Regression);
    // The service had drifted: the base is as bad today.
    let drifted = (0..10).map(|at| match at {
        0..3 => case(&[4; 3], &[4; 3]),
        _ => case(&[0; 3], &[0]),
    });
    let (look, _) = only(next(&mut other, &suite(drifted.collect())));
    assert_eq!(look.outcome, LookOutcome::Pass);
}

#[test]
fn no_regression_is_called_against_a_base_of_another_day_that_can_be_run() {
    let means = Means {
        head_runs: 5,
        base: true,
    };
    // Both sides have all the repeats that a regression needs.
    let mut looks = looks(means);
    let step = next(&mut looks, &suite(dropped(3, 5)));
    assert_eq!(asked(&step).base.len(), 3);
    let (look, _) = only(next(&mut looks, &suite(dropped(3, 5))));
    assert_eq!(look.outcome, LookOutcome::Regression);
}

#[test]
fn a_declared_deterministic_pipeline_is_decided_by_one_run() {
    let mut looks = Looks::new(RERUN, true, 0.1);
    let (look, _) = only(next(&mut looks, &suite(dropped(3, 1))));
    assert_eq!(
        (look.outcome, look.basis),
        (LookOutcome::Regression, BoundsSource::Declared)
    );
}

#[test]
fn metrics_are_decided_each_by_itself_and_share_alpha() {
    let mut subjects = suite(dropped(3, 1));
    subjects.insert(
        "still".to_owned(),
        suite(dropped(0, 1)).remove("m").unwrap(),
    );
    subjects.insert("gone".to_owned(), suite(Vec::new()).remove("m").unwrap());
    let mut looks = looks(RERUN);
    assert_eq!(asked(&next(&mut looks, &subjects)).head.len(), 10);
    subjects.insert("m".to_owned(), suite(dropped(3, 3)).remove("m").unwrap());
    let LooksStep::Decided(decisions) = next(&mut looks, &subjects) else {
        panic!("still open");
    };
    let outcome = |id: &str| decisions[id].look.as_ref().map(|look| look.outcome);
    assert_eq!(outcome("m"), Ok(LookOutcome::Regression));
    assert_eq!(outcome("still"), Ok(LookOutcome::Pass));
    assert_eq!(outcome("gone"), Err(&Unmeasured::Nothing));
    let alpha = decisions["m"].look.as_ref().unwrap().alpha;
    // The two others were decided by the first look.
    assert!((alpha - ALPHA_OF_A_LOOK).abs() < 1e-12, "{alpha}");
    subjects.insert("m".to_owned(), suite(dropped(3, 1)).remove("m").unwrap());
    subjects.insert("too".to_owned(), suite(dropped(3, 1)).remove("m").unwrap());
    let mut looks = Looks::new(RERUN, false, 0.1);
    assert!(matches!(next(&mut looks, &subjects), LooksStep::Rerun(_)));
    for id in ["m", "too"] {
        subjects.insert(id.to_owned(), suite(dropped(3, 3)).remove("m").unwrap());
    }
    let LooksStep::Decided(decisions) = next(&mut looks, &subjects) else {
        panic!("still open");
    };
    let alpha = decisions["m"].look.as_ref().unwrap().alpha;
    assert!((alpha - ALPHA_OF_A_LOOK / 2.0).abs() < 1e-12, "{alpha}");
}

#[test]
fn repeats_from_memory_measure_no_noise_and_do_not_fail_what_noise_may_explain() {
    let cases = suite(dropped(3, 1));
    let mut looks = looks(RERUN);
    looks.answers_are_kept(true);
    assert!(matches!(next(&mut looks, &cases), LooksStep::Rerun(_)));
    let decision = &looks.give_up(&cases)["m"];
    assert_eq!(decision.ending, LooksEnding::AnswersKept);
    assert!(decision.ending.was_rerun());
    // Where nothing was to be run again, that stays the reason.
    let mut stored = super::Looks::new(STORED, false, 0.1);
    stored.answers_are_kept(true);
    assert_eq!(only(next(&mut stored, &cases)).1, LooksEnding::NoRerun);
}
