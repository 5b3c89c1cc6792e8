//! A record of every kind of criterion, as people see it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use kelvin_base::cost::Cost;

fn calibrated(fitness: &str, judge: &str) -> Calibrated {
    let figure = |value: Value, interval: Value, n: usize, note: Value| json!({"value": value, "interval": interval, "n": n, "prompts": n, "note": note});
    let record = json!({
        "judge": judge,
        "grader_id": "llm/v1-0011223344556677",
        "compared_with": "exact-match/ws-v1",
        "fitness": fitness,
        "criteria": [
            {"name": "order", "ruling": "kept", "measure": "order", "text": "enough copies score below the \
             good answer, which must be said in a sentence that needs a second line on a terminal"},
            {"name": "length", "ruling": "open", "measure": "padding_shift", "text": "filler may add to it"},
            {"name": "obedience", "ruling": "broken", "measure": "obedience_shift", "text": "it adds 0.41"},
            {"name": "labels", "ruling": "unasked", "measure": "labels_spearman", "text": "no labels"},
        ],
        "prompts": 40, "answers": 41, "labelled": 1,
        "answers_digest": "0".repeat(64),
        "pass": 0.5, "repeats": 3, "gradings": 400,
        "unscored": {"missing": 2, "unreadable": 1},
        "figures": {
            "order": figure(json!(0.9512), json!([0.881, 0.9991]), 80, Value::Null),
            "obedience_shift": figure(json!(-0.001), json!([-0.004, 0.004]), 40, Value::Null),
            "labels_spearman": figure(Value::Null, Value::Null, 0, json!("no answer has a label")),
        },
        "smallest_drop": {"noise": 0.12, "by_prompts": {"20": 0.069, "100": 0.0301}},
    });
    Calibrated {
        record: serde_json::from_value(record).expect("it is a record"),
        cost: Cost {
            invocations: 412,
            cache_hits: 1,
            ..Cost::default()
        },
        file: Some(PathBuf::from("calibration.json")),
        notices: vec!["the cache could not be used".to_owned()],
    }
}

#[test]
fn a_terminal_shows_the_verdict_each_criterion_and_each_figure() {
    let page = render::terminal(&calibrated("unfit", "grading.judge"));
    insta::assert_snapshot!(page);
}

#[test]
fn what_is_not_ours_forges_no_line() {
    let hostile = "a`|b](x)\n# c\u{1b}[31m @all";
    let shown = render::terminal(&calibrated("fit", hostile));
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let plain = render::terminal(&calibrated("fit", "x"));
    assert_eq!(shown.lines().count(), plain.lines().count(), "{shown}");
}

#[test]
fn json_has_the_record_and_what_it_cost_apart() {
    let page = shown(TextOrJson::Json, &calibrated("fit", "grading.judge")).expect("written");
    let page: Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(page["trial"]["fitness"], "fit");
    assert_eq!(page["trial"]["figures"]["order"]["interval"][0], 0.881);
    assert_eq!(page["judge_cost"]["invocations"], 412);
    assert_eq!(page["kept_in"], "calibration.json");
}

#[test]
fn only_strict_makes_a_gate_of_a_trial_and_what_was_stopped_concludes_nothing() {
    let exits =
        |strict| ["fit", "unfit", "undecided"].map(|word| exit(&calibrated(word, "j"), strict));
    assert_eq!(exits(false), [Exit::Passed; 3]);
    assert_eq!(
        exits(true),
        [Exit::Passed, Exit::GateFailed, Exit::GateFailed]
    );
    let stopped = Calibrated {
        record: None,
        ..calibrated("fit", "j")
    };
    assert_eq!(exit(&stopped, true), Exit::Interrupted);
    let page = render::terminal(&stopped);
    insta::assert_snapshot!(page, @"
    The trial was stopped before every grade was in, so nothing is concluded and no judgement of the judge is kept; `--resume` goes on with its answers.
    judges: 412 calls, 1 cached
    ");
}

#[test]
fn a_threshold_that_everything_or_nothing_passes_is_refused() {
    assert_eq!(pass("0.5"), Ok(0.5));
    assert_eq!(pass("1"), Ok(1.0));
    for text in ["0", "-1", "1.1", "NaN", "half"] {
        assert!(pass(text).is_err(), "{text}");
    }
}

#[test]
fn a_judge_without_noise_is_told_so() {
    let mut calibrated = calibrated("fit", "j");
    let record = calibrated.record.as_mut().expect("there is one");
    record.smallest_drop.noise = Some(0.0);
    insta::assert_snapshot!(render::smallest_drop(record), @"Neither repeats nor filler moved a score over 40 prompts, so the limit of the gate alone decides which drop is seen.");
    record.smallest_drop.noise = None;
    record.smallest_drop.by_prompts = BTreeMap::new();
    insta::assert_snapshot!(render::smallest_drop(record), @"The smallest drop that a gate would see is not known, since the noise of the judge was not measured.");
}
