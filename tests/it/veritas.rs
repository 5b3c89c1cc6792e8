use kelvin_fixtures::text::{lines_with, redacted};
use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crate::project::{CONSTANT, GROUNDED, Project, counting};
use crate::repository::{bare, branch, pushed, save};

/// A repository with a baseline, and a branch whose pipeline is this script.
fn project(script: &str) -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "feature", script);
    (remote, project)
}

/// What is in the folder of the project, and in the one around it.
fn names(project: &Project) -> BTreeSet<String> {
    let folders = [project.root().to_path_buf(), project.path("..")];
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("listed"));
    let names = entries.map(|entry| entry.expect("listed").path().display().to_string());
    names.collect()
}

#[test]
fn a_dry_run_makes_three_live_runs_says_the_verdict_and_leaves_nothing() {
    let (_remote, project) = project(&counting(CONSTANT));
    fs::remove_dir_all(project.path("kelvin")).expect("removed");
    let before = names(&project);
    let said = project.kelvin(&["gate", "veritas", "--dry-run"]).expect(3);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["regression", "kept"])), @"
    Gate         regression, 4 of 4 cases are answered otherwise
      evidence.following.rule        1.0000 to 0.0000, -1.0000 (regression)
    A dry run: nothing of it was kept, and nobody was asked to decide.
    ");
    let calls = project.calls();
    fs::remove_file(project.path("calls")).expect("removed");
    assert_eq!(names(&project), before, "it left something");
    // 7 inputs a case, four cases, three times each; what is run again comes on top.
    assert!(calls >= 3 * 28, "{calls}");
}

#[test]
fn without_dry_run_the_report_and_the_history_are_kept() {
    let (_remote, project) = project(GROUNDED);
    let runs = || {
        project
            .kelvin(&["history"])
            .expect(0)
            .stdout
            .lines()
            .count()
    };
    let before = runs();
    project.kelvin(&["gate", "veritas"]).expect(0);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["repeats"], 3);
    assert_eq!(report["run"]["session"]["cost"]["cache_hits"], 0);
    assert_eq!(runs(), before + 1);
}

#[test]
fn as_many_live_runs_are_made_as_the_quality_score_asks_for() {
    let (_remote, project) = project(GROUNDED);
    project.config("quality: {contract: {decision: string}, live_runs: 2}\n");
    project.kelvin(&["gate", "veritas"]);
    assert_eq!(project.json("kelvin/report.json")["run"]["repeats"], 2);
    let score =
        || project.json("kelvin/report.json")["metrics"]["quality.quality_score"]["value"].clone();
    assert_eq!(score(), 1.0);
    project.kelvin(&["gate", "veritas", "--live-runs", "1"]);
    assert_eq!(project.json("kelvin/report.json")["run"]["repeats"], 1);
    assert!(score().is_null(), "one run is fewer than two");
}
