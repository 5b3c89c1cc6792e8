//! Judged invariants at the gate.

use super::super::gate::{gate, measured};
use super::*;
use crate::repository::commit;

fn texts(judgement: &Value) -> String {
    let reasons = judgement["reasons"].as_array().expect("a list");
    let texts = reasons.iter().filter_map(|reason| reason["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn work_that_became_poor_is_a_regression_with_what_the_judge_said() {
    let more = format!("{}scoring: {{replicas: 3}}\n", invariants(TONE));
    let script = |word: &str| {
        format!("{AGENT}case $KELVIN_SCENARIO in s03) echo {word};; *) echo GOOD;; esac\n")
    };
    let project = project(&script("GOOD"), 14, &more);
    project.write("judge.sh", JUDGE);
    let _remote = measured(&project);
    project.write("pipeline.sh", &script("poor"));
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    for part in ["s03", "tone", "poor work"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // Nobody has tried the judge, and the comment says so.
    let all = texts(&judgement);
    assert!(
        all.contains("the judge `invariants.tone` was never calibrated"),
        "{all}"
    );
    let comment = project.read("kelvin/gate.md");
    assert!(comment.contains("judges: "), "{comment}");
}

#[test]
fn a_judge_that_dies_on_a_change_is_no_pass_of_it() {
    let project = judged("GOOD", 14, TONE);
    let _remote = measured(&project);
    project.write("judge.sh", "exit 1\n");
    commit(&project, "another judge");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let verdict = judgement["verdict"].as_str().expect("a word");
    assert!(["unmeasured", "regression"].contains(&verdict), "{verdict}");
}

#[test]
fn softer_criteria_a_lower_threshold_and_another_template_are_told_as_edits_of_what_is_measured() {
    for edit in [
        TONE.replace("well done", "there at all"),
        TONE.replace('}', ", pass_threshold: 0.1}"),
        TONE.replace('}', ", prompt_template: 'Give 1. {frames}'}"),
        TONE.replace('}', ", max_errors: 1}"),
        TONE.replace('}', ", not: true}"),
    ] {
        let project = judged("GOOD", 2, TONE);
        let _remote = measured(&project);
        super::super::configure(&project, &invariants(&edit));
        commit(&project, "softer");
        let (_, judgement) = gate(&project);
        let all = texts(&judgement);
        assert!(
            all.contains("this change edits what is measured: invariants.tone"),
            "{edit}\n{all}"
        );
    }
}

#[test]
fn a_required_calibration_fails_the_gate_for_a_judge_that_was_never_tried() {
    let more = format!(
        "{}gate: {{require_calibration: true, deterministic: true, metrics: {{checks.pass_rate: {{min: 1.0}}}}}}\n",
        invariants(TONE)
    );
    let project = project(&format!("{AGENT}echo GOOD\n"), 3, &more);
    project.write("judge.sh", JUDGE);
    let _remote = measured(&project);
    project.write("cases/s00.md", "Give room 7.\n");
    commit(&project, "nothing much");
    let (said, judgement) = gate(&project);
    assert_eq!(
        (said.code, &judgement["verdict"]),
        (Some(3), &json!("unmeasured"))
    );
    let all = texts(&judgement);
    assert!(
        all.contains("`invariants.tone` was never calibrated"),
        "{all}"
    );
}
