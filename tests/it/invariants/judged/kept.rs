//! What is kept of judged scenarios, and what is asked again.

use super::*;
use crate::repository::{commit, git};
use kelvin_fixtures::text::lines_with;

/// The same project in a repository: only of code that is known are answers kept.
fn judged_in_git(scenarios: usize) -> Project {
    let project = judged("GOOD", scenarios, TONE);
    project.write(".gitignore", "/kelvin/\n/.kelvin-cache/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project
}

fn calls(project: &Project) -> (Value, Value) {
    let session = &project.json("kelvin/report.json")["run"]["session"];
    (
        session["cost"]["invocations"].clone(),
        session["judge_cost"]["invocations"].clone(),
    )
}

#[test]
fn other_criteria_ask_the_judge_again_and_no_scenario() {
    let project = judged_in_git(3);
    project.kelvin(&["check"]).expect(0);
    assert_eq!(calls(&project), (json!(3), json!(3)));
    project.kelvin(&["check"]).expect(0);
    assert_eq!(calls(&project), (json!(0), json!(0)));
    let project = judged_again(&project, &TONE.replace("It is well done", "It is short"));
    assert_eq!(calls(project), (json!(0), json!(3)));
    // Another threshold is nothing that a judge has to know.
    let more = TONE.replace('}', ", pass_threshold: 0.9}");
    let project = judged_again(project, &more);
    assert_eq!(calls(project), (json!(0), json!(0)));
    assert_eq!(tone(project)["outcome"], "failed");
    let more = TONE.replace('}', ", input_from: stdout}");
    assert_eq!(calls(judged_again(project, &more)).0, json!(3));
}

#[test]
fn recomputing_merging_and_grading_anew_ask_no_judge() {
    let project = judged("GOOD", 4, TONE);
    project.kelvin(&["check"]).expect(0);
    let whole = project.report();
    for (shard, out) in [("1/2", "one"), ("2/2", "two")] {
        project
            .kelvin(&["check", "--shard", shard, "--out", out])
            .expect(0);
    }
    project.write("judge.sh", "exit 1\n");
    project
        .kelvin(&["merge", "one", "two", "--out", "both"])
        .expect(0);
    let both = project.json("both/report.json");
    assert_eq!(both["metrics"], whole["metrics"]);
    assert_eq!(both["probes"], whole["probes"]);
    let said = project
        .kelvin(&["rescore", "figures", "latest", "--format", "json"])
        .expect(0);
    let recomputed: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(recomputed["changed"], json!({}), "{recomputed}");
    // The texts that the judge has seen are not kept, so nothing can be graded anew.
    let said = project
        .kelvin(&["rescore", "grades", "kelvin/report.json"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: what the judge of the invariant `tone` has seen is not in the report, so it cannot be graded anew
      help: run `kelvin check`: scenarios that the cache knows are not run again, and the judge of today's configuration is asked about what they left
    ");
}

#[test]
fn a_ceiling_of_the_judge_stops_the_run_with_what_it_has_and_resume_goes_on() {
    let project = judged_in_git(3);
    let bounded = |most: usize| {
        let more = invariants(TONE).replace(
            "run: sh judge.sh",
            &format!("run: sh judge.sh, limits: {{max_calls: {most}, concurrency: 1}}"),
        );
        super::super::configure(&project, &more);
    };
    bounded(1);
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`grader`"]), @"~ the model `grader` of the judges was called 1 times in this run, which is the");
    let report = project.report();
    assert_eq!(report["run"]["ending"], "interrupted");
    let outcomes: Vec<Value> = ["s00", "s01", "s02"]
        .iter()
        .map(|id| ran(&report, id, 0)["checks"]["tone"]["outcome"].clone())
        .collect();
    let errors = outcomes.iter().filter(|one| **one == "error").count();
    assert_eq!(errors, 2, "{outcomes:?}");
    bounded(9);
    project.kelvin(&["check", "--resume"]).expect(0);
    assert_eq!(calls(&project), (json!(0), json!(2)));
    let tone = figure(&project.report(), "tone")
        .as_f64()
        .expect("measured");
    assert!((tone - 0.7).abs() < 1e-12, "{tone}");
}

#[test]
fn the_calls_of_a_judge_use_up_nothing_of_what_the_pipeline_may_call() {
    let project = judged("GOOD", 2, TONE);
    // A scenario begins in its workspace, where the script is not.
    let script = project.path("judge.sh").display().to_string();
    let more = invariants(TONE).replace(
        "run: sh judge.sh",
        &format!("run: sh {script}, limits: {{max_calls: 2}}"),
    );
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {{model: grader}}\ncases: cases\n{}",
            more.replace("path: made.txt", "path: nothing.txt, not: true")
        ),
    );
    project.write("cases/s00.md", "GOOD\n");
    project.write("cases/s01.md", "GOOD\n");
    project.kelvin(&["check"]).expect(0);
    assert_eq!(calls(&project), (json!(2), json!(2)));
    assert_eq!(figure(&project.report(), "tone"), json!(0.7));
}
