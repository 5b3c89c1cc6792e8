use kelvin_fixtures::text::redacted;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, branch, checkout, commit, git, pushed, save, server, verdict};

/// Gives a folder and all in it to the user that GitHub's runner is. False where this test may not.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn give_away(folder: &Path) -> bool {
    fn all(path: &Path) -> std::io::Result<()> {
        std::os::unix::fs::lchown(path, Some(1001), Some(127))?;
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path)? {
                all(&entry?.path())?;
            }
        }
        Ok(())
    }
    let given = all(folder);
    if let Err(error) = &given {
        eprintln!("SKIPPED: only root may give files away: {error}");
        let _ = chown(folder, None, None);
    }
    given.is_ok()
}

fn said(mut command: Command) -> Said {
    let output = command.output().expect("it starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn the_workspace_of_another_user_works_where_github_gave_it() {
    let Some(server) = server() else { return };
    server.create("widgets.git");
    let project = pushed(&server.url("widgets.git"), GROUNDED);
    save(&project);
    let base = git(project.root(), &["rev-parse", "HEAD"]);
    project.write("pipeline.sh", CONSTANT);
    commit(&project, "worse");
    git(
        project.root(),
        &["push", "--quiet", "origin", "HEAD:refs/heads/queue"],
    );
    let runner = tempfile::tempdir().expect("a temporary folder");
    let workspace = checkout(&server, "widgets.git", "refs/heads/queue", runner.path());
    if !give_away(&workspace) {
        return;
    }
    let home = runner.path().join("home");
    fs::create_dir(&home).expect("made");
    let event = runner.path().join("event.json");
    let head = git(project.root(), &["rev-parse", "HEAD"]);
    let payload = json!({ "merge_group": { "base_sha": base, "head_sha": head } });
    fs::write(&event, payload.to_string()).expect("written");
    let gate = |given: Option<&Path>, arguments: &[&str]| {
        let mut command = project.command(arguments);
        command
            .current_dir(&workspace)
            .env("HOME", &home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GITHUB_EVENT_NAME", "merge_group")
            .env("GITHUB_EVENT_PATH", &event);
        if let Some(given) = given {
            command.env("GITHUB_WORKSPACE", given);
        }
        said(command)
    };
    let judged = || {
        let text = fs::read(workspace.join("kelvin/gate.json")).expect("read");
        serde_json::from_slice::<serde_json::Value>(&text).expect("JSON")
    };
    // Nobody vouches for it, or for another folder: it says what to do.
    for given in [None, Some(home.as_path())] {
        let said = gate(given, &["gate"]).expect(1);
        let top = workspace.canonicalize().expect("there");
        let told = format!("--add safe.directory '{}'", top.display());
        assert!(said.stderr.contains(&told), "{}", said.stderr);
    }
    // The base and the branch of reports are fetched through the system's git, at depth 1.
    gate(Some(&workspace), &["gate", "--rerun"]).expect(3);
    assert_eq!(judged()["base"]["commit"], json!(base));
    assert_eq!(judged()["verdict"], json!("regression"));
    // A checkout below the workspace, as with `path:` of actions/checkout.
    gate(Some(runner.path()), &["gate", "--rerun"]).expect(3);
    // And what it told to do elsewhere helps.
    let told = format!("[safe]\n\tdirectory = {}\n", workspace.display());
    fs::write(home.join(".gitconfig"), told).expect("written");
    gate(None, &["gate", "--rerun"]).expect(3);
    let owner = fs::metadata(workspace.join(".git")).expect("there").uid();
    assert_eq!(owner, 1001);
}

#[test]
fn a_report_is_saved_from_a_workspace_of_another_user() {
    let Some(server) = server() else { return };
    server.create("widgets.git");
    let project = pushed(&server.url("widgets.git"), CONSTANT);
    if !give_away(project.root()) {
        return;
    }
    let run = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        command.env("GITHUB_WORKSPACE", project.root());
        said(command)
    };
    run(&["check"]).expect(0);
    run(&["baseline", "save"]).expect(0);
    run(&["gate"]).expect(0);
    assert_eq!(project.json("kelvin/gate.json")["verdict"], json!("pass"));
    assert_eq!(
        project.json("kelvin/gate.json")["base"]["source"],
        json!("branch")
    );
}

#[test]
fn a_detached_head_is_gated_like_any_other() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    git(project.root(), &["checkout", "--quiet", "--detach"]);
    git(
        project.root(),
        &["branch", "--quiet", "--delete", "--force", "worse"],
    );
    let said = project.kelvin(&["gate", "--rerun"]);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn without_a_remote_a_committed_report_serves_and_the_rest_says_what_is_missing() {
    let project = pushed(&bare().1, GROUNDED);
    git(project.root(), &["remote", "remove", "origin"]);
    let said = project.kelvin(&["gate"]).expect(0);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("no_baseline"));
    let tried = judgement["tried"].to_string();
    insta::assert_snapshot!(redacted(&tried), @r#"[{"source":"tree","why":"commit [HASH] has no `.kelvin/baseline.json`"},{"source":"branch","why":"there is no branch `kelvin-reports`: this repository has no remote `origin`; add it with `git remote add origin URL`"},{"source":"compute","why":"measuring the base commit is off; `baseline.compute: true` turns it on"}]"#);
    project.check();
    let refused = project.kelvin(&["baseline", "save"]).expect(1);
    insta::assert_snapshot!(refused.stderr, @"
    error: this repository has no remote `origin`
      help: add it with `git remote add origin URL`, or keep the report in this clone alone with `--local`
    ");
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    commit(&project, "report");
    branch(&project, "worse", CONSTANT);
    let said = project.kelvin(&["gate", "--rerun"]);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["base"]["source"], json!("tree"));
    assert_eq!(judgement["verdict"], json!("regression"));
}

#[test]
fn a_linked_work_tree_and_a_submodule_are_repositories_too() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    git(project.root(), &["push", "--quiet", "origin", "worse"]);
    git(project.root(), &["checkout", "--quiet", "main"]);

    let linked = Project::new(GROUNDED);
    fs::remove_dir_all(linked.root()).expect("removed");
    let place = linked.root().display().to_string();
    git(
        project.root(),
        &["worktree", "add", "--quiet", &place, "worse"],
    );
    assert!(linked.path(".git").is_file());

    let parent = Project::new(GROUNDED);
    git(parent.root(), &["init", "--quiet", "--initial-branch=main"]);
    git(
        parent.root(),
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            "-b",
            "worse",
            &url,
            "parts/inner",
        ],
    );
    assert!(parent.path("parts/inner/.git").is_file());

    for (folder, project) in [
        (linked.root().to_path_buf(), &linked),
        (parent.path("parts/inner"), &parent),
    ] {
        let mut command = project.command(&["gate", "--rerun"]);
        command.current_dir(&folder);
        said(command).expect(3);
        let text = fs::read(folder.join("kelvin/gate.json")).expect("read");
        let judgement: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(judgement["verdict"], json!("regression"));
        assert_eq!(judgement["base"]["source"], json!("branch"));
    }
    if !give_away(linked.root()) || !give_away(project.root()) {
        return;
    }
    let mut command = linked.command(&["gate", "--rerun"]);
    command.env("GITHUB_WORKSPACE", linked.root());
    said(command).expect(3);
    assert_eq!(
        linked.json("kelvin/gate.json")["base"]["source"],
        json!("branch")
    );
}

#[test]
fn what_a_hook_sets_leads_to_no_other_repository() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    let other = pushed(&bare().1, GROUNDED);
    let before = git(other.root(), &["for-each-ref"]);
    let hook = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        command
            .env("GIT_DIR", other.path(".git"))
            .env("GIT_WORK_TREE", other.root())
            .env("GIT_INDEX_FILE", other.path(".git/index"))
            .env("GIT_OBJECT_DIRECTORY", other.path(".git/objects"))
            .env("GIT_PREFIX", "cases/");
        said(command)
    };
    hook(&["gate", "--rerun"]).expect(3);
    let judgement = project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], json!("regression"));
    assert_eq!(judgement["base"]["source"], json!("branch"));
    hook(&["check"]).expect(0);
    hook(&["baseline", "save"]).expect(0);
    assert_eq!(before, git(other.root(), &["for-each-ref"]));
    let head = git(project.root(), &["rev-parse", "HEAD"]);
    let kept = git(
        project.root(),
        &["ls-tree", "-r", "--name-only", "origin/kelvin-reports"],
    );
    assert!(kept.contains(&head), "{kept}");
}
