//! The conformance data: 576 worlds, each with what one look must give.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Worlds {
    cases: Vec<World>,
}

/// One world of the conformance data: what one look must give.
#[derive(Deserialize)]
struct World {
    look: usize,
    base: Vec<String>,
    head: Vec<String>,
    verdict: String,
    reason: String,
    #[serde(rename = "D")]
    drop: f64,
    #[serde(rename = "L")]
    lower: Option<f64>,
    #[serde(rename = "U")]
    upper: f64,
    rerun: Vec<String>,
}

/// How many worlds have a case that one side ran once and the other one more often.
const OTHERWISE: usize = 144;

#[test]
fn all_worlds_of_the_conformance_data_agree() {
    let text = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/gate_fixtures.json"
    ));
    let worlds: Worlds = serde_json::from_str(text).unwrap();
    assert_eq!(worlds.cases.len(), 576);
    let mut others = 0;
    for (at, world) in worlds.cases.iter().enumerate() {
        let cases: Vec<PairedCase> = world
            .base
            .iter()
            .zip(&world.head)
            .map(|(base, head)| case(base, head))
            .collect();
        let look = look(&cases, &question([0.0, 0.02, 0.03][world.look])).unwrap();
        let outcome = match look.outcome {
            LookOutcome::Regression => "regressed",
            LookOutcome::Pass => "ok",
            LookOutcome::Inconclusive => "inconclusive",
        };
        let reason = match look.reason {
            LookReason::Drop => "drop",
            LookReason::Bounded => "bounded",
            LookReason::Suspected => "suspected",
            LookReason::Wide => "wide",
        };
        assert!(
            (look.drop - world.drop).abs() < 1e-9,
            "world {at}: {look:?}"
        );
        // The second edition decides otherwise where one side ran a case once and the other one more often:
        // the one run may have been a lucky one, which the repeats of the other side do not tell.
        let is_repeated = |case: &String| case.contains('/');
        let mut sides = world.base.iter().zip(&world.head);
        if sides.any(|(base, head)| is_repeated(base) != is_repeated(head)) {
            others += 1;
            continue;
        }
        let rerun: Vec<String> = look
            .rerun()
            .iter()
            .map(|case| format!("c{case:03}"))
            .collect();
        assert_eq!(
            (outcome, reason),
            (&*world.verdict, &*world.reason),
            "world {at}"
        );
        assert_eq!(look.lower.is_some(), world.lower.is_some(), "world {at}");
        let bounds = look
            .lower
            .zip(world.lower)
            .into_iter()
            .chain([(look.upper.unwrap(), world.upper)]);
        for (got, want) in bounds {
            assert!((got - want).abs() < 1e-6, "world {at}: {got} {want}");
        }
        assert_eq!(rerun, world.rerun, "world {at}");
    }
    assert_eq!(others, OTHERWISE);
}
