use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{branch, checkout, commit, git, kelvin_in, pushed, save, server};
use crate::server::{Server, free_port};

/// Repositories behind `git daemon` on loopback.
struct Daemon {
    folder: TempDir,
    child: Child,
    port: u16,
}

impl Daemon {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = free_port();
        let child = Command::new("git")
            .arg("daemon")
            .args(["--listen=127.0.0.1", "--reuseaddr", "--export-all"])
            .args(["--enable=receive-pack", "--informative-errors"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", folder.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("git daemon starts");
        let daemon = Self {
            folder,
            child,
            port,
        };
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < Duration::from_secs(10), "it comes up");
            std::thread::sleep(Duration::from_millis(20));
        }
        daemon
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("widgets.git")
    }

    fn url(&self) -> String {
        format!("git://127.0.0.1:{}/widgets.git", self.port)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The judgement of a run in another folder.
#[track_caller]
fn judged(project: &Project, folder: &Path, arguments: &[&str], code: i32) -> Value {
    let said = kelvin_in(project, folder, arguments);
    let text = fs::read_to_string(folder.join("kelvin/gate.json")).expect("read");
    assert_eq!(said.code, Some(code), "{}\n{text}", said.stdout);
    serde_json::from_str(&text).expect("JSON")
}

/// An empty repository that can be cloned in part.
fn create(path: &Path) {
    fs::create_dir_all(path).expect("made");
    git(
        path,
        &["init", "--quiet", "--bare", "--initial-branch=main"],
    );
    for key in [
        "uploadpack.allowReachableSHA1InWant",
        "uploadpack.allowFilter",
    ] {
        git(path, &["config", key, "true"]);
    }
}

/// A clone of a branch into a folder of its own.
fn clone(url: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let runner = tempfile::tempdir().expect("a temporary folder");
    let workspace = runner.path().join("workspace");
    let place = workspace.display().to_string();
    let arguments = [
        &["clone", "--quiet", "--branch", "worse"],
        more,
        &[url, &place],
    ]
    .concat();
    git(runner.path(), &arguments);
    (runner, workspace)
}

/// A project whose `main` has a report on the branch of reports, kept for a commit three back, and
/// a branch `worse`. With `tree`, the report is committed as well.
fn published(url: &str, tree: bool) -> Project {
    let project = pushed(url, GROUNDED);
    save(&project);
    for at in 0..3 {
        project.write("notes.txt", &format!("{at}"));
        commit(&project, "more");
    }
    if tree {
        project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
        commit(&project, "report");
    }
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    branch(&project, "worse", CONSTANT);
    if tree {
        fs::remove_file(project.path(".kelvin/baseline.json")).expect("removed");
        commit(&project, "without");
    }
    git(project.root(), &["push", "--quiet", "origin", "worse"]);
    project
}

/// Gates `worse` in clones of every kind, with a committed report and without.
fn every_clone(at: &Path, url: &str) {
    for tree in [true, false] {
        let _ = fs::remove_dir_all(at);
        create(at);
        let project = published(url, tree);
        let source = if tree { "tree" } else { "branch" };
        let kinds: [&[&str]; 5] = [
            &[],
            &["--depth=1"],
            &["--depth=2", "--no-single-branch"],
            &["--filter=blob:none"],
            &["--filter=tree:0", "--depth=1"],
        ];
        for kind in kinds {
            let (_runner, workspace) = clone(url, kind);
            let judgement = judged(&project, &workspace, &["gate", "--rerun"], 3);
            assert_eq!(judgement["verdict"], json!("regression"), "{kind:?}");
            assert_eq!(judgement["base"]["source"], json!(source), "{kind:?}");
            let behind = if tree { 0 } else { 3 };
            assert_eq!(judgement["base"]["behind"], json!(behind), "{kind:?}");
        }
    }
}

#[test]
fn over_the_git_protocol_full_shallow_and_partial_clones_find_either_report() {
    let daemon = Daemon::start();
    every_clone(&daemon.path(), &daemon.url());
}

#[test]
fn over_the_file_protocol_full_shallow_and_partial_clones_find_either_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("widgets.git");
    every_clone(&path, &format!("file://{}", path.display()));
}

