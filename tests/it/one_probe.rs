use kelvin_fixtures::text::lines_with;
use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project, is_calm};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// Answers with one hit.
const FOUND: &str = "printf '{\"hits\":[{\"doc_id\":\"d\"}]}' > \"$2\"\n";

/// A pipeline that also writes down that it was called.
fn counted(project: &Project, name: &str, script: &str) -> String {
    let calls = project.path("calls").display().to_string();
    format!("echo {name} >> '{calls}'\n{script}")
}

/// A project whose base has no report, so that the base is measured for the gate.
fn project(url: &str) -> Project {
    let project = pushed(url, GROUNDED);
    project.config("baseline: {compute: true}\ngate: {deterministic: true}\n");
    project.write("pipeline.sh", &counted(&project, "case", GROUNDED));
    let query = |at| format!("- {{id: q{at}, query: q, expected_doc_ids: [d]}}\n");
    project.write("golden.yaml", &(0..12).map(query).collect::<String>());
    project
}

/// Adds the second probe, and commits it.
fn with_queries(project: &Project) {
    project.write("ask.sh", &counted(project, "query", FOUND));
    let config = project.read("kelvin.yaml");
    let section = "retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}\n";
    project.write("kelvin.yaml", &(config + section));
    commit(project, "queries");
}

fn calls(project: &Project, name: &str) -> usize {
    let calls = std::fs::read_to_string(project.path("calls")).unwrap_or_default();
    calls.lines().filter(|line| *line == name).count()
}

/// The verdict of a gate with one probe, and its judgement.
fn gated(project: &Project) -> Value {
    let _ = std::fs::remove_file(project.path("calls"));
    let said = project.kelvin(&["gate", "--no-rerun", "--probe", "retrieval"]);
    verdict(project, &said)
}

#[test]
fn a_gate_with_one_probe_runs_no_other_on_the_base_either() {
    let (_remote, url) = bare();
    let project = project(&url);
    with_queries(&project);
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "worse", &counted(&project, "case", GROUNDED));
    let silent = counted(&project, "query", "printf '{\"hits\":[]}' > \"$2\"\n");
    project.write("ask.sh", &silent);
    commit(&project, "finds nothing");

    let judgement = gated(&project);
    assert_eq!(judgement["base"]["source"], json!("compute"));
    assert_eq!(judgement["verdict"], json!("regression"), "{judgement}");
    assert_eq!(judgement["base_invocations"], json!(12));
    assert_eq!((calls(&project, "case"), calls(&project, "query")), (0, 24));

    // Without the name every probe is run on both sides.
    let _ = std::fs::remove_file(project.path("calls"));
    project.kelvin(&["gate", "--no-rerun"]).expect(3);
    assert_eq!(calls(&project, "query"), 24);
    assert!(calls(&project, "case") > 0);
}

#[test]
fn a_base_that_did_not_have_the_probe_yet_runs_nothing_and_is_no_error() {
    let (_remote, url) = bare();
    let project = project(&url);
    commit(&project, "cases alone");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    git(project.root(), &["checkout", "--quiet", "-b", "queries"]);
    with_queries(&project);

    let judgement = gated(&project);
    assert_eq!(judgement["base"]["source"], json!("compute"), "{judgement}");
    assert_eq!(judgement["base_invocations"], json!(0));
    let metrics = judgement["metrics"].as_object().expect("a map");
    let words = metrics.values().map(|metric| &metric["verdict"]);
    assert!(!metrics.is_empty());
    assert!(
        words.clone().all(|word| word != &json!("pass")),
        "{judgement}"
    );
    assert_eq!((calls(&project, "case"), calls(&project, "query")), (0, 12));

    // A head without it is still refused: nothing would be measured.
    project.kelvin(&["gate", "--probe", "grading"]).expect(1);
}

#[test]
fn one_probe_is_judged_against_a_baseline_that_has_others_too() {
    let (_remote, url) = bare();
    let project = project(&url);
    with_queries(&project);
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    // What the other probe would find is not asked for.
    branch(&project, "worse", CONSTANT);

    let judgement = gated(&project);
    assert_eq!(judgement["base"]["source"], json!("branch"), "{judgement}");
    assert_eq!(judgement["verdict"], json!("pass"), "{judgement}");
    let metrics = judgement["metrics"].as_object().expect("a map");
    let ids: Vec<&String> = metrics.keys().collect();
    assert!(!ids.is_empty());
    assert!(ids.iter().all(|id| id.starts_with("retrieval.")), "{ids:?}");
    let mut told = judgement["difference_codes"]
        .as_array()
        .expect("a list")
        .iter();
    let left_out = told.find(|told| told["code"] == json!("left_out"));
    assert_eq!(left_out.expect("it is told")["probes"], json!(["evidence"]));
    assert_eq!(judgement["reasons"][0]["code"], json!("left_out"));
    let heading: String = project.read("kelvin/gate.md").lines().take(3).collect();
    insta::assert_snapshot!(heading, @"### ✅ Kelvin: pass**The base has also run `evidence`, which was not asked for here and is not judged**");
    let reasons = judgement["reasons"].to_string();
    assert!(!reasons.contains("evidence."), "{reasons}");

    // The search fails, and that is a regression of the probe that was asked for.
    project.write("ask.sh", "printf '{\"hits\":[]}' > \"$2\"\n");
    commit(&project, "finds nothing");
    let judgement = gated(&project);
    assert_eq!(judgement["base"]["source"], json!("branch"), "{judgement}");
    assert_eq!(judgement["verdict"], json!("regression"), "{judgement}");
    let reasons = judgement["reasons"].to_string();
    assert!(
        reasons.contains("retrieval.") && !reasons.contains("evidence."),
        "{reasons}"
    );
}

#[test]
fn a_probe_that_gets_no_answer_takes_nothing_from_the_result_of_another() {
    let (_remote, url) = bare();
    let project = project(&url);
    with_queries(&project);
    project.write("ask.sh", "exit 1\n");
    let said = project.kelvin(&["check", "--no-history"]).expect(2);
    assert!(is_calm(&said.stdout), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&said.stdout, &["12 of 12"]), @"~ 12 of 12 queries failed, and count 0 in the ranking measures: q0, q1, q10, q1…");
    // Where no case has an answer either, it is said.
    project.write("pipeline.sh", "exit 1\n");
    let said = project.kelvin(&["check", "--no-history"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"
    ! Every baseline invocation failed: nothing was measured
    ! 12 of 12 queries did not do as they should: `q0`, `q1`, `q10` and 9 more; the
    ");
}
