use proptest::prelude::*;

use super::*;

/// Two reports of up to 15 cases of up to 4 cells, up to 5 runs each.
fn sides() -> impl Strategy<Value = (Report, Report)> {
    let value = prop_oneof![
        9 => (0_u8..=4).prop_map(|n| Some(f64::from(n) / 4.0)),
        1 => Just(None),
    ];
    let cells =
        move |runs: usize| prop::collection::vec(prop::collection::vec(value.clone(), runs), 1..5);
    let cases = (1_usize..=5, 1_usize..=5).prop_flat_map(move |(base, head)| {
        prop::collection::vec((cells(base), cells(head)), 1..16)
    });
    cases.prop_map(|cases| {
        let names: Vec<String> = (0..cases.len()).map(|at| format!("c{at:02}")).collect();
        let side = |head: bool| {
            let cases: Vec<_> = names
                .iter()
                .zip(&cases)
                .map(|(name, sides)| {
                    (
                        &**name,
                        if head {
                            sides.1.clone()
                        } else {
                            sides.0.clone()
                        },
                    )
                })
                .collect();
            Report::default().with("m", &cases)
        };
        (side(false), side(true))
    })
}

proptest! {
    #[test]
    fn word_exit_and_reasons_always_agree((base, head) in sides(), deterministic in any::<bool>()) {
        let policy = Policy { deterministic, ..gating(Policy::default(), "m") };
        let verdict = stored(&policy, &base, &head);
        let fails = verdict.reasons.iter().any(|reason| reason.effect == Some(Effect::Fail));
        prop_assert_eq!(verdict.passed, !fails);
        prop_assert_eq!(verdict.exit() == Exit::Passed, verdict.passed);
        prop_assert!(verdict.verdict != Word::Regression || !verdict.passed);
        prop_assert!(verdict.verdict != Word::Pass || verdict.passed);
        prop_assert!(verdict.reasons.iter().all(|reason| !reason.text.contains("NaN")));
        let json = serde_json::to_string(&verdict).unwrap();
        prop_assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
    }

    #[test]
    fn names_of_cases_and_variants_do_not_matter((base, head) in sides()) {
        let policy = gating(Policy::default(), "m");
        let one = stored(&policy, &base, &head);
        // Turned round: the first name becomes the last.
        let rename = |report: &Report, variants: bool| {
            let mut turned = report.clone();
            turned.texts.clear();
            for metric in turned.metrics.values_mut() {
                for (name, mut case) in std::mem::take(&mut metric.per_case) {
                    if variants {
                        let cells = std::mem::take(&mut case.cells);
                        case.cells = cells.iter().map(|(id, cell)| (turn(id).into(), cell.clone())).collect();
                    }
                    turned.texts.insert(turn(&name), String::new());
                    metric.per_case.insert(turn(&name), case);
                }
            }
            turned
        };
        // Variants on one side only: they pair by their input.
        let other = stored(&policy, &rename(&base, false), &rename(&head, true));
        prop_assert_eq!(one.verdict, other.verdict);
        prop_assert_eq!(one.passed, other.passed);
        let (one, other) = (&one.metrics["m"], &other.metrics["m"]);
        prop_assert_eq!((one.cause, one.cases, one.cells), (other.cause, other.cases, other.cells));
        prop_assert!((one.drop.unwrap_or(0.0) - other.drop.unwrap_or(0.0)).abs() < 1e-9);
    }

    #[test]
    fn a_report_against_itself_passes((base, _) in sides()) {
        let verdict = stored(&gating(Policy::default(), "m"), &base, &base);
        let measured = base.metrics["m"].value.is_some();
        prop_assert_eq!(verdict.verdict, if measured { Word::Pass } else { Word::Unmeasured });
    }

    #[test]
    fn turning_values_and_direction_changes_nothing((base, head) in sides()) {
        let policy = gating(Policy::default(), "m");
        let turned = |report: &Report| {
            let mut turned = report.clone().lower("m");
            for metric in turned.metrics.values_mut() {
                metric.value = metric.value.map(|value| 1.0 - value);
                for value in metric.per_case.values_mut().flat_map(|case| case.cells.values_mut()).flat_map(|cell| &mut cell.values) {
                    *value = value.map(|value| 1.0 - value);
                }
            }
            turned
        };
        let (one, other) = (stored(&policy, &base, &head), stored(&policy, &turned(&base), &turned(&head)));
        prop_assert_eq!((one.verdict, one.passed), (other.verdict, other.passed));
        let drop = |verdict: &Verdict| verdict.metrics["m"].drop.unwrap_or(-9.0);
        prop_assert!((drop(&one) - drop(&other)).abs() < 1e-9);
    }
}

fn turn(name: &str) -> String {
    name.chars()
        .map(|c| {
            c.to_digit(10)
                .map_or(c, |digit| char::from(b'9' - digit as u8))
        })
        .collect()
}