#[test]
fn a_partial_clone_measures_the_base_and_saves_a_report() {
    let daemon = Daemon::start();
    create(&daemon.path());
    let project = published(&daemon.url(), false);
    let base = git(project.root(), &["rev-parse", "main"]);
    for kind in ["--filter=blob:none", "--filter=tree:0"] {
        let (_runner, workspace) = clone(&daemon.url(), &[kind]);
        // The pipeline of the base is not in this clone.
        let config = fs::read_to_string(workspace.join("kelvin.yaml")).expect("read");
        let compute = format!("{config}baseline: {{from: compute, compute: true}}\n");
        fs::write(workspace.join("kelvin.yaml"), compute).expect("written");
        let judgement = judged(&project, &workspace, &["gate", "--rerun"], 3);
        assert_eq!(judgement["base"]["source"], json!("compute"), "{judgement}");
        assert_eq!(judgement["base"]["commit"], json!(base));
        fs::write(workspace.join("kelvin.yaml"), config).expect("written");
        kelvin_in(&project, &workspace, &["check"]).expect(0);
        kelvin_in(&project, &workspace, &["baseline", "save"]).expect(0);
    }
    git(
        project.root(),
        &["fetch", "--quiet", "origin", "kelvin-reports"],
    );
    let kept = git(
        project.root(),
        &["ls-tree", "-r", "--name-only", "FETCH_HEAD"],
    );
    assert_eq!(kept.lines().count(), 2, "{kept}");
}

#[test]
fn a_partial_clone_whose_server_is_gone_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("widgets.git");
    create(&path);
    let url = format!("file://{}", path.display());
    let project = published(&url, true);
    let (_runner, workspace) = clone(&url, &["--filter=blob:none"]);
    fs::remove_dir_all(&path).expect("removed");
    let judgement = judged(&project, &workspace, &["gate"], 3);
    assert_eq!(judgement["verdict"], json!("baseline_unreachable"));
    // What git said follows, in the words of its version.
    let why = judgement["tried"][0]["why"].as_str().expect("a text");
    insta::assert_snapshot!(why.split(": ").next().unwrap_or_default(), @"this is a partial clone, and what it has left out could not be fetched; `git fetch --refetch --no-filter origin` completes it");
}

