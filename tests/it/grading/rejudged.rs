use serde_json::json;

use super::{configure, project};

#[test]
fn stored_answers_are_graded_anew_and_no_pipeline_is_run() {
    let project = project(3);
    project.write(
        "answer.sh",
        "echo x >> calls\nsed 's/.*: word/WORD/' \"$1\" > \"$2\"\n",
    );
    project.check();
    assert_eq!(
        project.report()["metrics"]["grading.judge_score"]["value"],
        json!(0.0)
    );
    project.write(
        "kelvin.yaml",
        &project
            .read("kelvin.yaml")
            .replace("exact_match}", "exact_match, normalize: casefold}"),
    );
    let stored = project.read("kelvin/report.json");
    let said = project
        .kelvin(&["rescore", "grades", "kelvin/report.json"])
        .expect(0);
    assert!(
        said.stdout.contains("judge_score           1.0000 (n=3)"),
        "{}",
        said.stdout
    );
    assert_eq!(
        (project.calls(), project.read("kelvin/report.json")),
        (3, stored)
    );
    let report = project.json("kelvin-rejudged/report.json");
    assert_eq!(
        report["probes"]["grading"]["basis"]["judge"],
        json!("exact-match/casefold-v1")
    );
    let item = &report["probes"]["grading"]["items"]["p00"]["samples"][0];
    assert_eq!(item["candidate"]["answer"]["text"], json!("WORD-0"));
    // The new grades are in the ledger beside the old ones.
    let said = project
        .kelvin(&["ledger", "summary", "--format", "json"])
        .expect(0);
    let summary: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(summary.as_array().map(Vec::len), Some(2), "{summary}");
    // A run of the history is as good as a file.
    project
        .kelvin(&["rescore", "grades", "latest", "--no-history"])
        .expect(0);
    assert_eq!(project.calls(), 3);
}

#[test]
fn an_answer_that_was_cut_is_not_graded_anew() {
    let project = project(2);
    project.write(
        "answer.sh",
        "head -c 30000 /dev/zero | tr '\\0' 'a' > \"$2\"\n",
    );
    project.check();
    let answer = project.json("kelvin/report.json")["probes"]["grading"]["items"]["p00"]["samples"]
        [0]["candidate"]["answer"]
        .clone();
    assert_eq!(answer["characters"], json!(30000));
    assert_eq!(answer["text"].as_str().map(str::len), Some(20000));
    let said = project
        .kelvin(&["rescore", "grades", "kelvin/report.json"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: 2 texts of the report are cut, the first of them of the prompt `p00`: a judge must not grade a part of a text for the whole
      help: measure the answers again with `kelvin check`, and let the judge see them then
    ");
}

#[test]
fn a_report_without_graded_answers_and_a_configuration_without_a_judge_are_refused() {
    let project = project(1);
    project.check();
    project.write("other.yaml", "gate: {max_drop: 0.1}\n");
    let said = project
        .kelvin(&[
            "rescore",
            "grades",
            "kelvin/report.json",
            "--config",
            "other.yaml",
        ])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `other.yaml` has no section `grading`, which names the judge
      help: add a section `grading`
    ");
    let mut report = project.json("kelvin/report.json");
    report["probes"] = json!({});
    project.write("empty.json", &report.to_string());
    configure(&project, "");
    let said = project
        .kelvin(&["rescore", "grades", "empty.json"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report `empty.json` has no graded answers
      help: name a report of a run whose answers a judge has graded
    ");
}
