//! Where `kelvin baseline save` keeps a report, and how commands that measure nothing end.

use kelvin_fixtures::text::redacted;
use std::fs;

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

#[test]
fn a_save_says_where_it_writes_and_what_is_there_before_it_writes() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.check();
    let said = project.kelvin(&["baseline", "save"]).expect(0);
    let head = git(project.root(), &["rev-parse", "--short=7", "HEAD"]);
    for words in [
        format!("saving the report of {head} as `kelvin`"),
        format!("on the branch `kelvin-reports` of the remote `origin` ({url})"),
        "which has no report yet".to_owned(),
    ] {
        assert!(said.stdout.contains(&words), "{words}: {}", said.stdout);
    }
    commit(&project, "more");
    project.check();
    let said = project.kelvin(&["baseline", "save"]).expect(0);
    assert!(
        said.stdout.contains("which has 1 report of it,")
            || said.stdout.contains("1 report of it\n")
    );
    // A push that fails comes after the words, and is no measurement that was impossible.
    commit(&project, "again");
    project.check();
    git(
        project.root(),
        &["remote", "set-url", "origin", "http://127.0.0.1:9/widgets"],
    );
    let said = project.kelvin(&["baseline", "save"]).expect(1);
    assert!(
        said.stdout.contains("(http://127.0.0.1:9/widgets)"),
        "{}",
        said.stdout
    );
    insta::assert_snapshot!(redacted(&said.stdout), @"saving the report of [HASH] as `kelvin` on the branch `kelvin-reports` of the remote `origin` (http://127.0.0.1:[PORT]/widgets), which has 2 reports of it");
}

#[test]
fn an_output_folder_never_comes_into_a_commit_by_itself() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    fs::remove_file(project.path(".gitignore")).expect("removed");
    commit(&project, "without");
    project.check();
    // All that is there, as somebody does who has just tried kelvin.
    commit(&project, "all");
    assert_eq!(git(project.root(), &["ls-files", "kelvin"]), "");
    project.check();
    project.kelvin(&["baseline", "save", "--local"]).expect(0);
    // Who wants the reports in the repository takes the file away, and it stays away.
    fs::remove_file(project.path("kelvin/.gitignore")).expect("removed");
    project.check();
    let status = git(project.root(), &["status", "--porcelain"]);
    assert_eq!(status, "?? kelvin/");
}

#[test]
fn a_report_that_is_kept_in_this_clone_alone_is_that_of_its_revision() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.check();
    let none = project.kelvin(&["compare", "rev:main", "latest"]).expect(1);
    insta::assert_snapshot!(none.stderr, @"
    error: the revision `main` has no report: tree: it has no `.kelvin/baseline.json`; branch: the branch `kelvin-reports` has no report of `kelvin` for this commit (`git fetch --no-tags --quiet --end-of-options origin +refs/heads/kelvin-reports:refs/remotes/origin/kelvin-reports` failed: fatal: couldn't find remote ref refs/heads/kelvin-reports)
      help: `kelvin baseline save` keeps one for each commit that it runs on
    ");
    project.kelvin(&["baseline", "save", "--local"]).expect(0);
    branch(&project, "worse", CONSTANT);
    project.check();
    let said = project.kelvin(&["compare", "rev:main", "latest", "--format", "json"]);
    let judgement: serde_json::Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    assert_eq!(judgement["base"]["source"], "branch");
    assert_eq!(judgement["base"]["place"], "kelvin-reports of this clone");
    let sensitivity = &judgement["metrics"]["evidence.sensitivity"];
    assert_eq!(
        (&sensitivity["base"], &sensitivity["head"]),
        (&1.0.into(), &0.0.into())
    );
}

#[test]
fn a_report_that_was_measured_with_another_configuration_is_refused() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    let beside = fs::read_to_string(project.path("kelvin.yaml")).expect("read");
    let beside = beside.replace("pipeline.sh", "constant.sh");
    project.write("constant.sh", CONSTANT);
    // It differs in its command alone, which no digest of the settings tells.
    project.write("other.yaml", &beside);
    project.write("seeded.yaml", &format!("{beside}seed: 7\n"));
    commit(&project, "two more");
    project.check();
    for other in ["other.yaml", "seeded.yaml"] {
        let arguments = ["baseline", "save", "--local", "--config", other];
        let said = project.kelvin(&arguments).expect(1);
        for words in [
            "`kelvin.yaml`".to_owned(),
            format!("`{other}`"),
            format!("`kelvin check --config {other}`"),
        ] {
            assert!(said.stderr.contains(&words), "{words}: {}", said.stderr);
        }
        // Another name is no way round it.
        let named = [&arguments[..], &["--name", "kelvin"]].concat();
        project.kelvin(&named).expect(1);
    }
    // What is advised helps, and the same file by another path is the same file.
    project
        .kelvin(&["check", "--config", "other.yaml"])
        .expect(0);
    let path = project.path("other.yaml").display().to_string();
    project
        .kelvin(&["baseline", "save", "--local", "--config", &path])
        .expect(0);
    let said = project.kelvin(&["baseline", "save", "--local"]).expect(1);
    assert!(said.stderr.contains("`other.yaml`"), "{}", said.stderr);
    // A report of an older kelvin names none, and its settings tell.
    project
        .kelvin(&["check", "--config", "seeded.yaml", "--seed", "0"])
        .expect(0);
    let mut older = project.json("kelvin/report.json");
    older["run"]["session"]["configuration"].take();
    project.write("older.json", &older.to_string());
    let report = [
        "baseline",
        "save",
        "--local",
        "--allow-dirty",
        "--report",
        "older.json",
    ];
    project.kelvin(&report).expect(0);
    older["run"]["fingerprints"]["config"] = json!("0".repeat(64));
    project.write("older.json", &older.to_string());
    let said = project.kelvin(&report).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the report was measured with other settings than those of `kelvin.yaml`
      help: run `kelvin check --config kelvin.yaml`, then save
    ");
}