/// The merge commit of a pull request onto `main`, as GitHub makes it. Returns the event.
fn pull_request(project: &Project, upstream: &Path) -> Value {
    let tip = git(project.root(), &["rev-parse", "worse"]);
    git(project.root(), &["checkout", "--quiet", "main"]);
    git(
        project.root(),
        &["merge", "--quiet", "--no-ff", "-m", "merge", "worse"],
    );
    git(
        project.root(),
        &["push", "--quiet", "origin", "HEAD:refs/pull/7/merge"],
    );
    git(upstream, &["update-ref", "refs/pull/7/head", &tip]);
    git(project.root(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    json!({
        "number": 7,
        "pull_request": { "head": { "sha": tip }, "base": { "ref": "main" } },
        "repository": { "default_branch": "main" },
    })
}

/// Rewrites the last `count` commits of `main` into one, and pushes that by force.
fn force(project: &Project, count: usize) -> String {
    git(project.root(), &["checkout", "--quiet", "main"]);
    let before = format!("HEAD~{count}");
    git(project.root(), &["reset", "--quiet", "--soft", &before]);
    project.write("notes.txt", "said again");
    let commit = commit(project, "rewritten");
    git(
        project.root(),
        &["push", "--quiet", "--force", "origin", "main"],
    );
    commit
}

fn event(runner: &Path, event: &Value) -> String {
    let path = runner.join("event.json");
    fs::write(&path, event.to_string()).expect("written");
    path.display().to_string()
}

#[test]
fn a_base_branch_pushed_by_force_leaves_a_pull_request_its_report() {
    let Some(server) = server() else { return };
    for behind in [0, 3] {
        let name = format!("widgets-{behind}.git");
        let upstream = server.create(&name);
        let project = published(&server.url(&name), false);
        git(project.root(), &["checkout", "--quiet", "main"]);
        if behind == 0 {
            save(&project);
        }
        let base = git(project.root(), &["rev-parse", "main"]);
        let kept = git(project.root(), &["rev-parse", &format!("main~{behind}")]);
        let payload = pull_request(&project, &upstream);
        // The parent of the merge commit is on no branch any more, nor is what the report is of.
        force(&project, 3);
        let runner = tempfile::tempdir().expect("a temporary folder");
        let workspace = checkout(&server, &name, "refs/pull/7/merge", runner.path());
        let path = event(runner.path(), &payload);
        let arguments = [
            "gate",
            "--rerun",
            "--event",
            &path,
            "--event-name",
            "pull_request",
        ];
        let judgement = judged(&project, &workspace, &arguments, 3);
        assert_eq!(judgement["verdict"], json!("regression"));
        assert_eq!(judgement["base"]["commit"], json!(kept), "base {base}");
        assert_eq!(judgement["base"]["behind"], json!(behind));
    }
}

#[test]
fn after_a_forced_push_the_tip_before_it_serves_even_where_the_server_has_lost_it() {
    let Some(server) = server() else { return };
    for (saved, lost) in [(true, false), (true, true), (false, true)] {
        let name = format!("widgets-{saved}-{lost}.git");
        let upstream = server.create(&name);
        let project = pushed(&server.url(&name), GROUNDED);
        save(&project);
        let root = git(project.root(), &["rev-parse", "HEAD"]);
        project.write("notes.txt", "more");
        let before = commit(&project, "more");
        git(project.root(), &["push", "--quiet", "origin", "main"]);
        if saved {
            save(&project);
        }
        project.write("pipeline.sh", CONSTANT);
        force(&project, 1);
        if lost {
            git(&upstream, &["gc", "--quiet", "--prune=now"]);
        }
        let runner = tempfile::tempdir().expect("a temporary folder");
        let workspace = checkout(&server, &name, "refs/heads/main", runner.path());
        let payload = json!({
            "before": before, "forced": true, "ref": "refs/heads/main",
            "repository": { "default_branch": "main" },
        });
        let path = event(runner.path(), &payload);
        let arguments = ["gate", "--rerun", "--event", &path, "--event-name", "push"];
        let judgement = judged(&project, &workspace, &arguments, 3);
        assert_eq!(judgement["verdict"], json!("regression"), "{judgement}");
        let (commit, why) = match (saved, lost) {
            (true, _) => (&before, "the tip before the push"),
            // Its report is nowhere: the commit before the new tip is the next best.
            (false, _) => (&root, "the parent"),
        };
        assert_eq!(judgement["base"]["commit"], json!(commit));
        let told = judgement["base"]["why"].as_str().expect("text");
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn without_the_network_a_clone_that_has_everything_is_gated_all_the_same() {
    let Some(server) = server() else { return };
    let name = "widgets.git";
    let path = server.create(name);
    let url = server.url(name);
    let project = published(&url, false);
    let key = format!("http.{url}.extraheader={}", Server::header());
    let (_runner, workspace) = clone(&url, &["-c", &key]);
    let judgement = judged(&project, &workspace, &["gate", "--rerun"], 3);
    assert_eq!(judgement["base"]["source"], json!("branch"));
    drop(server);
    assert!(!path.exists());
    let judgement = judged(&project, &workspace, &["gate", "--rerun"], 3);
    assert_eq!(judgement["base"]["source"], json!("branch"));
    assert_eq!(judgement["base"]["behind"], json!(3));
}
