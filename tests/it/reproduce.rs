use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, branch, commit, git, verdict};

/// A repository whose configuration lies in a folder with a space, repeats each case three times,
/// and has a seed of its own; its base is saved on the branch of reports.
fn saved(url: &str, more: &str) -> Project {
    let project = Project::in_folder("the project", GROUNDED);
    project.config(&format!("repeats: 3\nseed: 11\n{more}"));
    project.write(".gitignore", "kelvin/\n");
    let top = project.root().parent().expect("a folder").to_path_buf();
    git(&top, &["init", "--quiet", "--initial-branch=main"]);
    git(&top, &["remote", "add", "origin", url]);
    commit(&project, "base");
    git(&top, &["push", "--quiet", "origin", "main"]);
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    project
}

/// The command of a page in Markdown, and that of the terminal; they have to be the same.
fn shown(project: &Project, stdout: &str) -> String {
    let page = project.read("kelvin/gate.md");
    let line = page
        .lines()
        .find(|line| line.starts_with("Reproduce"))
        .unwrap_or_else(|| panic!("{page}"));
    let (_, command) = line.rsplit_once(": `").expect("a command at the end");
    let command = command.trim_end_matches('`').to_owned();
    let on_terminal = stdout
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("kelvin gate"));
    assert_eq!(on_terminal, Some(command.as_str()), "{stdout}");
    command
}

/// Clones the head and runs the command there, as it was printed.
fn again(project: &Project, url: &str, head: &str, command: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let clone = folder.path().join("clone");
    git(
        folder.path(),
        &["clone", "--quiet", "--branch", head, url, "clone"],
    );
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_kelvin"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().expect("a folder").display());
    let prepared = project.command(&[]);
    let mut run = Command::new("sh");
    run.args(["-c", command]).current_dir(&clone);
    for (name, value) in prepared.get_envs() {
        match value {
            Some(value) => run.env(name, value),
            None => run.env_remove(name),
        };
    }
    let output = run.env("PATH", path).output().expect("sh starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let judged = fs::read(clone.join("the project/kelvin/gate.json"))
        .unwrap_or_else(|error| panic!("{command}: {error}: {said}"));
    (
        output.status.code(),
        serde_json::from_slice(&judged).expect("JSON"),
    )
}

/// What became of a case, metric by metric.
fn of_case(judgement: &Value, case: &str) -> Vec<Value> {
    let changes = judgement["cases"].as_array().expect("a list").iter();
    let mut of_case: Vec<Value> = changes
        .filter(|change| change["case"] == json!(case))
        .cloned()
        .collect();
    of_case.sort_by_key(|change| change["metric"].to_string());
    of_case
}

/// Judges a head, runs the printed command in a clone, and compares what both say of the case.
fn reproduces(project: &Project, url: &str, head: &str, options: &[&str]) -> String {
    git(
        project.root(),
        &["push", "--quiet", "--force", "origin", head],
    );
    let said = project.kelvin(&[&["gate"], options].concat()).expect(3);
    let judgement = verdict(project, &said);
    let command = shown(project, &said.stdout);
    let case = judgement["cases"][0]["case"].as_str().expect("a case");
    assert!(command.contains(&format!("--only={case}")), "{command}");
    let (code, repeated) = again(project, url, head, &command);
    assert_eq!(code, Some(3), "{command}: {repeated}");
    assert_eq!(repeated["verdict"], judgement["verdict"], "{command}");
    assert_eq!(
        of_case(&repeated, case),
        of_case(&judgement, case),
        "{command}"
    );
    command
}

#[test]
fn the_command_gives_the_same_verdict_on_its_case_in_a_clean_clone() {
    let (_remote, url) = bare();
    let project = saved(&url, "");
    branch(&project, "worse", CONSTANT);
    let command = reproduces(&project, &url, "worse", &[]);
    assert!(
        command.contains("--config 'the project/kelvin.yaml'"),
        "{command}"
    );
    assert!(
        command.contains("--seed 11") && command.ends_with("--rerun --only=alder"),
        "{command}"
    );
    // What the command line changed belongs to it.
    let options = ["--no-rerun", "--max-drop", "0.2", "--seed", "12"];
    let base = git(project.root(), &["rev-parse", "main"]);
    let command = reproduces(&project, &url, "worse", &options[..3]);
    assert!(
        command.contains("--max-drop 0.2") && command.contains("--no-rerun"),
        "{command}"
    );
    assert!(
        command.contains(&format!("--baseline branch --base {base}")),
        "{command}"
    );
}

#[test]
fn a_committed_report_and_a_file_that_was_named_are_found_by_the_command_too() {
    let (_remote, url) = bare();
    let project = saved(&url, "");
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    commit(&project, "report");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "worse", CONSTANT);
    let command = reproduces(&project, &url, "worse", &[]);
    assert!(command.contains("--baseline tree --base "), "{command}");
    let command = reproduces(
        &project,
        &url,
        "worse",
        &["--baseline", ".kelvin/baseline.json"],
    );
    assert!(
        command.contains("--baseline .kelvin/baseline.json --seed"),
        "{command}"
    );
    insta::assert_snapshot!(redacted(&lines_with(&project.read("kelvin/gate.md"), &["`.kelvin/baseline.json`"])), @"Reproduce, in the root of a clone, at commit `[HASH]`; `.kelvin/baseline.json` is the file that the gate was given, relative to the configuration: `kelvin gate --config 'the project/kelvin.yaml' --baseline .kelvin/baseline.json --seed 11 --rerun --only=alder`");
}

#[test]
fn a_name_that_a_shell_would_read_otherwise_is_quoted() {
    let (_remote, url) = bare();
    let project = saved(&url, "");
    let odd = "cases/it's $(touch forged) `alder`.md";
    fs::rename(project.path("cases/alder.md"), project.path(odd)).expect("renamed");
    commit(&project, "renamed");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    branch(&project, "worse", CONSTANT);
    git(project.root(), &["push", "--quiet", "origin", "worse"]);
    project
        .kelvin(&["gate", "--only=it's $(touch forged) `alder`"])
        .expect(3);
    let page = project.read("kelvin/gate.md");
    let line = page
        .lines()
        .find(|line| line.starts_with("Reproduce"))
        .expect("a line");
    let (_, rest) = line
        .split_once(": ``")
        .expect("a fence that the name does not end");
    let command = rest.trim_end_matches('`').trim();
    let (code, repeated) = again(&project, &url, "worse", command);
    assert_eq!(
        (code, &repeated["verdict"]),
        (Some(3), &json!("regression")),
        "{command}"
    );
}
