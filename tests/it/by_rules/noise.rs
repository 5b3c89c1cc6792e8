//! Noise that stays, noise that goes, and calls that fail now and then.

use super::*;

#[test]
fn noise_that_is_taken_away_is_never_red_and_nobody_is_sent_after_a_fault() {
    let right = rule("and", 2);
    let noisy = format!("{right}flip .15\n");
    let mut wrong = Vec::new();
    for luck in 1..=2 {
        let suite = Suite::of(16, 2).held(60).with_luck().known();
        let gated = suite.lucky(luck).base(&noisy, 5).gate(&right, &[]);
        let accuses = gated.page.contains("now stays");
        if gated.is("regression") || gated.said.code != Some(0) || accuses {
            wrong.push(format!("luck {luck}: {}", gated.shown()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn an_unchanged_pipeline_whose_calls_fail_now_and_then_is_never_red_and_one_that_fails_far_more_often_is()
 {
    let right = rule("and", 2);
    let failing = |share: &str| format!("{right}crash {share}\n");
    let mut wrong = Vec::new();
    for share in [".03", ".1"] {
        let suite = Suite::of(20, 2).with_luck().known();
        suite.lucky(1).base(&failing(share), 1);
        for luck in 2..=4 {
            let gated = suite.lucky(luck).gate(&failing(share), &[]);
            if gated.said.code != Some(0) {
                wrong.push(format!("{share}, luck {luck}: {}", gated.shown()));
            }
        }
        let worse = suite.gate(&failing(".4"), &[]);
        if worse.said.code != Some(3) {
            wrong.push(format!("{share} became .4: {}", worse.shown()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The types take all that may be run again; what was run for them tells of invariance too.
#[test]
fn a_change_that_answers_at_random_is_red_though_its_base_was_run_once() {
    let right = rule("and", 2);
    let suite = Suite {
        settings: String::new(),
        ..Suite::of(20, 2).with_luck()
    }
    .known();
    suite.lucky(1).base(&right, 1);
    let random = format!("{}flip .4\n", without(&right, "collateral", 1));
    suite.gate(&random, &[]).red("random answers");
    suite.gate(&right, &[]).passes("no change");
}
