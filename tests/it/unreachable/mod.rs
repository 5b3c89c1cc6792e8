//! A baseline that could not be asked for is not "there is none": whole commands against servers that
//! are gone, that refuse, that answer nonsense, and that want the token.

mod attacks;
mod damaged;
mod private;

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::github::{Request, Response, serve};
use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, branch, commit, git, kelvin_in, pushed, save};
use crate::server::free_port;

/// The repository of the workflows here.
const REPOSITORY: &str = "acme/widgets";

/// A server that gives one kind of answer and remembers what it was asked.
struct Answering {
    url: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Answering {
    fn start(answer: impl Fn(&Request) -> Option<Response> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        serve(listener, move |request| {
            log.lock().expect("no panic").push(request.clone());
            answer(&request)
        });
        Self { url, asked }
    }

    fn with(status: u16) -> Self {
        Self::start(move |_| Some(Response::bytes(status, Vec::new())))
    }

    /// The credentials that it was shown.
    fn shown(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("no panic");
        asked
            .iter()
            .filter_map(|request| request.headers.get("authorization").cloned())
            .collect()
    }
}

/// A change that made everything worse, in a clone that does not have the branch of reports, and
/// whose remote still is where it was.
fn worse() -> (TempDir, Project) {
    let (remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    let remembered = ["update-ref", "-d", "refs/remotes/origin/kelvin-reports"];
    git(project.root(), &remembered);
    (remote, project)
}

fn lead(project: &Project, url: &str) {
    git(project.root(), &["remote", "set-url", "origin", url]);
}

/// The binary in a workflow of a pull request, or of nothing where `event` is empty.
fn ci(project: &Project, folder: &Path, server: &str, token: &str, event: &Path) -> Said {
    let mut command =
        project.command(&["ci", "--upload=false", "--comment=off", "--baseline=branch"]);
    let output = command
        .current_dir(folder)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_API_URL", "http://127.0.0.1:9")
        .env("GITHUB_SERVER_URL", server)
        .env("GITHUB_REPOSITORY", REPOSITORY)
        .env("INPUT_TOKEN", token)
        .env("GITHUB_EVENT_NAME", "pull_request")
        .env("GITHUB_EVENT_PATH", event)
        .env("GITHUB_STEP_SUMMARY", event.with_file_name("summary"))
        .env("GITHUB_OUTPUT", event.with_file_name("output"))
        .env("GITHUB_RUN_ID", "100")
        .env("GITHUB_RUN_ATTEMPT", "1")
        .output()
        .expect("it starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn judgement(folder: &Path) -> Value {
    let text = fs::read(folder.join("kelvin/gate.json")).expect("there is a verdict");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// The pull request of `worse` onto `main`, as an event.
fn event(project: &Project, into: &Path) -> PathBuf {
    let tip = git(project.root(), &["rev-parse", "worse"]);
    let payload = json!({
        "number": 7,
        "pull_request": {
            "number": 7,
            "head": { "sha": tip, "ref": "worse", "repo": { "full_name": REPOSITORY } },
            "base": { "ref": "main" },
            "user": { "login": "ann" },
        },
        "repository": { "default_branch": "main", "full_name": REPOSITORY },
    });
    let path = into.join("event.json");
    fs::write(&path, payload.to_string()).expect("written");
    path
}

#[test]
fn a_server_that_does_not_answer_as_it_should_fails_the_gate_and_is_named() {
    let (remote, project) = worse();
    let there = format!("file://{}", remote.path().display());
    let refused: Vec<Answering> = [401, 403, 404, 500, 502]
        .into_iter()
        .map(Answering::with)
        .collect();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("an address"));
    let closed = format!("http://127.0.0.1:{}", free_port());
    let mut servers: Vec<(&str, &str)> = refused
        .iter()
        .zip(["git has no right", "403", "not found", "500", "502"])
        .map(|(server, told)| (server.url.as_str(), told))
        .collect();
    servers.push((&closed, "connect"));
    servers.push((&silent, "low"));
    servers.push(("http://nowhere.invalid", "resolve"));
    servers.push(("git://127.0.0.1:9", "connect"));
    servers.push(("file:///nowhere", "does not"));
    for (server, told) in servers {
        lead(&project, &format!("{server}/{REPOSITORY}"));
        let mut command = project.command(&["gate", "--rerun"]);
        let output = command
            .env("GIT_HTTP_LOW_SPEED_TIME", "1")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(3), "{server}: {said}");
        let judgement = judgement(project.root());
        assert_eq!(
            judgement["verdict"],
            json!("baseline_unreachable"),
            "{server}"
        );
        let reason = judgement["reasons"][0]["text"].as_str().expect("a text");
        assert!(reason.contains(told), "{server}: {reason}");
        assert!(said.contains("baseline unreachable"), "{said}");
        let page = project.read("kelvin/gate.md");
        let mut lines = page.lines();
        assert!(
            lines
                .next()
                .is_some_and(|line| line.contains("baseline unreachable")),
            "{page}"
        );
        assert!(
            lines
                .nth(1)
                .is_some_and(|line| line.contains("baseline is not known")),
            "{page}"
        );
        assert!(page.contains("unreachable: warn"), "{page}");
    }
    // What the same change gets where the server answers.
    lead(&project, &there);
    project.kelvin(&["gate", "--rerun"]).expect(3);
    assert_eq!(judgement(project.root())["verdict"], json!("regression"));
}

#[test]
fn a_server_that_is_in_trouble_for_a_moment_is_asked_again_and_one_that_is_gone_not_for_ever() {
    let (_remote, project) = worse();
    let first = Mutex::new(true);
    let server = Answering::start(move |_| {
        let status = match std::mem::take(&mut *first.lock().expect("no panic")) {
            true => 502,
            false => 404,
        };
        Some(Response::bytes(status, Vec::new()))
    });
    lead(&project, &format!("{}/{REPOSITORY}", server.url));
    project.kelvin(&["gate"]).expect(3);
    let judgement = judgement(project.root());
    let tried = judgement["tried"].to_string();
    assert!(
        tried.contains("not found") && !tried.contains("error: 502"),
        "{tried}"
    );
    // The second answer settles it: no source asks a third time.
    assert_eq!(server.asked.lock().expect("no panic").len(), 2);
}

#[test]
fn first_use_stays_green_and_a_policy_lets_an_unreachable_base_pass_with_a_warning() {
    let (_remote, url) = bare();
    let project = pushed(&url, CONSTANT);
    branch(&project, "worse", CONSTANT);
    let runner = tempfile::tempdir().expect("a temporary folder");
    let path = event(&project, runner.path());
    // Nothing was ever kept, and the server says so. There is no token: nobody to ask for artifacts.
    let said = ci(
        &project,
        project.root(),
        "https://github.example",
        "",
        &path,
    )
    .expect(0);
    assert_eq!(judgement(project.root())["verdict"], json!("no_baseline"));
    assert!(!said.stdout.contains("::error"), "{}", said.stdout);

    lead(&project, "http://127.0.0.1:9/acme/widgets");
    let said = ci(
        &project,
        project.root(),
        "https://github.example",
        "",
        &path,
    )
    .expect(3);
    assert!(
        said.stdout
            .contains("::error title=Kelvin::baseline unreachable"),
        "{}",
        said.stdout
    );
    let output = fs::read_to_string(runner.path().join("output")).expect("outputs");
    assert!(output.contains("\nbaseline_unreachable\n"), "{output}");
    let summary = fs::read_to_string(runner.path().join("summary")).expect("a summary");
    insta::assert_snapshot!(lines_with(&summary, &["### "]), @"
    ### ⚪ Kelvin: no baseline: nothing was compared, this passes
    ### ❌ Kelvin: baseline unreachable
    ");

    project.config("baseline: {unreachable: warn}\n");
    let said = ci(
        &project,
        project.root(),
        "https://github.example",
        "",
        &path,
    )
    .expect(0);
    assert!(
        said.stdout
            .contains("::warning title=Kelvin::baseline unreachable")
    );
    assert_eq!(judgement(project.root())["passed"], json!(true));
    project.config("baseline: {unreachable: warn, require: true}\n");
    ci(
        &project,
        project.root(),
        "https://github.example",
        "",
        &path,
    )
    .expect(3);
}

#[test]
fn a_kept_report_that_is_damaged_or_of_a_newer_version_is_not_none() {
    let (remote, project) = worse();
    let url = format!("file://{}", remote.path().display());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join("kept");
    let shown = kept.display().to_string();
    git(
        folder.path(),
        &[
            "clone",
            "--quiet",
            "--branch",
            "kelvin-reports",
            &url,
            &shown,
        ],
    );
    let base = git(project.root(), &["rev-parse", "main"]);
    let file = kept.join(format!("kelvin/{base}.json"));
    let good = fs::read_to_string(&file).expect("it is kept");
    let mut texts = Vec::new();
    for text in [
        good.replacen("\"schema_version\":2", "\"schema_version\":99", 1),
        good[..good.len() / 2].to_owned(),
    ] {
        fs::write(&file, text).expect("written");
        git(
            &kept,
            &["commit", "--quiet", "--all", "--message", "damaged"],
        );
        git(
            &kept,
            &["push", "--quiet", "--force", "origin", "kelvin-reports"],
        );
        project.kelvin(&["gate"]).expect(3);
        let judgement = judgement(project.root());
        assert_eq!(judgement["verdict"], json!("baseline_unreachable"));
        texts.push(judgement["tried"].to_string());
    }
    insta::assert_snapshot!(redacted(&texts.join("\n")), @r#"
    [{"source":"tree","why":"commit [HASH] has no `.kelvin/baseline.json`"},{"source":"branch","unknown":"it was written by a newer kelvin, version [VERSION] (schema 99, this one reads 2): update kelvin, or measure again with this one","why":"neither [HASH] nor the 50 commits before it have a usable report on `kelvin-reports`; [HASH]: its report cannot be read: it was written by a newer kelvin, version [VERSION] (schema 99, this one reads 2): update kelvin, or measure again with this one: its report cannot be read: it was written by a newer kelvin, version [VERSION] (schema 99, this one reads 2): update kelvin, or measure again with this one"},{"source":"compute","why":"measuring the base commit is off; `baseline.compute: true` turns it on"}]
    [{"source":"tree","why":"commit [HASH] has no `.kelvin/baseline.json`"},{"source":"branch","unknown":"it is cut off: EOF while parsing a string at line 1 column [COLUMN]","why":"neither [HASH] nor the 50 commits before it have a usable report on `kelvin-reports`; [HASH]: its report cannot be read: it is cut off: EOF while parsing a string at line 1 column [COLUMN]: its report cannot be read: it is cut off: EOF while parsing a string at line 1 column [COLUMN]"},{"source":"compute","why":"measuring the base commit is off; `baseline.compute: true` turns it on"}]
    "#);
}

#[test]
fn a_shallow_clone_whose_server_is_gone_cannot_know_its_base() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upstream = folder.path().join("upstream.git");
    fs::create_dir(&upstream).expect("made");
    git(
        &upstream,
        &["init", "--quiet", "--bare", "--initial-branch=main"],
    );
    let url = format!("file://{}", upstream.display());
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    git(project.root(), &["push", "--quiet", "origin", "worse"]);
    let clone = folder.path().join("clone");
    let shown = clone.display().to_string();
    git(
        folder.path(),
        &[
            "clone",
            "--quiet",
            "--depth=1",
            "--branch=worse",
            &url,
            &shown,
        ],
    );
    fs::remove_dir_all(&upstream).expect("removed");
    let said = kelvin_in(&project, &clone, &["gate"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement(&clone)["verdict"], json!("baseline_unreachable"));
}

#[test]
fn the_doctor_says_that_the_base_cannot_be_asked_for() {
    let (_remote, project) = worse();
    lead(&project, "http://127.0.0.1:9/acme/widgets");
    let said = project.kelvin(&["doctor"]).expect(1);
    insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["`.kelvin/baseline.json`"])), @"missing  baseline     it cannot be asked for (tree: commit [HASH] has no `.kelvin/baseline.json`; branch: `git fetch --no-tags --quiet --end-of-options origin +refs/heads/kelvin-reports:refs/remotes/origin/kelvin-reports` failed: it could not be asked: fatal: unable to access 'http://127.0.0.1:[PORT]/acme/widgets/': Failed to connect to 127.0.0.1 port 9 after [TIME] ms: Couldn't connect to server; run it again when the server answers; compute: measuring the base commit is off; `baseline.compute: true` turns it on)");
}

#[test]
fn a_change_is_not_made_unknown_by_a_commit_that_changes_nothing() {
    // A whole clone that has base and report needs no server.
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "same", &format!("# said again\n{GROUNDED}"));
    commit(&project, "same");
    lead(&project, "http://127.0.0.1:9/acme/widgets");
    project.kelvin(&["gate"]).expect(0);
    assert_eq!(judgement(project.root())["verdict"], json!("pass"));
}
