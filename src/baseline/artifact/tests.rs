//! Which artifacts are believed, against a stateful GitHub on loopback.

use super::*;
use kelvin_fixtures::text::redacted;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::registry::Registry;
use kelvin_github::{Access, Client};

use super::fake::{Fault, REPOSITORY, Server, TOKEN, archive};
use kelvin_fixtures::report as fixture;
use kelvin_gate::report;

/// A client that does not wait, and what it would have waited.
pub(super) fn client(server: &Server, token: &str) -> (Client, Arc<Mutex<Vec<Duration>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&waits);
    let access = Access {
        api_url: server.url(),
        repository: REPOSITORY,
        token,
    };
    let client = Client::new(&access)
        .expect("it can be used")
        .pausing(move |wait| kept.lock().expect("no test panics with it").push(wait));
    (client, waits)
}

const NAME: &str = "kelvin-report-rag";
const WORKFLOW: &str = ".github/workflows/kelvin.yml";

fn oid(digit: u8) -> Oid {
    let sha = char::from(digit).to_string().repeat(40);
    Oid::from_str(&sha).expect("a commit")
}

/// A report of a commit, packed as an artifact; the seed tells it apart.
fn packed(commit: Oid, seed: u64) -> Vec<u8> {
    let mut report = fixture::good();
    report.run.session.commit = Some(commit.to_string());
    report.run.seed = seed;
    let mut text = Vec::new();
    report::json::write(&mut text, &report).expect("written");
    archive::zip(&[("report.html", b"<p>"), (REPORT_FILE, &text)])
}

/// Adds a run of a push and its artifact; gives both numbers.
fn saved(server: &Server, digit: u8, seed: u64) -> (u64, u64) {
    let commit = oid(digit);
    let run = server.state().add_run(&commit.to_string());
    let zip = packed(commit, seed);
    let artifact = server.state().add_artifact(NAME, run, zip);
    (run, artifact)
}

/// Looks for a report of `a` (the base), `b` or `c`, in this order.
fn look(server: &Server) -> anyhow::Result<ArtifactReport> {
    let (client, _) = client(server, TOKEN);
    let artifacts = Artifacts {
        client: Arc::new(client),
        branch: "main".to_owned(),
        workflow: Some(WORKFLOW.to_owned()),
    };
    let ancestors = vec![(oid(b'a'), 0), (oid(b'b'), 1), (oid(b'c'), 2)];
    find(Registry::shipped(), &artifacts, NAME, &ancestors, &|_| {
        Ok(())
    })
}

fn why(server: &Server) -> String {
    format!("{:#}", look(server).expect_err("none serves"))
}

#[test]
fn the_nearest_ancestor_serves_and_of_one_commit_the_newest_run() {
    let server = Server::start();
    saved(&server, b'c', 1);
    saved(&server, b'b', 2);
    saved(&server, b'b', 3);
    saved(&server, b'd', 4);
    let kept = look(&server).expect("there is one");
    assert_eq!((kept.report.run.seed, kept.behind), (3, 1));
    assert_eq!(kept.commit, oid(b'b'));
    assert_eq!(kept.artifact.name, "kelvin-report-rag");
    saved(&server, b'a', 5);
    assert_eq!(look(&server).expect("there is one").report.run.seed, 5);
}

#[test]
fn an_expired_artifact_is_passed_over_for_a_live_one() {
    let server = Server::start();
    let (_, gone) = saved(&server, b'a', 1);
    server
        .state()
        .artifacts
        .get_mut(&gone)
        .expect("there")
        .expired = true;
    insta::assert_snapshot!(why(&server), @"none of the 1 artifacts `kelvin-report-rag` serves: it has expired");
    saved(&server, b'c', 2);
    assert_eq!(look(&server).expect("there is one").behind, 2);
}

#[test]
fn an_artifact_that_expires_between_list_and_download_is_no_failure() {
    let server = Server::start();
    saved(&server, b'a', 1);
    saved(&server, b'b', 2);
    let fault = Fault::status("GET", "/zip", 1, 410);
    server.state().faults.push_back(fault);
    assert_eq!(look(&server).expect("the next one").report.run.seed, 2);
}

#[test]
fn the_main_branch_of_a_fork_is_not_ours() {
    let server = Server::start();
    let (run, _) = saved(&server, b'a', 1);
    let fork = (6666, "stranger/widgets".to_owned());
    server
        .state()
        .runs
        .get_mut(&run)
        .expect("there")
        .head_repository = fork;
    let why = why(&server);
    insta::assert_snapshot!(why, @"none of the 1 artifacts `kelvin-report-rag` serves: it comes from a fork");
    assert_eq!(
        server.state().count("GET", "/zip"),
        0,
        "it is not even downloaded"
    );
}

#[test]
fn an_artifact_that_does_not_say_where_it_is_from_is_not_ours() {
    let server = Server::start();
    let (run, _) = saved(&server, b'a', 1);
    server.state().runs.remove(&run);
    insta::assert_snapshot!(why(&server), @"none of the 1 artifacts `kelvin-report-rag` serves: it does not say which run made it");
}

