use super::super::look::{Cell, Reason};
use super::*;

/// A case of nine cells: on each side, how many are bad in each run.
fn case(base: &[usize], head: &[usize]) -> Case {
    let cells = (0..9)
        .map(|cell| {
            let losses = |runs: &[usize]| -> Vec<Option<f64>> {
                runs.iter()
                    .map(|bad| Some(f64::from(u8::from(cell < *bad))))
                    .collect()
            };
            Cell {
                base: losses(base),
                head: losses(head),
            }
        })
        .collect();
    Case { cells, weight: 1.0 }
}

fn suite(cases: Vec<Case>) -> BTreeMap<String, Subject> {
    let subject = Subject {
        names: (0..cases.len()).map(|at| format!("c{at:02}")).collect(),
        cases,
        max_drop: 0.05,
        is_failure_rate: false,
    };
    BTreeMap::from([("m".to_owned(), subject)])
}

const RERUN: Means = Means {
    head_runs: 5,
    base: false,
};
const STORED: Means = Means {
    head_runs: 1,
    base: false,
};

fn looks(means: Means) -> Looks {
    Looks::new(means, false, 0.1)
}

fn asked(step: &Step) -> &Rerun {
    match step {
        Step::Rerun(rerun) => rerun,
        Step::Decided(_) => panic!("{step:?}"),
    }
}

fn only(step: Step) -> (Look, Ending) {
    match step {
        Step::Decided(decisions) => {
            let decision = decisions["m"].clone();
            (decision.look.unwrap(), decision.ending)
        }
        Step::Rerun(_) => panic!("{step:?}"),
    }
}

/// Ten cases, of which `bad` have lost four of nine cells for good.
fn dropped(bad: usize, runs: usize) -> Vec<Case> {
    (0..10)
        .map(|at| {
            let (lost, runs) = if at < bad { (4, runs) } else { (0, 1) };
            case(&[0, 0, 0], &vec![lost; runs])
        })
        .collect()
}

#[test]
fn an_unchanged_stable_pipeline_costs_nothing_extra() {
    let (look, ending) = only(looks(RERUN).next(&suite(dropped(0, 1))));
    assert_eq!((look.outcome, ending), (Outcome::Pass, Ending::Decided));
}

#[test]
fn a_drop_is_confirmed_by_three_runs_of_the_cases_that_moved() {
    let mut looks = looks(RERUN);
    let step = looks.next(&suite(dropped(3, 1)));
    let wanted: BTreeMap<String, usize> = (0..3).map(|at| (format!("c{at:02}"), 3)).collect();
    let expected = Rerun {
        side: Side::Head,
        cases: wanted,
    };
    assert_eq!(asked(&step), &expected);
    let (look, ending) = only(looks.next(&suite(dropped(3, 3))));
    assert_eq!(
        (look.outcome, look.basis),
        (Outcome::Regression, Basis::Still)
    );
    assert_eq!((look.alpha, ending), (0.02, Ending::Decided));
}

#[test]
fn a_case_that_got_better_is_run_again_like_one_that_got_worse() {
    let mut cases = dropped(3, 1);
    cases[9] = case(&[4, 4, 4], &[0]);
    let step = looks(RERUN).next(&suite(cases));
    assert!(asked(&step).cases.contains_key("c09"), "{step:?}");
}

#[test]
fn noise_that_never_settles_is_inconclusive_after_five_runs() {
    let noisy = |head: &[usize]| {
        (0..6)
            .map(|at| case(&[0, 9, 1], if at < 3 { head } else { &[0] }))
            .collect::<Vec<Case>>()
    };
    let mut looks = looks(RERUN);
    let step = looks.next(&suite(noisy(&[9])));
    assert_eq!(asked(&step).cases.values().max(), Some(&3));
    let step = looks.next(&suite(noisy(&[9, 0, 9])));
    assert_eq!(asked(&step).cases.values().max(), Some(&5));
    let (look, ending) = only(looks.next(&suite(noisy(&[9, 0, 9, 0, 9]))));
    assert_eq!(
        (look.outcome, ending),
        (Outcome::Inconclusive, Ending::StillOpen)
    );
    assert!((look.alpha - 0.03).abs() < 1e-12, "{}", look.alpha);
}

#[test]
fn a_failed_rerun_does_not_ask_for_ever() {
    let mut looks = looks(RERUN);
    let stuck = suite(dropped(3, 1));
    assert!(matches!(looks.next(&stuck), Step::Rerun(_)));
    assert!(matches!(looks.next(&stuck), Step::Rerun(_)));
    // Nothing confirms the drop, and nothing excuses it.
    assert_eq!(only(looks.next(&stuck)).1, Ending::RerunsFailed);
}

#[test]
fn what_was_repeated_already_is_looked_at_once_with_all_of_alpha() {
    let (look, _) = only(looks(RERUN).next(&suite(dropped(3, 5))));
    assert_eq!((look.outcome, look.alpha), (Outcome::Regression, 0.05));
    let step = looks(RERUN).next(&suite(dropped(1, 3)));
    assert!(matches!(step, Step::Decided(_)), "{step:?}");
}

#[test]
fn a_budget_of_three_runs_makes_the_second_look_the_last() {
    let three = Means {
        head_runs: 3,
        base: false,
    };
    let mut looks = looks(three);
    assert!(matches!(looks.next(&suite(dropped(3, 1))), Step::Rerun(_)));
    let (look, _) = only(looks.next(&suite(dropped(3, 3))));
    assert_eq!((look.outcome, look.alpha), (Outcome::Regression, 0.05));
}

