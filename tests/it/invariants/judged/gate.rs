//! Judged invariants at the gate.

use super::super::gate::{gate, measured};
use super::*;
use crate::repository::{commit, git, tells};
use kelvin_fixtures::text::lines_with;

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
    insta::assert_snapshot!(lines_with(&all, &["`invariants.tone`"]), @"the judge `invariants.tone` was never calibrated; `kelvin calibrate` tells how far its grades can be trusted");
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
        assert!(tells(&judgement, "edits_measure"), "{edit}\n{all}");
    }
}

#[test]
fn work_that_became_poor_does_not_pass_by_softer_criteria_of_the_same_change() {
    // By a lower threshold alone it does not pass: the score itself has fallen.
    for (edit, first) in [
        (TONE.replace('}', ", pass_threshold: 0.1}"), "edits_measure"),
        (TONE.replace('}', ", not: true}"), "measured_as_base"),
        (
            "check: {type: contains, value: 'done:'}".to_owned(),
            "measured_as_base",
        ),
    ] {
        let settings =
            |judged: &str| format!("{}gate: {{deterministic: true}}\n", invariants(judged));
        let project = project(&format!("{AGENT}echo GOOD\n"), 8, &settings(TONE));
        project.write("judge.sh", JUDGE);
        let _remote = measured(&project);
        project.write("pipeline.sh", &format!("{AGENT}echo poor\n"));
        super::super::configure(&project, &settings(&edit));
        commit(&project, "poorer and softer");
        let (said, judgement) = gate(&project);
        assert_eq!(
            judgement["verdict"],
            json!("regression"),
            "{edit}\n{}",
            said.stdout
        );
        assert_eq!(
            judgement["reasons"][0]["code"],
            json!(first),
            "{edit}\n{judgement}"
        );
    }
}

#[test]
fn softer_criteria_and_softer_rules_together_pass_under_rules_of_their_own() {
    for rules in [
        "gate: {deterministic: true, on_broken_case: warn, max_drop: 2}\n",
        "gate: {metrics: {checks.tone: {policy: info}, checks.composite: {policy: info}, checks.pass_rate: \
         {policy: info}, checks.failure_rate: {policy: info}}, on_unmeasured: warn}\n",
        "baseline: {from: \"off\"}\n",
    ] {
        let project = project(
            &format!("{AGENT}echo GOOD\n"),
            8,
            &format!("{}gate: {{deterministic: true}}\n", invariants(TONE)),
        );
        project.write("judge.sh", JUDGE);
        let _remote = measured(&project);
        project.write("pipeline.sh", &format!("{AGENT}echo poor\n"));
        let softer = TONE.replace('}', ", not: true}");
        super::super::configure(&project, &format!("{}{rules}", invariants(&softer)));
        commit(&project, "poorer, softer, and allowed");
        let (said, judgement) = gate(&project);
        assert_eq!(judgement["passed"], json!(true), "{}", said.stdout);
        let first = &judgement["reasons"][0];
        assert_eq!(first["code"], json!("own_rules"), "{rules}\n{judgement}");
        assert!(first["text"].to_string().contains("regression"), "{first}");
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
    assert!(all.contains("`invariants.tone`"), "{all}");
    assert!(tells(&judgement, "uncalibrated_judge"));
}

/// A calibration that calls a judge fit and has no figures.
fn forged(grader_id: &str) -> String {
    json!({"schema": 1, "trials": [{
        "judge": "invariants.tone", "grader_id": grader_id, "compared_with": "exact-match/ws-v1",
        "fitness": "fit", "criteria": [], "prompts": 40, "answers": 40, "labelled": 0,
        "answers_digest": "0".repeat(64), "pass": 0.5, "repeats": 3, "gradings": 400,
        "figures": {}, "smallest_drop": {"noise": null, "by_prompts": {}},
    }]})
    .to_string()
}

#[test]
fn a_calibration_that_a_change_brings_or_edits_is_told_and_its_word_alone_clears_nobody() {
    let more = format!(
        "{}gate: {{require_calibration: true, deterministic: true}}\n",
        invariants(TONE)
    );
    let project = project(&format!("{AGENT}echo GOOD\n"), 12, &more);
    project.write("judge.sh", JUDGE);
    let _remote = measured(&project);
    let id = tone(&project)["judged"]["grade"]["grader_id"].clone();
    let id = id.as_str().expect("an id");
    project.write("calibration.json", &forged(id));
    commit(&project, "a calibration");
    let (said, judgement) = gate(&project);
    let all = texts(&judgement);
    insta::assert_snapshot!(lines_with(&all, &["calibration.json"]), @"
    this change brings the calibration of the judges `calibration.json`
    `calibration.json` calls the judge `invariants.tone` fit, and the figures there say undecided: the file was edited by hand, or another version wrote it; `kelvin calibrate` tells how far its grades can be trusted
    ");
    assert_eq!(
        (said.code, &judgement["verdict"]),
        (Some(3), &json!("unmeasured"))
    );

    // The same where the base has one.
    let root = project.root();
    git(root, &["push", "--quiet", "origin", "change:main"]);
    git(root, &["checkout", "--quiet", "main"]);
    git(root, &["reset", "--quiet", "--hard", "change"]);
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    git(root, &["checkout", "--quiet", "-b", "edit"]);
    project.write("calibration.json", &forged(id).replace("400", "401"));
    commit(&project, "another calibration");
    let (_, judgement) = gate(&project);
    let all = texts(&judgement);
    insta::assert_snapshot!(lines_with(&all, &["calibration.json"]), @"
    this change edits the calibration of the judges `calibration.json`
    `calibration.json` calls the judge `invariants.tone` fit, and the figures there say undecided: the file was edited by hand, or another version wrote it; `kelvin calibrate` tells how far its grades can be trusted
    ");
}