#[test]
fn only_a_push_of_this_workflow_to_the_base_branch_counts() {
    type Change = fn(&mut super::fake::Run);
    let changes: [Change; 4] = [
        |run| run.event = "pull_request",
        |run| run.event = "pull_request_target",
        |run| run.path = ".github/workflows/other.yml".to_owned(),
        |run| run.head_branch = "feature".to_owned(),
    ];
    let mut told = Vec::new();
    for change in changes {
        let server = Server::start();
        let (run, _) = saved(&server, b'a', 1);
        change(server.state().runs.get_mut(&run).expect("there"));
        told.push(why(&server));
        assert_eq!(server.state().count("GET", "/zip"), 0);
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its run was not started by a push
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its run was not started by a push
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its run is of another workflow than `.github/workflows/kelvin.yml`
    none of the 1 artifacts `kelvin-report-rag` serves: it is not of the branch `main`
    ");
    let server = Server::start();
    let (run, _) = saved(&server, b'a', 1);
    server.state().runs.get_mut(&run).expect("there").path = format!("{WORKFLOW}@refs/heads/main");
    assert!(
        look(&server).is_ok(),
        "a path with a ref is the same workflow"
    );
}

#[test]
fn an_artifact_of_a_commit_that_is_not_before_the_base_is_passed_over() {
    let server = Server::start();
    let (_, artifact) = saved(&server, b'a', 1);
    let run = server.state().add_run(&oid(b'a').to_string());
    {
        let mut state = server.state();
        state.runs.get_mut(&run).expect("there").head_sha = oid(b'e').to_string();
        state.artifacts.get_mut(&artifact).expect("there").run = run;
    }
    insta::assert_snapshot!(why(&server), @"none of the 1 artifacts `kelvin-report-rag` serves: it is of a commit that is not before the base, or too long before");
}

#[test]
fn poisoned_archives_are_refused_and_the_next_report_serves() {
    let report = packed(oid(b'a'), 1);
    let poisons: Vec<Vec<u8>> = vec![
        b"<html>not a zip".to_vec(),
        archive::zip(&[("other.json", b"{}")]),
        archive::zip(&[(REPORT_FILE, b"[]")]),
        archive::zip(&[(REPORT_FILE, b"\xff\xfe")]),
        archive::zip(&[(REPORT_FILE, b"{}"), ("../../x", b"x")]),
        archive::bomb(REPORT_FILE, 100 * 1024 * 1024),
        packed(oid(b'd'), 1),
        report[..report.len() / 2].to_vec(),
    ];
    let mut told = Vec::new();
    for poison in poisons {
        let server = Server::start();
        let (_, artifact) = saved(&server, b'a', 1);
        server
            .state()
            .artifacts
            .get_mut(&artifact)
            .expect("there")
            .zip = poison;
        let why = why(&server);
        assert!(!why.contains('\n'), "{why}");
        saved(&server, b'c', 7);
        let next = look(&server).expect("the next one");
        assert_eq!(next.report.run.seed, 7, "{why}");
        told.push(redacted(&why));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD: its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: it has no `report.json`: its report cannot be read: it has no `report.json`
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: its `report.json`: it is JSON, but no report of kelvin: invalid length 0, expected struct Head with 2 elements at line 1 column 2: its report cannot be read: its `report.json`: it is JSON, but no report of kelvin: invalid length 0, expected struct Head with 2 elements at line 1 column 2
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: its `report.json`: it is not JSON: expected value at line 1 column 1: its report cannot be read: its `report.json`: it is not JSON: expected value at line 1 column 1
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: the archive has a file that leads out of it: `../../x`: its report cannot be read: the archive has a file that leads out of it: `../../x`
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: `report.json` is over 300 times larger than packed: its report cannot be read: `report.json` is over 300 times larger than packed
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report is of another commit than its run
    none of the 1 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD: its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD
    ");
}

#[test]
fn a_token_that_may_not_read_actions_is_told_what_to_add() {
    let server = Server::start();
    saved(&server, b'a', 1);
    server.state().denied.insert("actions");
    let why = why(&server);
    assert!(why.contains("actions: read"), "{why}");
}

#[test]
fn a_repository_without_an_artifact_says_so() {
    let server = Server::start();
    insta::assert_snapshot!(why(&server), @"there is no artifact `kelvin-report-rag`");
}

#[test]
fn a_report_that_is_too_old_does_not_serve() {
    let server = Server::start();
    saved(&server, b'a', 1);
    let (client, _) = client(&server, TOKEN);
    let artifacts = Artifacts {
        client: Arc::new(client),
        branch: "main".to_owned(),
        workflow: None,
    };
    let old = |_| Err("it is over 90 days old".to_owned());
    let error = find(
        Registry::shipped(),
        &artifacts,
        NAME,
        &vec![(oid(b'a'), 0)],
        &old,
    )
    .expect_err("too old");
    insta::assert_snapshot!(error.to_string(), @"none of the 1 artifacts `kelvin-report-rag` serves: it is over 90 days old");
}

#[test]
fn a_hundred_useless_artifacts_cost_few_requests() {
    let server = Server::start();
    for seed in 0..120 {
        let (_, artifact) = saved(&server, b'a', seed);
        server
            .state()
            .artifacts
            .get_mut(&artifact)
            .expect("there")
            .zip = Vec::new();
    }
    let why = why(&server);
    insta::assert_snapshot!(redacted(&why), @"none of the 120 artifacts `kelvin-report-rag` serves: [HASH]: its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD (5 times): its report cannot be read: it is no zip archive: invalid Zip archive: Could not find EOCD");
    assert!(server.state().log.len() <= 2 + 2 * MOST);
}
