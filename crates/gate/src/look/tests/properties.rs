use proptest::prelude::*;

use super::super::{Draws, Look, LookOutcome, LookSettings, PairedCase, PairedCell, look};
use super::question;

/// Up to 12 cases of 4 cells with up to 4 repeats a side.
fn suites() -> impl Strategy<Value = Vec<PairedCase>> {
    let losses = |cells: usize, repeats: usize| {
        let loss =
            prop_oneof![8 => (0_u8..=4).prop_map(|n| Some(f64::from(n) / 4.0)), 1 => Just(None)];
        prop::collection::vec(prop::collection::vec(loss, repeats), cells)
    };
    let case = (1_usize..=4, 1_usize..=4).prop_flat_map(move |(of_base, of_head)| {
        (losses(4, of_base), losses(4, of_head)).prop_map(|(base, head)| PairedCase {
            cells: base
                .into_iter()
                .zip(head)
                .map(|(base, head)| PairedCell {
                    base: base.into(),
                    head: head.into(),
                })
                .collect(),
            weight: 1.0,
            ..PairedCase::default()
        })
    });
    prop::collection::vec(case, 1..12)
}

fn map(cases: &[PairedCase], change: impl Fn(&PairedCell) -> PairedCell) -> Vec<PairedCase> {
    cases
        .iter()
        .map(|case| PairedCase {
            cells: case.cells.iter().map(&change).collect(),
            ..case.clone()
        })
        .collect()
}

fn all() -> LookSettings {
    LookSettings {
        max_missing: 1.0,
        ..question(0.02)
    }
}

fn near(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() < 1e-9,
        (one, other) => one == other,
    }
}

proptest! {
    #[test]
    fn swapping_the_sides_turns_the_drop_and_keeps_its_noise(cases in suites()) {
        let turned = map(&cases, |cell| PairedCell { base: cell.head.clone(), head: cell.base.clone() });
        if let (Ok(one), Ok(other)) = (look(&cases, &all()), look(&turned, &all())) {
            prop_assert!((one.drop + other.drop).abs() < 1e-9);
            let width = |look: &Look| look.upper.map(|upper| upper - look.drop);
            prop_assert!(near(width(&one), width(&other)));
            // What a case lost of which each side has one value does not count as a drop.
            let is_repeated = |case: &PairedCase| {
                let all = |cell: &PairedCell| cell.head.values.iter().all(Option::is_some);
                case.head_runs() > 1 && case.cells.iter().all(all)
            };
            if cases.iter().all(is_repeated) {
                let width = |look: &Look| look.lower.map(|lower| look.drop - lower);
                prop_assert!(near(width(&one), width(&other)));
            }
            prop_assert!(!(one.outcome == LookOutcome::Regression && other.outcome == LookOutcome::Regression));
            prop_assert_eq!(one.unstable, other.unstable);
        }
    }

    #[test]
    fn adding_a_constant_to_every_loss_changes_nothing(cases in suites(), shift in -3.0..3.0) {
        let add = |losses: &Draws| -> Draws {
            let losses = losses.values.iter().map(|loss| loss.map(|loss| loss + shift));
            losses.collect::<Vec<Option<f64>>>().into()
        };
        let moved = map(&cases, |cell| PairedCell { base: add(&cell.base), head: add(&cell.head) });
        match (look(&cases, &all()), look(&moved, &all())) {
            (Ok(one), Ok(other)) => {
                prop_assert!((one.drop - other.drop).abs() < 1e-9);
                prop_assert!(near(one.lower, other.lower) && near(one.upper, other.upper));
                prop_assert_eq!((one.outcome, one.unstable), (other.outcome, other.unstable));
            }
            (one, other) => prop_assert_eq!(one.unwrap_err(), other.unwrap_err()),
        }
    }

    #[test]
    fn the_order_of_cases_and_the_names_of_variants_change_nothing(cases in suites()) {
        let mut turned = cases.clone();
        turned.reverse();
        turned.iter_mut().for_each(|case| case.cells.reverse());
        if let (Ok(one), Ok(other)) = (look(&cases, &all()), look(&turned, &all())) {
            prop_assert!((one.drop - other.drop).abs() < 1e-9);
            prop_assert!(near(one.lower, other.lower) && near(one.upper, other.upper));
            prop_assert_eq!((one.outcome, one.reason), (other.outcome, other.reason));
            let places: Vec<usize> = other.unstable.iter().rev().map(|at| cases.len() - 1 - at).collect();
            prop_assert_eq!(one.unstable, places);
        }
    }

    #[test]
    fn bounds_are_in_order_and_shares_add_up(cases in suites()) {
        if let Ok(look) = look(&cases, &all()) {
            prop_assert!(look.lower.is_none_or(|lower| lower <= look.drop + 1e-12));
            prop_assert!(look.upper.is_none_or(|upper| upper >= look.drop - 1e-12));
            prop_assert!((look.shares.iter().sum::<f64>() - look.drop).abs() < 1e-9);
            prop_assert!((look.head - look.base - look.drop).abs() < 1e-9);
        }
    }
}
