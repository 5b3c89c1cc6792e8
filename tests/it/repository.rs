use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::project::{Project, Said};
use crate::server::Server;

/// Runs git where nothing of this machine's configuration counts.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .expect("git starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A project in a repository, pushed to a remote.
pub(crate) fn pushed(remote: &str, script: &str) -> Project {
    let project = Project::new(script);
    project.write(".gitignore", "/kelvin/\n/calls\n");
    publish(&project, remote);
    project
}

/// Makes a repository of a project, with one commit that is pushed to the branch `main` of a remote.
pub(crate) fn publish(project: &Project, remote: &str) {
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    git(project.root(), &["remote", "add", "origin", remote]);
    if remote.starts_with("http") {
        let key = format!("http.{remote}.extraheader");
        git(project.root(), &["config", &key, &Server::header()]);
    }
    commit(project, "base");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
}

/// Commits everything and returns the commit.
pub(crate) fn commit(project: &Project, message: &str) -> String {
    git(project.root(), &["add", "--all"]);
    git(
        project.root(),
        &["commit", "--quiet", "--allow-empty", "-m", message],
    );
    git(project.root(), &["rev-parse", "HEAD"])
}

/// A bare repository in a folder, and its address.
pub(crate) fn bare() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    git(
        folder.path(),
        &["init", "--quiet", "--bare", "--initial-branch=main"],
    );
    let url = format!("file://{}", folder.path().display());
    (folder, url)
}

/// Checks and saves the report.
pub(crate) fn save(project: &Project) {
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
}

/// A branch with another pipeline.
pub(crate) fn branch(project: &Project, name: &str, script: &str) {
    git(project.root(), &["checkout", "--quiet", "-b", name]);
    project.write("pipeline.sh", script);
    commit(project, name);
}

/// The judgement, which has to agree with the exit code and the words.
pub(crate) fn verdict(project: &Project, said: &Said) -> Value {
    let judgement = project.json("kelvin/gate.json");
    // The words, the exit code and the JSON always agree.
    let passed = judgement["passed"].as_bool().expect("a boolean");
    assert_eq!(
        said.code,
        Some(if passed { 0 } else { 3 }),
        "{}",
        said.stdout
    );
    // A verdict of one word is told by that word, and every other one by words of its own, which are not those of a pass.
    let word = judgement["verdict"].as_str().expect("a word");
    if word.contains('_') || tells(&judgement, "own_rules") {
        let gate = said.stdout.lines().find(|line| line.starts_with("Gate "));
        let first = gate.and_then(|line| line.split_whitespace().nth(1));
        assert!(!matches!(first, Some("pass" | "pass,")), "{}", said.stdout);
    } else {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }
    judgement
}

/// Whether a judgement has a reason of this code.
pub(crate) fn tells(judgement: &Value, code: &str) -> bool {
    let mut reasons = judgement["reasons"].as_array().into_iter().flatten();
    reasons.any(|reason| reason["code"] == code)
}

/// The server, or a printed reason why the tests that need it say nothing.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn server() -> Option<Server> {
    match Server::start() {
        Ok(server) => Some(server),
        Err(reason) => {
            eprintln!("SKIPPED: {reason}");
            assert!(
                std::env::var_os("CI").is_none(),
                "the server is needed here: {reason}"
            );
            None
        }
    }
}

/// A clone as `actions/checkout` makes it: only the merge commit of a pull request, with the token.
pub(crate) fn checkout(server: &Server, name: &str, reference: &str, into: &Path) -> PathBuf {
    let folder = into.join("workspace");
    fs::create_dir(&folder).expect("made");
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["remote", "add", "origin", &server.url(name)]);
    let key = format!("http.{}.extraheader", server.url(name));
    git(&folder, &["config", &key, &Server::header()]);
    git(
        &folder,
        &[
            "fetch",
            "--quiet",
            "--no-tags",
            "--depth=1",
            "origin",
            reference,
        ],
    );
    git(&folder, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    folder
}

/// The binary in another folder.
pub(crate) fn kelvin_in(project: &Project, folder: &Path, arguments: &[&str]) -> Said {
    let mut command = project.command(arguments);
    let output = command.current_dir(folder).output().expect("it starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Cases about so many rooms in place of those of the project, each with a rule of its own.
pub(crate) fn rooms(project: &Project, count: usize) {
    fs::remove_dir_all(project.path("cases")).expect("removed");
    for at in 0..count {
        project.write(
            &format!("cases/case-{at:02}.md"),
            &format!(
                "# Request case-{at:02}\n\n## Summary\n\nThe team asks for room {at}.\n\n\
                 ## Rule\n\nRoom {at} may be given to at most {} people.\n\n\
                 ## Cost\n\nThe room costs {} a day.\n",
                at + 3,
                100 + at
            ),
        );
    }
}