#[test]
fn a_budget_that_runs_out_is_inconclusive() {
    let mut looks = looks(RERUN);
    let suite = suite(dropped(3, 1));
    assert!(matches!(looks.next(&suite), Step::Rerun(_)));
    let decision = &looks.give_up(&suite)["m"];
    let look = decision.look.as_ref().unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (Outcome::Inconclusive, Reason::Suspected)
    );
    assert_eq!(decision.ending, Ending::NoBudget);
}

#[test]
fn stored_reports_are_red_only_if_five_cases_moved_and_stand_out() {
    let stored = |bad: usize, lost: usize| {
        let cases = (0..20)
            .map(|at| case(&[0], &[if at < bad { lost } else { 0 }]))
            .collect();
        only(looks(STORED).next(&suite(cases)))
    };
    let (look, ending) = stored(7, 4);
    assert_eq!(
        (look.outcome, look.basis, ending),
        (Outcome::Regression, Basis::Cases, Ending::Decided)
    );
    let (look, ending) = stored(4, 9);
    assert_eq!(
        (look.outcome, look.reason),
        (Outcome::Inconclusive, Reason::Suspected)
    );
    assert_eq!(ending, Ending::NoRerun);
    assert_eq!(stored(1, 2).0.outcome, Outcome::Pass);
}

#[test]
fn a_single_head_run_against_a_repeated_base_is_judged_like_one_on_each_side() {
    // The repeats of the base never varied, and would make any drop certain.
    let cases = |bad: usize| {
        let cases = (0..20).map(|at| case(&[0, 0, 0], &[if at < bad { 5 } else { 0 }]));
        only(looks(STORED).next(&suite(cases.collect())))
    };
    assert_eq!(cases(4).0.reason, Reason::Suspected);
    assert_eq!(cases(8).0.basis, Basis::Cases);
}

#[test]
fn a_regression_against_a_stored_base_waits_for_the_base_to_be_run_again() {
    let means = Means {
        head_runs: 5,
        base: true,
    };
    let mut one = looks(means);
    assert_eq!(asked(&one.next(&suite(dropped(3, 1)))).side, Side::Head);
    let step = one.next(&suite(dropped(3, 3)));
    assert_eq!(
        (asked(&step).side, asked(&step).cases.len()),
        (Side::Base, 3)
    );
    let mut other = one.clone();
    // The base is still as good: a regression, at the alpha of the look that asked.
    let (look, _) = only(one.next(&suite(dropped(3, 3))));
    assert_eq!((look.outcome, look.alpha), (Outcome::Regression, 0.02));
    assert!(one.base_is_fresh());
    // The service had drifted: the base is as bad today.
    let drifted = (0..10)
        .map(|at| {
            if at < 3 {
                case(&[4; 3], &[4; 3])
            } else {
                case(&[0; 3], &[0])
            }
        })
        .collect();
    assert_eq!(only(other.next(&suite(drifted))).0.outcome, Outcome::Pass);
}

#[test]
fn a_declared_deterministic_pipeline_is_decided_by_one_run() {
    let mut looks = Looks::new(RERUN, true, 0.1);
    let (look, _) = only(looks.next(&suite(dropped(3, 1))));
    assert_eq!(
        (look.outcome, look.basis),
        (Outcome::Regression, Basis::Declared)
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
    assert_eq!(asked(&looks.next(&subjects)).cases.len(), 3);
    subjects.insert("m".to_owned(), suite(dropped(3, 3)).remove("m").unwrap());
    let Step::Decided(decisions) = looks.next(&subjects) else {
        panic!("still open");
    };
    let outcome = |id: &str| decisions[id].look.as_ref().map(|look| look.outcome);
    assert_eq!(outcome("m"), Ok(Outcome::Regression));
    assert_eq!(outcome("still"), Ok(Outcome::Pass));
    assert_eq!(outcome("gone"), Err(&Unmeasured::Nothing));
    let alpha = decisions["m"].look.as_ref().unwrap().alpha;
    assert!((alpha - 0.02 / 3.0).abs() < 1e-12, "{alpha}");
}

#[test]
fn the_last_look_that_the_budget_allows_has_all_of_alpha() {
    // Two cases of noise, of which the head was run three times.
    let noisy = |head: &[usize]| suite(vec![case(&[0, 3, 0], head); 2]);
    let mut looks = looks(RERUN);
    assert!(matches!(looks.next(&noisy(&[6])), Step::Rerun(_)));
    assert!(matches!(looks.next(&noisy(&[0, 6, 0])), Step::Rerun(_)));
    let decision = &looks.give_up(&noisy(&[0, 6, 0]))["m"];
    let look = decision.look.as_ref().unwrap();
    assert_eq!(decision.ending, Ending::BudgetSpent);
    assert!((look.alpha - 0.05).abs() < 1e-12, "{}", look.alpha);
}

#[test]
fn repeats_from_memory_measure_no_noise_and_do_not_fail_what_noise_may_explain() {
    let cases = suite(dropped(3, 1));
    let mut looks = looks(RERUN);
    looks.answers_are_kept(true);
    assert!(matches!(looks.next(&cases), Step::Rerun(_)));
    let decision = &looks.give_up(&cases)["m"];
    assert_eq!(decision.ending, Ending::AnswersKept);
    assert!(decision.ending.was_rerun());
    // Where nothing was to be run again, that stays the reason.
    let mut stored = super::Looks::new(STORED, false, 0.1);
    stored.answers_are_kept(true);
    assert_eq!(only(stored.next(&cases)).1, Ending::NoRerun);
}
