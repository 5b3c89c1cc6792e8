//! An answer of the cache is never that of something else that the pipeline was made of: each clause has a
//! pipeline whose answer truly changes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use crate::project::Project;
use crate::repository::{commit, git};

/// Decides by what a file has, which the variable `F` names.
const BY_FILE: &str =
    "sum=$(cat $F 2> /dev/null | cksum); printf '{\"decision\": \"%s\"}' \"${sum%% *}\" > \"$2\"";

/// A committed project with a cache and more in `kelvin.yaml`.
fn project(script: &str, run: &str, more: &str) -> Project {
    let project = Project::new(script);
    project.write(".gitignore", "/kelvin/\n/.kelvin*\nignored*\n*.ignored\n");
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {run}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\ncache: true\n{more}"
        ),
    );
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    project
}

/// Writes a program outside of the repository, in a folder of the search path.
fn tool(project: &Project, answer: &str) {
    let path = project.path("../bin/tool");
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, format!("#!/bin/sh\necho {answer}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
}

/// How many calls were answered by the cache, and what was decided.
fn check(project: &Project) -> (u64, String) {
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = project.path("../bin");
    let output = project
        .command(&["check"])
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("WEIGHTS", project.path("../outside.bin"))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = project.json("kelvin/report.json");
    let hits = report["run"]["session"]["cost"]["cache_hits"].as_u64();
    let decisions = project.files("kelvin").into_iter();
    let decision = decisions
        .filter(|(name, _)| name.ends_with("output.json"))
        .map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned())
        .next();
    (hits.expect("a number"), decision.expect("an output"))
}

#[test]
fn no_answer_is_that_of_another_pipeline() {
    // A few calls tell as much as many.
    const FEW: &str = "variants: {reorder: 1, pad_length: 0, pad_content: 0, swap: 1}\n";
    let by = |file: &str| format!("F={file}; {BY_FILE}");
    let plain = "sh pipeline.sh {input} {output}";
    let tool_decides = "printf '{\"decision\": \"%s\"}' $(tool) > $2";
    // What is tried, the script, the command, and what changes.
    let clauses: &[(&str, String, String, &str)] = &[
        (
            "a tracked lock file",
            by("yarn.lock"),
            plain.into(),
            "tracked:yarn.lock",
        ),
        (
            "a lock file that is not tracked",
            by("uv.lock"),
            plain.into(),
            "uv.lock",
        ),
        (
            "a lock file that git ignores",
            by("poetry.lock"),
            plain.into(),
            "ignored:poetry.lock",
        ),
        (
            "a file marked as unchanged",
            by("data.txt"),
            plain.into(),
            "--assume-unchanged:data.txt",
        ),
        (
            "a file marked as not there",
            by("data.txt"),
            plain.into(),
            "--skip-worktree:data.txt",
        ),
        (
            "an ignored file in the command",
            by("$3"),
            format!("{plain} x.ignored"),
            "x.ignored",
        ),
        (
            "an ignored folder in the command",
            by("$3/deep/x"),
            format!("{plain} ignored"),
            "ignored/deep/x",
        ),
        (
            "a file outside",
            by("$3"),
            format!("{plain} ../outside.bin"),
            "../outside.bin",
        ),
        (
            "a file that a variable names",
            by("$3"),
            format!("{plain} $WEIGHTS"),
            "../outside.bin",
        ),
        (
            "a file in a script",
            by("ignored-1.txt"),
            plain.into(),
            "ignored-1.txt",
        ),
        (
            "a pattern in a script",
            by("ignored-d/*.txt"),
            plain.into(),
            "ignored-d/a.txt",
        ),
        (
            "another case",
            by("cases/birch.md"),
            plain.into(),
            "tracked:cases/birch.md",
        ),
        (
            "all cases",
            by("cases/*.md"),
            plain.into(),
            "tracked:cases/birch.md",
        ),
        (
            "the cases in the command",
            by("$3/birch.md"),
            format!("{plain} cases"),
            "tracked:cases/birch.md",
        ),
        (
            "a program in the script",
            tool_decides.into(),
            plain.into(),
            "tool",
        ),
        (
            "a program after another",
            "printf '{\"decision\": \"%s\"}' \"$3\" > \"$2\"".into(),
            format!("true && {plain} $(tool)"),
            "tool",
        ),
        (
            "a program below another",
            "printf '{\"decision\": \"%s\"}' \"$(cat)\" > \"$2\"".into(),
            format!("env A=1 tool | {plain}"),
            "tool",
        ),
    ];
    for (what, script, run, change) in clauses {
        let project = project(script, run, FEW);
        let (how, file) = change.split_once(':').unwrap_or(("", change));
        let write = |text: &str| match file {
            "tool" => tool(&project, text),
            "cases/birch.md" => {
                let case = project.read(file).replace("Contact", text);
                project.write(file, &case);
            }
            file => project.write(file, &format!("{text}\n")),
        };
        if how == "ignored" {
            project.write(".git/info/exclude", &format!("{file}\n"));
        }
        if file != "cases/birch.md" {
            write("one");
        }
        if how == "tracked" || how.starts_with("--") {
            commit(&project, "base");
        } else {
            git(
                project.root(),
                &["add", "pipeline.sh", "kelvin.yaml", ".gitignore", "cases"],
            );
            git(project.root(), &["commit", "--quiet", "-m", "base"]);
        }
        if how.starts_with("--") {
            git(project.root(), &["update-index", how, file]);
        }
        let (hits, before) = check(&project);
        assert_eq!(hits, 0, "{what}");
        let (hits, same) = check(&project);
        assert!(hits >= 12 && same == before, "{what}: {hits}");
        write("another");
        let (hits, after) = check(&project);
        assert_ne!(after, before, "{what}: the answer is stale");
        assert_eq!(hits, 0, "{what}");
    }
}

