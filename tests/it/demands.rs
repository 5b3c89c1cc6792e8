//! Rules that need no baseline: each one that somebody wrote decides or is refused.

use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// What a gate says of a project with more in its configuration.
fn gated(project: &Project, more: &str, code: i32) -> Value {
    project.config(more);
    let said = project.kelvin(&["gate"]).expect(code);
    verdict(project, &said)
}

fn reasons(judgement: &Value) -> String {
    judgement["reasons"].to_string()
}

const FLOOR: &str = "gate: {metrics: {evidence.sensitivity: {min: 0.9}}}\n";

#[test]
fn a_floor_holds_where_there_is_no_baseline() {
    for (script, code, word) in [(CONSTANT, 3, "regression"), (GROUNDED, 0, "no_baseline")] {
        let (_remote, url) = bare();
        let project = pushed(&url, script);
        let judgement = gated(&project, FLOOR, code);
        assert_eq!(judgement["verdict"], json!(word), "{judgement}");
        let is_told = reasons(&judgement).contains("0.9000");
        assert_eq!(is_told, code == 3, "{judgement}");
    }
}

#[test]
fn a_limit_that_somebody_wrote_gates_a_metric_that_is_shown_only() {
    for (script, code, word) in [(CONSTANT, 3, "regression"), (GROUNDED, 0, "pass")] {
        let (_remote, url) = bare();
        let project = pushed(&url, script);
        project.config(FLOOR);
        commit(&project, "a floor");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        save(&project);
        // Nothing changed, but what there is is not enough.
        branch(&project, "same", &format!("# the same\n{script}"));
        let judgement = gated(&project, FLOOR, code);
        assert_eq!(judgement["verdict"], json!(word), "{judgement}");
        let metric = &judgement["metrics"]["evidence.sensitivity"];
        assert_eq!(metric["policy"], json!("gate"), "{metric}");
    }
}

#[test]
fn a_rule_for_a_metric_that_there_is_not_is_refused_with_the_nearest_name() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "same", &format!("# the same\n{GROUNDED}"));
    // A metric of its probe, but of a type that nobody has declared.
    let misspelt = "gate: {metrics: {evidence.following.rules: {min: 0.1}}}\n";
    let judgement = gated(&project, misspelt, 3);
    assert_eq!(judgement["verdict"], json!("unmeasured"), "{judgement}");
    let told = reasons(&judgement);
    insta::assert_snapshot!(lines_with(&told, &["`evidence.following.rule`"]), @r#"[{"code":"edits_rules","effect":"warn","text":"this change edits the gate: metrics.evidence.following.rules.min unset → 0.1"},{"code":"metric","effect":"fail","metric":"evidence.following.rules","text":"`evidence.following.rules` has a rule under `gate: metrics:`, and there is no such metric; did you mean `evidence.following.rule`?"},{"code":"metric","effect":null,"metric":"evidence.failure_rate","text":"`evidence.failure_rate` did not change: every value is the same on both sides"},{"code":"metric","effect":null,"metric":"evidence.following.rule","text":"`rule` is followed: 12 of 12 swaps of it move the decision, as on the base"},{"code":"metric","effect":null,"metric":"evidence.invariance","text":"`evidence.invariance` did not change: every value is the same on both sides"}]"#);
    let shown = "gate: {metrics: {evidence.sensitivity: {policy: info, min: 0.9}}}\n";
    project.config(shown);
    let said = project.kelvin(&["lint"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`min`"]), @"
    error: `min` of `evidence.sensitivity` decides nothing under `policy: info`
      = help: write `policy: gate`, or leave `min` out
    ");
    gated(
        &project,
        "gate: {metrics: {evidence.invariance: {min: 0.1}}}\n",
        0,
    );
}

#[test]
fn a_base_that_is_to_be_computed_is_computed() {
    for (script, code, word) in [(CONSTANT, 3, "regression"), (GROUNDED, 0, "pass")] {
        let (_remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        branch(&project, "change", &format!("# another\n{script}"));
        let judgement = gated(&project, "baseline: {from: compute}\n", code);
        assert_eq!(judgement["verdict"], json!(word), "{judgement}");
        assert_eq!(judgement["base"]["source"], json!("compute"));
    }
}
