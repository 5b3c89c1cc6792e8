use serde_json::{Value, json};

use super::{GOOD, configure, project};
use crate::project::Project;
use crate::repository::{bare, commit, git, publish, save, verdict};

/// A repository whose base is saved.
pub(super) fn saved(url: &str, project: &Project) {
    project.write(".gitignore", "/kelvin/\n/calls\n/asked\n/.kelvin/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    git(project.root(), &["remote", "add", "origin", url]);
    commit(project, "base");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(project);
}

pub(super) fn branch(project: &Project, name: &str, script: &str) {
    git(project.root(), &["checkout", "--quiet", "main"]);
    git(project.root(), &["checkout", "--quiet", "-b", name]);
    project.write("answer.sh", script);
    commit(project, name);
}

#[test]
fn a_planted_drop_is_a_regression_of_the_score_and_an_unchanged_candidate_passes() {
    let (_remote, url) = bare();
    let project = project(14);
    saved(&url, &project);
    branch(&project, "same", &format!("# the same\n{GOOD}"));
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(
        (&judgement["verdict"], &judgement["reruns"]),
        (&json!("pass"), &json!(0)),
        "{}",
        said.stdout
    );
    branch(
        &project,
        "worse",
        "case $(cat \"$1\") in *word-[0-4]) echo '<b>what?</b>' > \"$2\";; *) sed 's/.*: //' \"$1\" > \"$2\";; esac\n",
    );
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    let metric = &judgement["metrics"]["grading.judge_score"];
    assert_eq!(metric["verdict"], json!("regression"), "{}", said.stdout);
    assert_eq!(metric["base"], json!(1.0));
    let head = metric["head"].as_f64().expect("measured");
    assert!((head - 9.0 / 14.0).abs() < 1e-9, "{head}");
    // Each prompt that got worse is named, and the answers of both sides stand beside each other.
    let comment = project.read("kelvin/gate.md");
    for part in ["grading.judge_score", "p00", "p04", "word-0", "what?"] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    assert!(!comment.contains("<b>what"), "{comment}");
    let sample =
        &project.json("kelvin/report.json")["probes"]["grading"]["items"]["p00"]["samples"][0];
    assert_eq!(sample["base_repeat"], json!(1));
    assert_eq!(sample["baseline"]["answer"]["text"], json!("word-0"));
    // Five of fourteen lost against their answer of the base, and the others are ties. Prompts that were run again
    // have several samples.
    let report = project.json("kelvin/report.json");
    let cases = &report["metrics"]["grading.win_rate"]["per_case"];
    assert_eq!(
        (&cases["p00"]["value"], &cases["p09"]["value"]),
        (&json!(0.0), &json!(0.5))
    );
    let page = project.read("kelvin/report.html");
    assert!(page.contains("The base answered (repeat 1):"), "{page}");
}

#[test]
fn a_candidate_that_no_longer_answers_does_not_pass() {
    let (_remote, url) = bare();
    let project = project(14);
    saved(&url, &project);
    branch(
        &project,
        "silent",
        "case $(cat \"$1\") in *word-[0-9]) ;; *) sed 's/.*: //' \"$1\" > \"$2\";; esac\n",
    );
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(
        judgement["metrics"]["grading.judge_score"]["verdict"],
        json!("unmeasured")
    );
    assert_eq!(
        judgement["metrics"]["grading.failure_rate"]["verdict"],
        json!("regression")
    );
}

#[test]
fn without_a_report_of_the_base_the_gate_says_so() {
    let (_remote, url) = bare();
    let project = project(2);
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n");
    publish(&project, &url);
    let said = project.kelvin(&["gate"]);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
    configure(&project, "baseline: {require: true}\n");
    let said = project.kelvin(&["gate"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
}

#[test]
fn a_new_prompt_and_an_edited_one_are_not_compared() {
    let (_remote, url) = bare();
    let project = project(14);
    saved(&url, &project);
    branch(&project, "edited", GOOD);
    let prompts = project
        .read("prompts.jsonl")
        .replace("Say the word: word-1\"", "Please say: word-1\"");
    let new = "{\"id\": \"new\", \"prompt\": \"Say the word: x\", \"reference\": \"x\"}\n";
    project.write("prompts.jsonl", &(prompts + new));
    commit(&project, "prompts");
    let said = project.kelvin(&["gate"]).expect(0);
    verdict(&project, &said);
    let report = project.json("kelvin/report.json");
    let samples = |id: &str| report["probes"]["grading"]["items"][id]["samples"][0].clone();
    // Their answers are graded all the same, and stand next to nothing.
    for id in ["new", "p01"] {
        assert_eq!(samples(id)["baseline"], Value::Null, "{id}");
        assert_eq!(samples(id)["grade"]["score"], json!(1.0), "{id}");
    }
    assert_eq!(
        samples("p02")["baseline"]["answer"]["text"],
        json!("word-2")
    );
}
