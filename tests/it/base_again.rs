//! The commit that a change is compared with, measured by the gate itself: its code is known there, what
//! was answered for it before is used again, and what decides a drop is asked of it anew.

use std::fs;

use serde_json::json;

use crate::project::{GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, pushed, verdict};

/// An agent that writes down that it was called, in a file that every checkout shares.
fn agent(log: &str) -> String {
    format!("echo \"$KELVIN_SCENARIO $MADE\" >> '{log}'\necho x > made.txt\n")
}

/// A project of four scenarios, each run once, whose base can be measured.
fn project() -> (tempfile::TempDir, Project, std::path::PathBuf) {
    let (remote, url) = bare();
    let project = Project::new("");
    let log = remote.path().join("calls.log");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..4 {
        project.write(&format!("cases/s{at:02}.md"), &format!("Give room {at}.\n"));
    }
    project.write("pipeline.sh", &agent(&log.display().to_string()));
    project.write(".gitignore", "/kelvin/\n/.kelvin/\n");
    project.write(
        "kelvin.yaml",
        "run: MADE=base sh {root}/pipeline.sh {input}\ncases: cases\ncache: true\nbaseline: {compute: true}\n\
         invariants:\n  made: {description: It is made, check: {type: file_exists, path: made.txt}}\n\
         scoring: {replicas: 1}\n",
    );
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    (remote, project, log)
}

fn calls(log: &std::path::Path) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    fs::remove_file(log).ok();
    text.lines().count()
}

#[test]
fn of_a_base_that_is_measured_here_it_is_known_whether_the_pipeline_changed() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("baseline: {compute: true}\n");
    commit(&project, "compute");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "same", GROUNDED);
    let told = |project: &Project| {
        let said = project.kelvin(&["gate"]).expect(0);
        let judgement = verdict(project, &said);
        assert_eq!(judgement["base"]["source"], json!("compute"));
        judgement["differences"].to_string()
    };
    assert_eq!(told(&project), "[]");
    project.write("pipeline.sh", &format!("{GROUNDED}\n# another text\n"));
    commit(&project, "another text");
    insta::assert_snapshot!(told(&project), @r#"["the pipeline changed"]"#);
}

#[test]
fn a_base_that_was_measured_before_is_answered_by_the_cache_and_asked_anew_before_it_is_held_against_a_change()
 {
    let (_remote, project, log) = project();
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    let text = project.read("pipeline.sh");
    project.write("pipeline.sh", &format!("{text}\n# the same\n"));
    commit(&project, "the same");
    let judged = |code| {
        let said = project.kelvin(&["gate"]).expect(code);
        verdict(&project, &said)
    };
    judged(0);
    assert_eq!(calls(&log), 8, "four scenarios on each side");
    let judgement = judged(0);
    assert_eq!(calls(&log), 0, "both sides are known");
    assert_eq!(judgement["base_invocations"], 0);

    let broken = "case $KELVIN_SCENARIO in s02) rm made.txt;; esac";
    project.write("pipeline.sh", &format!("{text}\n{broken}\n"));
    commit(&project, "worse");
    let judgement = judged(3);
    assert_eq!(judgement["verdict"], "regression");
    // Four of the head, two more of each unstable one on the head, and then three of the base, none of
    // them from the cache: with one cell each, every scenario counts as unstable.
    assert_eq!(calls(&log), 4 + 4 * 2 + 4 * 3);
    assert!(judgement["reruns"].as_u64() == Some(8), "{judgement}");
    assert_eq!(judgement["base_reruns"], 12, "{judgement}");
}

#[test]
fn what_got_worse_on_both_sides_since_the_base_was_measured_is_not_blamed_on_the_change() {
    let (_remote, project, log) = project();
    // The answers depend on something that no cache knows, as those of a model do.
    let day = log.with_file_name("day");
    let text = project.read("pipeline.sh");
    let worse = format!(
        "[ -e '{}' ] && case $KELVIN_SCENARIO in s02) rm made.txt;; esac",
        day.display()
    );
    project.write("pipeline.sh", &format!("{text}{worse}\ntrue\n"));
    commit(&project, "depends on the day");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("note.txt", "x");
    commit(&project, "a note");
    project.kelvin(&["gate"]).expect(0);
    fs::write(&day, "").expect("written");
    project.write("note.txt", "y");
    commit(&project, "another note");
    calls(&log);
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(&project, &said);
    assert_eq!(said.code, Some(0), "{}", judgement["reasons"]);
    assert!(calls(&log) > 4, "the base was asked anew");
}

#[test]
fn whoever_wants_no_cache_gets_none_on_the_base_either() {
    let (_remote, project, log) = project();
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("note.txt", "x");
    commit(&project, "a note");
    project.kelvin(&["gate"]).expect(0);
    calls(&log);
    project.kelvin(&["gate", "--no-cache"]).expect(0);
    assert_eq!(calls(&log), 8);
}

#[test]
fn a_scenario_that_the_change_edits_is_asked_of_the_base_too() {
    let (_remote, project, log) = project();
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    let text = project.read("pipeline.sh");
    for at in 0..4 {
        project.write(
            &format!("cases/s{at:02}.md"),
            &format!("Give room {at}, please.\n"),
        );
    }
    project.write("pipeline.sh", &format!("{text}\n# the same\n"));
    commit(&project, "politer");
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    // Four of the head, four of the base as it was, four of the base as the change has them, and four of the head as they
    // were on the base.
    assert_eq!(calls(&log), 16);
    assert_eq!(judgement["base_reruns"], 4, "{judgement}");
    let broken = "case $KELVIN_SCENARIO in s02) rm made.txt;; esac";
    project.write("pipeline.sh", &format!("{text}\n{broken}\n"));
    commit(&project, "politer and worse");
    let said = project.kelvin(&["gate"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    assert_eq!(judgement["turnover"]["checks"]["edited"], 4, "{judgement}");
}
