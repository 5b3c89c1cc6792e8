mod between;
mod properties;
mod range;
mod worlds;

use super::*;

/// Repeats separated by `/`, one digit a cell.
fn side(text: &str) -> Vec<Vec<Option<f64>>> {
    let repeats: Vec<&str> = text.split('/').collect();
    (0..repeats[0].len())
        .map(|cell| {
            repeats
                .iter()
                .map(|repeat| Some(f64::from(repeat.as_bytes()[cell] - b'0')))
                .collect()
        })
        .collect()
}

/// A case from its two sides, written as in the conformance data.
fn case(base: &str, head: &str) -> PairedCase {
    let cells = side(base)
        .into_iter()
        .zip(side(head))
        .map(|(base, head)| PairedCell {
            base: base.into(),
            head: head.into(),
        })
        .collect();
    PairedCase {
        cells,
        weight: 1.0,
        ..PairedCase::default()
    }
}

const fn question(alpha: f64) -> LookSettings {
    LookSettings {
        max_drop: 0.05,
        widest: f64::INFINITY,
        alpha,
        gated: 1,
        noise: Noise::Repeats,
        max_missing: 0.1,
    }
}

/// One run on each side, the value of each case given.
fn values(pairs: &[(f64, f64)]) -> Vec<PairedCase> {
    pairs
        .iter()
        .map(|(base, head)| PairedCase {
            cells: vec![PairedCell {
                base: vec![Some(1.0 - base)].into(),
                head: vec![Some(1.0 - head)].into(),
            }],
            weight: 1.0,
            ..PairedCase::default()
        })
        .collect()
}

fn declared(cases: &[PairedCase]) -> Look {
    let question = LookSettings {
        noise: Noise::Declared,
        ..question(0.0)
    };
    look(cases, &question).unwrap()
}

#[test]
fn nothing_measured_anywhere_is_unmeasured() {
    let none = PairedCase {
        cells: vec![PairedCell {
            base: vec![None].into(),
            head: vec![Some(0.0)].into(),
        }],
        weight: 1.0,
        ..PairedCase::default()
    };
    assert_eq!(look(&[], &question(0.0)).unwrap_err(), Unmeasured::Nothing);
    assert_eq!(
        look(&[none], &question(0.0)).unwrap_err(),
        Unmeasured::Nothing
    );
}

#[test]
fn null_on_the_head_is_lost_coverage() {
    let mut cases = vec![case("000", "000"); 3];
    for cell in cases.iter_mut().flat_map(|case| &mut case.cells) {
        cell.head = vec![None].into();
    }
    let lost = Unmeasured::Coverage {
        lost: vec![0, 1, 2],
        of: 3,
    };
    assert_eq!(look(&cases, &question(0.0)).unwrap_err(), lost);
}

#[test]
fn with_one_lost_case_of_twenty_the_others_are_judged() {
    let mut cases = vec![case("000", "000"); 20];
    for cell in &mut cases[7].cells {
        cell.head = Draws::default();
    }
    let look = look(&cases, &question(0.0)).unwrap();
    assert_eq!((look.outcome, look.cases), (LookOutcome::Pass, 19));
    assert!(!look.judged.contains(&7), "{:?}", look.judged);
}

#[test]
fn three_lost_cases_of_twenty_are_too_many_and_two_are_not() {
    for (lost, measured) in [(2, true), (3, false)] {
        let mut cases = vec![case("000", "000"); 20];
        for cell in cases[..lost].iter_mut().flat_map(|case| &mut case.cells) {
            cell.head = vec![None, None].into();
        }
        assert_eq!(look(&cases, &question(0.0)).is_ok(), measured, "{lost}");
    }
}

#[test]
fn an_infinite_loss_is_no_measurement() {
    let mut cases = vec![case("000", "000"); 3];
    cases[0].cells[0].head = vec![Some(f64::INFINITY)].into();
    cases[1].cells[0].base = vec![Some(f64::NAN)].into();
    let look = look(&cases, &question(0.0)).unwrap();
    assert_eq!((look.cases, look.cells, look.drop), (3, 7, 0.0));
}

#[test]
fn identical_reports_pass_even_with_one_case_and_one_run() {
    for cases in [
        vec![case("010", "010")],
        vec![case("010/000", "010/000"); 4],
    ] {
        let look = look(&cases, &question(0.0)).unwrap();
        assert_eq!(look.outcome, LookOutcome::Pass, "{look:?}");
    }
}

#[test]
fn one_case_and_one_run_each_decide_nothing_once_it_moved() {
    for (base, head) in [("000", "111"), ("111", "000")] {
        let look = look(&[case(base, head)], &question(0.02)).unwrap();
        assert_eq!(look.outcome, LookOutcome::Inconclusive);
        assert_eq!(
            (look.lower, look.upper, look.detectable),
            (None, None, None)
        );
    }
}

#[test]
fn four_cases_that_moved_in_one_run_are_too_few_to_pass_and_five_are_not() {
    for (count, outcome) in [(4, LookOutcome::Inconclusive), (5, LookOutcome::Pass)] {
        let look = look(&vec![case("1111", "1110"); count], &question(0.0)).unwrap();
        assert_eq!((look.moved, look.outcome), (count, outcome));
    }
}

