mod github;

use kelvin_fixtures::text::lines_with;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{CONSTANT, Project, Said};
use crate::repository;

/// What the doctor finds of one subject.
fn finding(said: &Said, subject: &str) -> Value {
    let diagnosis: Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    let findings = diagnosis["findings"].as_array().expect("a list");
    let missing = findings.iter().any(|one| one["status"] == "missing");
    // The word, the exit code and the findings always agree.
    assert_eq!(diagnosis["ready"], json!(!missing));
    assert_eq!(said.code, Some(i32::from(missing)), "{}", said.stdout);
    findings
        .iter()
        .find(|one| one["subject"] == subject)
        .unwrap_or_else(|| panic!("nothing about `{subject}`: {}", said.stdout))
        .clone()
}

fn asked(project: &Project, variables: &[(&str, &str)]) -> Said {
    let output = project
        .command(&["doctor", "--format", "json"])
        .envs(variables.iter().copied())
        .output()
        .expect("the binary starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

#[track_caller]
fn expect(finding: &Value, status: &str, words: &[&str]) {
    assert_eq!(finding["status"], status, "{finding}");
    let all = finding.to_string();
    for word in words {
        assert!(all.contains(word), "`{word}` is not in {all}");
    }
}

#[test]
fn where_nothing_is_missing_every_line_says_so_and_nothing_is_run() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, &crate::project::counting(CONSTANT));
    repository::save(&project);
    let calls = project.calls();
    fs::remove_dir_all(project.path("kelvin")).expect("removed");
    let said = project.kelvin(&["doctor"]).expect(0);
    for subject in [
        "event", "token", "config", "cases", "command", "out", "checkout", "base", "baseline",
    ] {
        let line = said
            .stdout
            .lines()
            .find(|line| line[9..].starts_with(subject));
        let line = line.unwrap_or_else(|| panic!("no line for {subject}: {}", said.stdout));
        assert!(line.starts_with("ok "), "{line}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/troubleshooting.md");
    let page = fs::read_to_string(page).expect("read");
    let (_, page) = page
        .split_once("\n## `kelvin doctor`\n")
        .expect("the section");
    for line in said.stdout.lines().take_while(|line| !line.is_empty()) {
        let subject = line[9..].split(' ').next().expect("a word");
        assert!(page.contains(&format!("| `{subject}` |")), "{subject}");
    }
    assert_eq!(said.next(), "kelvin check");
    insta::assert_snapshot!(lines_with(&said.stdout, &["20 units"]), @"ok       cases        4 cases with 20 units");
    assert!(said.stdout.contains("kelvin-reports"), "{}", said.stdout);
    assert_eq!(project.calls(), calls);
    assert!(!project.path("kelvin").exists(), "nothing is left behind");
}

#[test]
fn a_misspelt_key_is_shown_with_every_other_problem_and_the_repository_is_looked_at() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    project.config("repeat: 3\nscorer: exactly\n");
    let said = asked(&project, &[]);
    let config = finding(&said, "config");
    expect(&config, "missing", &["repeats", "exactly", "kelvin.yaml:6"]);
    expect(&finding(&said, "project"), "warn", &[]);
    expect(&finding(&said, "base"), "ok", &[]);
    let said = project.kelvin(&["doctor"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["kelvin doctor"]), @"next, when that is fixed: kelvin doctor");
}

#[test]
fn a_command_that_is_not_there_is_told_with_what_would_bring_it() {
    let project = Project::new(CONSTANT);
    let with = |run: &str, variables: &[(&str, &str)]| {
        project.write(
            "kelvin.yaml",
            &format!(
                "run: {run}\ncases: cases\ndecision_field: decision\n\
                 governing_types: [rule]\n"
            ),
        );
        finding(&asked(&project, variables), "command")
    };
    expect(
        &with("no-such-tool {input} {output}", &[]),
        "missing",
        &["`no-such-tool`", "GITHUB_PATH"],
    );
    expect(
        &with(
            "no-such-tool {input} {output}",
            &[("KELVIN_IN_CONTAINER", "1")],
        ),
        "missing",
        &["`setup-python`", "uses: org/kelvin-action/host@v1"],
    );
    expect(
        &with("./tool.sh {input} {output}", &[]),
        "missing",
        &["`./tool.sh`", "chmod +x ./tool.sh"],
    );
    expect(
        &with("sh src/main.sh {input} {output}", &[]),
        "missing",
        &["`src/main.sh`", "PATH/TO/main.sh"],
    );
    expect(
        &with("sh pipeline.sh {input} {output}", &[]),
        "ok",
        &["/sh"],
    );
    expect(
        &with("'cd sub && ./run {input} > {output}'", &[]),
        "ok",
        &["`sh`"],
    );
}

