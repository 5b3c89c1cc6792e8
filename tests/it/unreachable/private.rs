//! A private repository: git needs the token of the action, and nobody else may have it.

use super::*;
use crate::repository::{checkout, server};
use crate::server::Server;
use kelvin_fixtures::text::{lines_with, redacted};

/// A private repository: a server that wants the token, a pull request, and a checkout that kept no
/// credentials.
struct Private {
    server: Server,
    project: Project,
    runner: TempDir,
    workspace: PathBuf,
    event: PathBuf,
}

impl Private {
    fn new(server: Server) -> Self {
        server.create(REPOSITORY);
        let project = pushed(&server.url(REPOSITORY), GROUNDED);
        save(&project);
        branch(&project, "worse", CONSTANT);
        git(project.root(), &["push", "--quiet", "origin", "worse"]);
        let runner = tempfile::tempdir().expect("a temporary folder");
        let workspace = checkout(&server, REPOSITORY, "refs/heads/worse", runner.path());
        let key = format!("http.{}.extraheader", server.url(REPOSITORY));
        git(&workspace, &["config", "--unset-all", &key]);
        let event = event(&project, runner.path());
        Self {
            server,
            project,
            runner,
            workspace,
            event,
        }
    }

    fn ci(&self, server: &str, token: &str) -> Said {
        ci(&self.project, &self.workspace, server, token, &self.event)
    }

    fn verdict(&self) -> Value {
        judgement(&self.workspace)["verdict"].clone()
    }

    /// The files of the runner in which this text stands, the event aside.
    fn holds(&self, text: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.runner.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("listed") {
                let path = entry.expect("listed").path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if fs::read(&path).is_ok_and(|bytes| {
                    bytes
                        .windows(text.len())
                        .any(|part| part == text.as_bytes())
                }) {
                    found.push(path);
                }
            }
        }
        found
    }
}

const GOOD: &str = crate::github::TOKEN;

#[test]
fn a_private_repository_without_kept_credentials_is_asked_with_the_token_and_keeps_none() {
    let Some(server) = server() else { return };
    let rig = Private::new(server);
    let header = Server::header();
    let basic = header.rsplit(' ').next().expect("a word").to_owned();
    let said = rig.ci(&rig.server.url(""), GOOD).expect(3);
    assert_eq!(rig.verdict(), json!("regression"), "{}", said.stdout);
    for secret in [GOOD, &basic] {
        assert_eq!(rig.holds(secret), Vec::<PathBuf>::new());
        let log = format!("{}{}", said.stdout, said.stderr);
        let mut shown = log.lines().filter(|line| !line.starts_with("::add-mask::"));
        assert!(shown.all(|line| !line.contains(secret)), "{log}");
    }
}

#[test]
fn a_private_repository_that_refuses_the_token_or_gets_none_is_unreachable() {
    let Some(server) = server() else { return };
    let rig = Private::new(server);
    for token in ["", "ghs_of_somebody_else"] {
        let said = rig.ci(&rig.server.url(""), token).expect(3);
        assert_eq!(
            rig.verdict(),
            json!("baseline_unreachable"),
            "{}",
            said.stdout
        );
        assert!(said.stdout.contains("::error"), "{}", said.stdout);
        let help = match token {
            "" => "git has no right",
            _ => "contents: read",
        };
        let reason = judgement(&rig.workspace)["reasons"][0]["text"].to_string();
        assert!(reason.contains(help), "{reason}");
    }
    // GitHub says "not found" of a private repository to whoever may not know of it.
    let hidden = Answering::with(404);
    let url = format!("{}/{REPOSITORY}", hidden.url);
    git(&rig.workspace, &["remote", "set-url", "origin", &url]);
    rig.ci(&hidden.url, GOOD).expect(3);
    assert_eq!(rig.verdict(), json!("baseline_unreachable"));
    assert!(!hidden.shown().is_empty(), "the token was tried");
}

