//! Changes that edit what is measured: they are measured as the base does, too.

use serde_json::{Value, json};

use crate::project::{GROUNDED, Project, counting};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

fn first(judgement: &Value) -> (&str, &str) {
    let first = &judgement["reasons"][0];
    let text = first["text"].as_str().expect("a text");
    (first["code"].as_str().expect("a code"), text)
}

fn project(url: &str, more: &str) -> Project {
    let project = pushed(url, GROUNDED);
    project.config(more);
    commit(&project, "settings");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    project
}

#[test]
fn an_honest_edit_of_what_is_measured_passes_by_both() {
    let (_remote, url) = bare();
    let project = project(&url, "");
    for (at, settings) in [
        "seed: 11\n",
        "variants: {reorder: 3, pad_length: 1, pad_content: 1}\n",
        "variants: {reorder: 1, pad_length: 1, pad_content: 1, swap: 5}\n",
    ]
    .into_iter()
    .enumerate()
    {
        git(project.root(), &["checkout", "--quiet", "--force", "main"]);
        branch(
            &project,
            &format!("edit-{at}"),
            &format!("# same\n{GROUNDED}"),
        );
        project.config(settings);
        commit(&project, settings);
        let said = project.kelvin(&["gate"]).expect(0);
        let judgement = verdict(&project, &said);
        assert_eq!(
            judgement["verdict"],
            json!("pass"),
            "{settings}: {}",
            said.stdout
        );
        let reasons = judgement["reasons"].as_array().expect("a list");
        let mut told = reasons.iter();
        let told = told.find(|reason| reason["code"] == json!("measured_as_base"));
        let told = told.unwrap_or_else(|| panic!("{settings}: {}", said.stdout));
        assert_eq!(told["effect"], Value::Null, "{settings}");
        assert!(
            judgement["reruns"].as_u64() >= Some(28),
            "{settings}: {judgement}"
        );
    }
    // More runs of the same mean nothing else.
    git(project.root(), &["checkout", "--quiet", "--force", "main"]);
    branch(&project, "repeats", &format!("# same\n{GROUNDED}"));
    project.config("repeats: 2\n");
    commit(&project, "repeats");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["reruns"], json!(0), "{}", said.stdout);
}

#[test]
fn a_budget_that_does_not_reach_for_it_leaves_the_verdict_open() {
    let (_remote, url) = bare();
    let project = project(&url, "");
    branch(&project, "seed", &counting(GROUNDED));
    project.config("seed: 11\n");
    commit(&project, "another seed");
    let said = project.kelvin(&["gate", "--budget", "3"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(
        judgement["verdict"],
        json!("inconclusive"),
        "{}",
        said.stdout
    );
    let (code, text) = first(&judgement);
    assert_eq!(code, "measured_as_base");
    insta::assert_snapshot!(text, @"this change edits what is measured, and was not measured by what the base has: it takes 28 calls, and the budget has 3");
}