#[test]
fn without_a_repository_or_a_commit_the_checkout_is_missing() {
    let project = Project::new(CONSTANT);
    let said = asked(&project, &[]);
    expect(&finding(&said, "checkout"), "missing", &["git init"]);
    let said = asked(&project, &[("GITHUB_ACTIONS", "true")]);
    expect(
        &finding(&said, "checkout"),
        "missing",
        &["actions/checkout"],
    );
    repository::git(
        project.root(),
        &["init", "--quiet", "--initial-branch=work"],
    );
    let said = asked(&project, &[]);
    expect(&finding(&said, "checkout"), "missing", &["git add --all"]);
    // A deeper checkout would find no base either.
    assert!(!said.stdout.contains("fetch-depth"), "{}", said.stdout);
}

#[test]
fn a_branch_without_a_remote_to_compare_with_needs_the_whole_history() {
    let project = Project::new(CONSTANT);
    repository::git(
        project.root(),
        &["init", "--quiet", "--initial-branch=work"],
    );
    repository::commit(&project, "base");
    let said = asked(&project, &[]);
    expect(&finding(&said, "checkout"), "ok", &[]);
    expect(&finding(&said, "base"), "missing", &["fetch-depth: 0"]);
    // With a default branch of its own there is a base, and no report for it yet.
    repository::git(project.root(), &["branch", "main"]);
    let said = asked(&project, &[]);
    expect(&finding(&said, "base"), "ok", &["`main`"]);
    expect(
        &finding(&said, "baseline"),
        "warn",
        &["kelvin baseline save", "tree:"],
    );
    project.config("baseline: {require: true}\n");
    let said = asked(&project, &[]);
    let found = finding(&said, "baseline");
    expect(&found, "missing", &["kelvin init --workflow"]);
    project.config("baseline: {from: off}\n");
    let said = asked(&project, &[]);
    expect(&finding(&said, "baseline"), "ok", &[]);
}

#[test]
fn a_declared_secret_that_is_unset_or_empty_is_missing_and_another_variable_is_not() {
    let project = Project::new(CONSTANT);
    project.config("env: [MODEL_API_KEY, MODEL_FLAVOUR]\n");
    let env = finding(&asked(&project, &[]), "env");
    expect(
        &env,
        "missing",
        &[
            "MODEL_API_KEY: ${{ secrets.MODEL_API_KEY }}",
            "vars.MODEL_FLAVOUR",
        ],
    );
    // What GitHub makes of a secret that is not there.
    let env = finding(&asked(&project, &[("MODEL_API_KEY", "")]), "env");
    expect(&env, "missing", &[]);
    let env = finding(&asked(&project, &[("MODEL_API_KEY", "k3y-of-mine")]), "env");
    expect(&env, "warn", &["MODEL_FLAVOUR"]);
    assert!(!env.to_string().contains("k3y-of-mine"));
}

#[test]
fn cases_that_cannot_be_read_and_an_output_folder_that_is_none_are_missing() {
    let project = Project::new(CONSTANT);
    project.write("kelvin", "a file");
    let said = asked(&project, &[]);
    expect(
        &finding(&said, "out"),
        "missing",
        &["is not a folder", "--out"],
    );
    fs::remove_file(project.path("kelvin")).expect("removed");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let said = asked(&project, &[]);
    expect(&finding(&said, "cases"), "missing", &["cases"]);
    fs::create_dir(project.path("closed")).expect("made");
    fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o500)).expect("set");
    // Root may write anywhere, and then nothing is missing.
    let may_write = fs::write(project.path("closed/probe"), "").is_ok();
    let said = project.kelvin(&["doctor", "--format", "json", "--out", "closed/kelvin"]);
    let status = if may_write { "ok" } else { "missing" };
    expect(&finding(&said, "out"), status, &["closed/kelvin"]);
}