#[test]
fn a_variable_that_differs_on_resume_is_named_and_its_value_is_not_kept() {
    let project = project(
        "sleep 0.05\nprintf '{\"decision\": \"go\"}' > \"$2\"",
        "sh pipeline.sh {input} {output}",
        "env: [DECLARED]\n",
    );
    commit(&project, "base");
    let start = |model: &str, arguments: &[&str]| {
        let mut command = project.command(arguments);
        command
            .env("MODEL", model)
            .env("OTHER", "same")
            .env("DECLARED", "1");
        command.env("SHLVL", model).env("SSH_CONNECTION", model);
        command
    };
    let mut run = start("the-first-model", &["check"])
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    let journal = || fs::read_to_string(project.path("kelvin/.journal.jsonl")).unwrap_or_default();
    while journal().lines().count() < 8 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().expect("killed");
    run.wait().expect("it has ended");
    assert!(!journal().contains("the-first-model"));
    let ended = start("another-model", &["check", "--resume"])
        .output()
        .expect("it starts");
    assert_eq!(ended.status.code(), Some(0));
    let report = project.json("kelvin/report.json");
    assert!(
        report["run"]["session"]["cost"]["resumed"].as_u64() > Some(4),
        "{report}"
    );
    let notices = report["notices"].to_string();
    insta::assert_snapshot!(notices, @r#"[{"code":"unmeasured","text":"evidence.following.rule was not measured: no swap could show anything: the answers of donor and case are no further apart than two answers of one case"},{"code":"cache","text":"since the resumed run began, these environment variables have changed: `MODEL`. What had finished was answered with their old values. Where one of them changes answers, begin anew without `--resume`, and name it under `env`"}]"#);
    assert!(!notices.contains("another-model"), "{notices}");
}

#[test]
fn what_kelvin_prints_into_a_file_of_the_repository_is_no_code() {
    let project = project(
        "printf '{\"decision\": \"go\"}' > \"$2\"",
        "sh pipeline.sh {input} {output}",
        "",
    );
    commit(&project, "base");
    for _ in 0..2 {
        let log = fs::File::create(project.path("said.txt")).expect("made");
        let status = project
            .command(&["check"])
            .stdout(log.try_clone().expect("it can be"))
            .stderr(log)
            .status();
        assert_eq!(
            status.expect("it starts").code(),
            Some(0),
            "{}",
            project.read("said.txt")
        );
    }
    // Another file that is new is.
    project.write("other.txt", "1");
    check(&project);
    assert_eq!(
        project.json("kelvin/report.json")["run"]["session"]["dirty"],
        true
    );
}

#[test]
fn a_repository_that_cannot_be_read_is_never_called_none() {
    let project = Project::usual("printf '{\"decision\": \"go\"}' > \"$2\"");
    project.write(".gitignore", "/kelvin/\n/.kelvin*\n");
    project.config("variants: {}\ncache: true\n");
    git(project.root(), &["init", "--quiet"]);
    commit(&project, "base");
    let unknown = ["config", "extensions.ofTomorrow", "true"];
    git(
        project.root(),
        &["config", "core.repositoryFormatVersion", "1"],
    );
    git(project.root(), &unknown);
    let mut texts = Vec::new();
    for arguments in [&["check"][..], &["check", "--resume"]] {
        project.kelvin(arguments).expect(0);
        let notices = project.json("kelvin/report.json")["notices"].to_string();
        texts.push(notices.to_string());
        assert!(notices.contains("extensions.oftomorrow"), "{notices}");
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    [{"code":"unmeasured","text":"evidence.following.rule was not measured: no swap could show anything: the answers of donor and case are no further apart than two answers of one case"},{"code":"cache","text":"the cache was not used: nothing tells whether the code of the pipeline has changed: the git repository here cannot be opened: unsupported extension name extensions.oftomorrow, and `fingerprint` names no files"}]
    [{"code":"unmeasured","text":"evidence.following.rule was not measured: no swap could show anything: the answers of donor and case are no further apart than two answers of one case"},{"code":"cache","text":"nothing was resumed: nothing tells whether the code of the pipeline has changed: the git repository here cannot be opened: unsupported extension name extensions.oftomorrow, and `fingerprint` names no files"},{"code":"cache","text":"the cache was not used: nothing tells whether the code of the pipeline has changed: the git repository here cannot be opened: unsupported extension name extensions.oftomorrow, and `fingerprint` names no files"}]
    "#);
    // With `fingerprint` both work there.
    project.config("variants: {}\ncache: true\nfingerprint: [pipeline.sh]\n");
    check(&project);
    assert!(check(&project).0 > 40);
}