#[test]
fn no_pass_rests_on_what_was_gained_against_one_run_of_the_base() {
    let head = ["000/000/000", "111/111/111"];
    for (base, outcome) in [
        (["111", "000"], LookOutcome::Inconclusive),
        (["111/111/111", "000/000/000"], LookOutcome::Pass),
    ] {
        // One case gained what the other lost: the mean stayed.
        let mut cases = vec![case("000", "000"); 10];
        cases.extend([case(base[0], head[0]), case(base[1], head[1])]);
        let look = look(&cases, &question(0.02)).unwrap();
        assert_eq!((look.outcome, look.drop), (outcome, 0.0));
    }
    // What only gained did not lose.
    let look = look(&[case("111", head[0])], &question(0.02)).unwrap();
    assert_eq!(look.outcome, LookOutcome::Pass);
}

#[test]
fn a_drop_of_exactly_the_limit_passes_wherever_it_starts() {
    for (base, head) in [(0.80, 0.75), (0.85, 0.80), (1.0, 0.95), (0.05, 0.0)] {
        let look = declared(&values(&[(base, head); 3]));
        assert_eq!(look.outcome, LookOutcome::Pass, "{base} to {head}");
    }
}

#[test]
fn a_drop_beyond_the_limit_with_no_variation_is_a_regression() {
    let cases = values(&[(0.85, 0.7999); 3]);
    assert_eq!(declared(&cases).outcome, LookOutcome::Regression);
    // The same where repeats showed that nothing varies.
    let repeated: Vec<PairedCase> = cases
        .into_iter()
        .map(|mut case| {
            for cell in &mut case.cells {
                cell.base.values = cell.base.values.repeat(3);
                cell.head.values = cell.head.values.repeat(3);
            }
            case
        })
        .collect();
    let look = look(&repeated, &question(0.02)).unwrap();
    assert_eq!(
        (look.outcome, look.basis),
        (LookOutcome::Regression, BoundsSource::Still)
    );
}

#[test]
fn an_improvement_passes() {
    assert_eq!(
        declared(&values(&[(0.5, 0.9); 3])).outcome,
        LookOutcome::Pass
    );
    let look = look(&values(&[(0.5, 0.9); 9]), &question(0.0)).unwrap();
    assert_eq!(look.outcome, LookOutcome::Pass);
}

#[test]
fn a_look_without_alpha_never_says_regression() {
    let look = look(&vec![case("000/000/000", "111"); 20], &question(0.0)).unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Inconclusive, LookReason::Suspected)
    );
    assert_eq!(look.rerun().len(), 20);
}

#[test]
fn alpha_is_shared_between_the_gated_metrics() {
    let cases = vec![
        case("000/000/010", "011/010/010"),
        case("000/100/000", "110/010/000"),
    ];
    let lower = |alpha, gated| {
        let question = LookSettings {
            gated,
            ..question(alpha)
        };
        look(&cases, &question).unwrap().lower.unwrap()
    };
    assert!((lower(0.03, 3) - lower(0.01, 1)).abs() < 1e-12);
    assert!(lower(0.03, 3) < lower(0.03, 1));
}

#[test]
fn with_two_cells_a_case_every_case_is_run_again() {
    let cases = [
        case("00/00", "00"),
        case("00/00", "11"),
        case("00/00", "00"),
    ];
    assert_eq!(look(&cases, &question(0.0)).unwrap().rerun(), [0, 1, 2]);
    let cases = [
        case("000/000", "000"),
        case("000/000", "111"),
        case("000/000", "000"),
    ];
    assert_eq!(look(&cases, &question(0.0)).unwrap().rerun(), [1]);
}

#[test]
fn a_cell_that_failed_once_does_not_shift_its_case() {
    // The second cell is always bad; that it failed in the last repeat is no improvement.
    let mut cases = vec![case("01/01/01", "01/01/01"); 6];
    cases[0].cells[1].head.values[2] = None;
    let look = look(&cases, &question(0.02)).unwrap();
    assert_eq!(
        (look.drop, look.moved, look.outcome),
        (0.0, 0, LookOutcome::Pass)
    );
}

#[test]
fn a_moved_case_whose_rerun_failed_is_not_taken_as_certain() {
    let mut cases = vec![case("000/000/000", "000/000/000"); 9];
    cases.push(case("000", "111"));
    let look = look(&cases, &question(0.02)).unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Inconclusive, LookReason::Suspected)
    );
}

#[test]
fn a_case_whose_rerun_failed_hides_nothing_that_the_reruns_of_others_confirm() {
    let mut cases = vec![case("0/0/0", "1/1/1"); 12];
    cases.push(case("0", "1"));
    let look = look(&cases, &question(0.02)).unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Regression, LookReason::Drop)
    );
    let lower = look.lower.expect("it is bounded");
    assert!((lower - 12.0 / 13.0).abs() < 1e-12, "{lower}");
    // Nor does what it lost count, where the others lost too little.
    let mut cases = vec![case("0/0/0", "0/0/0"); 24];
    cases.extend([case("0/0/0", "1/1/1"), case("0", "1")]);
    let look = super::look(&cases, &question(0.02)).unwrap();
    assert_eq!(
        (look.outcome, look.reason),
        (LookOutcome::Inconclusive, LookReason::Suspected)
    );
}

#[test]
fn the_detectable_drop_and_the_resolution_are_told() {
    let look = look(&vec![case("0000", "0000"); 5], &question(0.02)).unwrap();
    assert_eq!((look.detectable, look.resolution), (Some(0.05), 0.05));
    let noisy = vec![case("0000/0010/0000", "0000/1000/0000"); 5];
    let noisy = super::look(&noisy, &question(0.02)).unwrap();
    assert!(noisy.detectable.unwrap() > 0.1, "{noisy:?}");
}