#[test]
fn the_items_of_every_probe_are_read_and_a_single_case_is_told() {
    let project = Project::new(CONSTANT);
    project.config("retrieval: {run: 'sh ask.sh {input} {output}', golden: golden.yaml}\n");
    project.write(
        "golden.yaml",
        "- {id: q, query: q, expected_doc_ids: [d]}\n",
    );
    let said = asked(&project, &[]);
    expect(&finding(&said, "cases"), "ok", &["4 cases with 20 units"]);
    expect(&finding(&said, "queries"), "ok", &["1 query\""]);
    project.write("golden.yaml", "- {id: q, query: q, expected_doc_ids: d}\n");
    let said = asked(&project, &[]);
    let wrong = finding(&said, "queries");
    expect(&wrong, "missing", &["golden.yaml", "expected_doc_ids"]);
    for case in ["birch", "cedar", "dogwood"] {
        fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    let said = asked(&project, &[]);
    expect(
        &finding(&said, "cases"),
        "warn",
        &["one case only", "no other"],
    );
}

#[test]
fn without_a_workflow_the_two_are_advised_and_with_one_what_has_pushes_kept() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    let advised = |project: &Project| finding(&asked(project, &[]), "baseline")["add"].clone();
    let found = advised(&project);
    assert_eq!(found["lines"], "kelvin init --workflow");
    assert!(!found.to_string().contains("permissions"), "{found}");
    // What is advised can be done, and leaves the configuration as it is.
    let before = project.read("kelvin.yaml");
    let said = project.kelvin(&["init", "--workflow"]).expect(0);
    assert!(said.stdout.contains("kelvin-post.yml"), "{}", said.stdout);
    assert_eq!(project.read("kelvin.yaml"), before);
    // Those two keep a report with the next push, so no keys are advised that they have already.
    let found = finding(&asked(&project, &[]), "baseline");
    assert_eq!(found["add"], Value::Null, "{found}");
    expect(
        &found,
        "warn",
        &[
            "each push to the base branch keeps one",
            "`kelvin check && kelvin baseline save`",
        ],
    );
    fs::remove_file(project.path(".github/workflows/kelvin-post.yml")).expect("removed");
    let found = advised(&project);
    let lines = found["lines"].as_str().expect("lines");
    assert!(
        lines.contains("push: { branches:") && lines.contains("comment: later"),
        "{lines}"
    );
    // The job runs the code of pull requests, so it may write nothing.
    assert!(!lines.contains("write"), "{lines}");
}

#[test]
fn the_workflows_of_init_measure_pushes_to_the_branch_that_the_repository_has() {
    for branch in ["main", "master", "trunk"] {
        let project = Project::new(CONSTANT);
        let begin = format!("--initial-branch={branch}");
        repository::git(project.root(), &["init", "--quiet", &begin]);
        repository::commit(&project, "base");
        if branch != "trunk" {
            // On a branch of a change the one that it is merged into counts.
            repository::git(project.root(), &["checkout", "--quiet", "-b", "change"]);
        }
        project.kelvin(&["init", "--workflow"]).expect(0);
        let text = project.read(".github/workflows/kelvin.yml");
        let wanted = format!("branches: [{branch}]");
        assert!(text.contains(&wanted), "{text}");
        let post = project.read(".github/workflows/kelvin-post.yml");
        assert!(!post.contains("configuration:"), "{post}");
    }
}

#[test]
fn the_commands_that_keep_a_report_name_a_configuration_with_another_place() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    fs::create_dir(project.path("my app")).expect("made");
    for name in ["kelvin.yaml", "cases", "pipeline.sh"] {
        let moved = format!("my app/{name}");
        fs::rename(project.path(name), project.path(&moved)).expect("moved");
    }
    repository::commit(&project, "moved");
    let said = project.kelvin(&["doctor", "--config=my app/kelvin.yaml", "--format=json"]);
    let found = finding(&said, "baseline");
    let named = "'--config=my app/kelvin.yaml'";
    assert_eq!(
        found["add"]["lines"],
        format!("kelvin init --workflow {named}")
    );
    let by_hand = format!("`kelvin check {named} && kelvin baseline save {named}`");
    expect(&found, "warn", &[&by_hand]);
}