#[test]
fn a_report_that_is_saved_locally_is_found_by_the_gate_and_never_pushed() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    git(project.root(), &["remote", "remove", "origin"]);
    project.check();
    let said = project.kelvin(&["baseline", "save"]).expect(1);
    assert!(said.stderr.contains("--local"), "{}", said.stderr);
    let said = project.kelvin(&["baseline", "save", "--local"]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"
    saving the report of [HASH] as `kelvin` in this clone alone, under `refs/kelvin/kelvin-reports`, which has no report yet
    saved
    next, on a branch with a change: kelvin gate
    ");
    branch(&project, "worse", CONSTANT);
    let said = project.kelvin(&["gate", "--rerun"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"));
    assert_eq!(
        judgement["base"]["place"],
        json!("kelvin-reports of this clone")
    );
    // Neither a push of all branches nor a fetch touches it, and it serves without the server.
    git(project.root(), &["remote", "add", "origin", &url]);
    git(project.root(), &["push", "--quiet", "--all", "origin"]);
    git(project.root(), &["fetch", "--quiet", "--prune", "origin"]);
    assert!(!git(project.root(), &["ls-remote", "origin"]).contains("kelvin"));
    git(
        project.root(),
        &["remote", "set-url", "origin", "http://127.0.0.1:9/widgets"],
    );
    let said = project.kelvin(&["gate", "--rerun"]).expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn what_a_change_keeps_in_the_clone_of_a_workflow_is_no_baseline() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    let base = git(project.root(), &["rev-parse", "HEAD"]);
    // The base, measured with the pipeline of the change, kept for the commit of the base.
    project.write("pipeline.sh", CONSTANT);
    project.check();
    let forged = ["baseline", "save", "--local", "--allow-dirty"];
    project.kelvin(&forged).expect(0);
    git(project.root(), &["checkout", "--quiet", "."]);
    branch(&project, "worse", CONSTANT);
    let event = project.path("../event.json");
    let head = git(project.root(), &["rev-parse", "HEAD"]);
    fs::write(
        &event,
        json!({ "merge_group": { "base_sha": base, "head_sha": head } }).to_string(),
    )
    .expect("written");
    let event = event.display().to_string();
    let arguments = [
        "gate",
        "--rerun",
        "--event",
        &event,
        "--event-name",
        "merge_group",
    ];
    let said = project.kelvin(&arguments).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base"]["place"], json!("kelvin-reports"));
    assert_eq!(judgement["verdict"], json!("regression"));
}

#[test]
fn a_command_that_measures_nothing_never_ends_as_if_nothing_could_be_measured() {
    let project = Project::new(GROUNDED);
    project.write("broken.json", "{");
    let failing: [&[&str]; 12] = [
        &["baseline", "save"],
        &["baseline", "save", "--report", "broken.json"],
        &["baseline", "save", "--config", "nowhere.yaml"],
        &["compare", "broken.json", "broken.json"],
        &["compare", "nowhere", "broken.json"],
        &["merge", "nowhere"],
        &["merge", "broken.json"],
        &["rescore", "figures", "nowhere"],
        &["post"],
        &["post", "--run-id", "7"],
        &["gate", "--report", "broken.json"],
        &["gate", "--event", "broken.json", "--event-name", "push"],
    ];
    for arguments in failing {
        let said = project.kelvin(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}: {}", said.stderr);
        assert!(
            said.stderr.contains("error"),
            "{arguments:?}: {}",
            said.stderr
        );
    }
    project.check();
    // No repository, no commit, no remote.
    project.kelvin(&["baseline", "save"]).expect(1);
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    project.kelvin(&["baseline", "save"]).expect(1);
    commit(&project, "first");
    project.check();
    project.kelvin(&["baseline", "save"]).expect(1);
    for file in ["broken.json", "nowhere.json"] {
        project.kelvin(&["gate", "--baseline", file]).expect(1);
    }
    // What truly could not be measured is told apart.
    project.write("pipeline.sh", "exit 1");
    for command in ["check", "gate"] {
        project.kelvin(&[command]).expect(2);
    }
}
