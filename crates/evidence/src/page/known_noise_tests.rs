//! Pipelines whose noise is known: what moves the decision is called noise only where it is, and a type that decides
//! now and then is not called ignored.

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::known_truth_tests::{amount, approve, trials};
use super::swaps::SwapCounts;
use super::{diagnosis, known_truth_tests};
use crate::fake::Trial;

const SUITES: u64 = 20;

/// What is said of a pipeline, which is given chance and a text, in each of some suites.
fn tried(
    governing: &[&str],
    replays: usize,
    pipeline: impl Fn(&mut ChaCha8Rng, &str) -> Value,
) -> Vec<(Trial, Vec<String>)> {
    let said = |trial: Trial| {
        let told = diagnosis::diagnoses(&trial.run()).into_iter();
        let told = told.map(|one| one.text.show(|_, name| format!("`{name}`")));
        let told = told.collect();
        (trial, told)
    };
    trials(SUITES, governing, replays, pipeline)
        .map(said)
        .collect()
}

fn has(told: &[String], words: &str) -> bool {
    told.iter().any(|text| text.contains(words))
}

#[test]
fn a_change_is_one_of_presentation_where_no_noise_was_measured() {
    // The order matters in few cases.
    let by_order = |text: &str| {
        let score = amount(text, "Credit Score");
        let is_first = text
            .split("## ")
            .nth(1)
            .is_some_and(|unit| unit.starts_with("Contact"));
        approve((score >= 575) != (is_first && score.is_multiple_of(2)))
    };
    let mut moved = 0;
    for (trial, told) in tried(known_truth_tests::ONE, 4, |_, text| by_order(text)) {
        let metrics = &trial.evidence.metrics;
        assert_eq!(metrics["evidence.noise_floor"].value, Some(0.0));
        if metrics["evidence.invariance.reorder"]
            .value
            .is_some_and(|value| value < 0.9)
        {
            moved += 1;
            assert!(has(&told, "presentation moves it: `"), "{told:?}");
        }
    }
    assert!(moved >= 10, "{moved}");
}

#[test]
fn a_type_that_decides_now_and_then_is_not_called_ignored() {
    let rare = |text: &str| {
        let by_score = amount(text, "Credit Score") >= 575;
        approve(by_score && amount(text, "Collateral") < 820)
    };
    let mut rarely = 0;
    for replays in [0, 4] {
        for (trial, told) in tried(known_truth_tests::TWO, replays, |_, text| rare(text)) {
            let swaps = SwapCounts::of_type(&trial.run(), "collateral");
            let words = format!(
                "`collateral` rarely decides: {} of {}",
                swaps.moved, swaps.samples
            );
            rarely += usize::from(has(&told, &words));
            let is_ignored = has(&told, "`collateral` is ignored");
            assert!(!is_ignored || swaps.moved == 0, "{swaps:?} {told:?}");
        }
    }
    assert!(rarely >= 10, "{rarely}");
    // What never decides is ignored, and noise makes no cause of it.
    let half = |text: &str| approve(amount(text, "Credit Score") >= 575);
    for (_, told) in tried(known_truth_tests::TWO, 0, |_, text| half(text)) {
        assert!(!has(&told, "rarely decides"), "{told:?}");
    }
    let noisy = tried(known_truth_tests::TWO, 4, |random, text| {
        approve((half(text) == "approve") != random.random_bool(0.15))
    });
    let wrong = noisy.iter().filter(|(_, told)| has(told, "rarely decides"));
    assert!(wrong.count() <= 2);
}

#[test]
fn swaps_that_all_move_a_jittering_number_show_noise() {
    let jitter = |random: &mut ChaCha8Rng, text: &str| {
        let base = if amount(text, "Credit Score") >= 575 {
            0.9
        } else {
            0.05
        };
        json!(base + random.random_range(0.0..0.05))
    };
    for (replays, because, advised) in [
        (0, "the decision may vary by itself: it moved in ", true),
        (
            4,
            "the same input was answered differently in 20 cases",
            false,
        ),
    ] {
        let suites = tried(known_truth_tests::TWO, replays, jitter);
        let told: Vec<_> = suites
            .iter()
            .filter(|(_, told)| has(told, "`collateral` is ignored"))
            .collect();
        assert!(told.len() >= 10, "{} of {replays}", told.len());
        for (_, told) in told {
            assert!(
                has(told, "moved the decision, but hardly towards"),
                "{told:?}"
            );
            assert!(has(told, because), "{told:?}");
            assert_eq!(
                has(told, "`noise_floor: {enabled: true}` would tell"),
                advised,
                "{told:?}"
            );
            assert!(
                !has(
                    told,
                    "swaps whose unit comes from a case that is answered differently left"
                ),
                "{told:?}"
            );
        }
    }
}