#[test]
fn the_token_is_shown_to_its_own_server_alone() {
    let Some(server) = server() else { return };
    let rig = Private::new(server);
    let thief = Answering::with(401);
    let steal = |remote: &str, server: &str| {
        git(&rig.workspace, &["remote", "set-url", "origin", remote]);
        let said = rig.ci(server, GOOD).expect(3);
        assert_eq!(rig.verdict(), json!("baseline_unreachable"), "{remote}");
        assert_eq!(thief.shown(), Vec::<String>::new(), "{remote}");
        said
    };
    // Another host, and another repository of the same one.
    steal(&format!("{}/{REPOSITORY}", thief.url), &rig.server.url(""));
    steal(&format!("{}/mallory/widgets", thief.url), &thief.url);
    // A redirect, with and without the token.
    let place = format!("{}/{REPOSITORY}/info/refs", thief.url);
    let leading = Answering::start(move |_| {
        Some(Response::bytes(302, Vec::new()).with("location", place.clone()))
    });
    steal(&format!("{}/{REPOSITORY}", leading.url), &leading.url);
    let place = format!("{}/{REPOSITORY}/info/refs", thief.url);
    let leading = Answering::start(move |request| {
        Some(match request.headers.contains_key("authorization") {
            true => Response::bytes(302, Vec::new()).with("location", place.clone()),
            false => Response::bytes(401, Vec::new()).with("www-authenticate", "Basic realm=x"),
        })
    });
    steal(&format!("{}/{REPOSITORY}", leading.url), &leading.url);
    assert!(
        !leading.shown().is_empty(),
        "it was shown to the server that it is for"
    );
    // Settings that a program of the change left in the clone.
    let own = rig.server.url(REPOSITORY);
    for (key, value) in [
        (format!("url.{}/.insteadOf", thief.url), rig.server.url("")),
        ("http.proxy".to_owned(), thief.url.clone()),
        ("remote.origin.proxy".to_owned(), thief.url.clone()),
    ] {
        git(&rig.workspace, &["config", &key, &value]);
        let said = steal(&own, &rig.server.url(""));
        git(&rig.workspace, &["config", "--unset-all", &key]);
        assert!(!said.stdout.contains(GOOD) || said.stdout.contains("::add-mask::"));
    }
}

#[cfg(unix)]
#[test]
fn no_hook_and_no_helper_of_the_clone_runs_beside_the_token() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(server) = server() else { return };
    let rig = Private::new(server);
    let spoils = rig.runner.path().join("spoils");
    let script = format!("#!/bin/sh\nenv >> '{}'\nexit 0\n", spoils.display());
    for name in [
        "reference-transaction",
        "post-checkout",
        "pre-auto-gc",
        "post-index-change",
    ] {
        let hook = rig.workspace.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
        fs::write(&hook, &script).expect("written");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
    }
    rig.ci(&rig.server.url(""), GOOD).expect(3);
    assert_eq!(rig.verdict(), json!("regression"));
    let header = Server::header();
    let basic = header.rsplit(' ').next().expect("a word");
    let stolen = fs::read_to_string(&spoils).unwrap_or_default();
    assert!(!stolen.contains(basic), "{stolen}");
    // A helper that the clone names is a reason not to use the token at all.
    let fetched = ["update-ref", "-d", "refs/remotes/origin/kelvin-reports"];
    git(&rig.workspace, &fetched);
    git(
        &rig.workspace,
        &[
            "config",
            "credential.helper",
            &format!("!env >> '{}'; true", spoils.display()),
        ],
    );
    let said = rig.ci(&rig.server.url(""), GOOD).expect(3);
    assert!(said.stdout.contains("credential.helper"), "{}", said.stdout);
    let stolen = fs::read_to_string(&spoils).unwrap_or_default();
    assert!(!stolen.contains(basic), "{stolen}");
}

#[test]
fn a_report_is_kept_with_the_token_where_the_checkout_kept_no_credentials() {
    let Some(server) = server() else { return };
    let rig = Private::new(server);
    git(&rig.workspace, &["checkout", "--quiet", "-b", "main"]);
    let tip = git(&rig.workspace, &["rev-parse", "HEAD"]);
    let base = git(rig.project.root(), &["rev-parse", "main"]);
    let payload = json!({
        "ref": "refs/heads/main", "before": base, "after": tip,
        "repository": { "default_branch": "main", "full_name": REPOSITORY },
    });
    fs::write(&rig.event, payload.to_string()).expect("written");
    let mut command = rig.project.command(&["ci", "--upload=false"]);
    let output = command
        .current_dir(&rig.workspace)
        .env("GITHUB_SERVER_URL", rig.server.url(""))
        .env("GITHUB_REPOSITORY", REPOSITORY)
        .env("GITHUB_API_URL", "http://127.0.0.1:9")
        .env("INPUT_TOKEN", GOOD)
        .env("GITHUB_EVENT_NAME", "push")
        .env("GITHUB_EVENT_PATH", &rig.event)
        .env("GITHUB_REF", "refs/heads/main")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    insta::assert_snapshot!(redacted(&lines_with(&said, &["kelvin-reports"])), @"
    saving the report of [HASH] as `kelvin` on the branch `kelvin-reports` of the remote `origin` (http://127.0.0.1:[PORT]/acme/widgets), which has 1 report of it
        base [HASH], from branch kelvin-reports
    ");
    let kept = git(
        &rig.workspace,
        &["ls-tree", "-r", "--name-only", "origin/kelvin-reports"],
    );
    assert!(kept.contains(&tip), "{kept}");
}
