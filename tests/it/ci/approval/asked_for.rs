//! A comment that asks for a measurement, and those who may not ask.

use super::taken_over::{ended, made_again, on};
use super::*;
use kelvin_fixtures::text::redacted;

/// Somebody writes the first line of a comment; what is said, and the runs that were started.
fn asks(rig: &Rig, who: &str, action: &str, body: &str) -> (String, Vec<u64>) {
    let payload = serde_json::json!({
        "action": action,
        "issue": { "number": PULL, "pull_request": { "url": "x" } },
        "comment": { "body": body, "user": { "login": who } },
        "repository": { "full_name": REPOSITORY, "default_branch": "main" },
    });
    let said = on(rig, "issue_comment", &payload, &[]).expect(0);
    (said.stdout, made_again(rig))
}

#[test]
fn who_may_write_starts_the_run_that_waits_and_nobody_else_does() {
    let rig = rig();
    let run = ended(&rig, "skipped");
    let mut told = Vec::new();
    for (who, action, body) in [
        ("eve", "created", "/kelvin run"),
        ("nobody-at-all", "created", "/kelvin run"),
        ("carol", "created", "please /kelvin run"),
        ("carol", "edited", "/kelvin run"),
    ] {
        let (said, started) = asks(&rig, who, action, body);
        told.push(said.to_string());
        assert!(started.is_empty(), "{who} {body}: {started:?}");
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `eve` may not write to this repository, so nothing is run

    `nobody-at-all` may not write to this repository, so nothing is run

    nothing waits for approval at the tip of the pull request

    nothing waits for approval at the tip of the pull request
    ");
    let (said, started) = asks(&rig, "carol", "created", "/kelvin run\r\nplease");
    insta::assert_snapshot!(redacted(&said), @"run 100 is started, and measures [HASH]");
    assert_eq!(started, [run]);
}

#[test]
fn the_author_of_a_fork_does_not_start_its_run_and_a_closed_one_is_left_alone() {
    let rig = rig();
    let run = ended(&rig, "skipped");
    // `somebody` has opened it, and is an administrator here.
    assert_eq!(asks(&rig, "Somebody", "created", "/kelvin run").1, [run]);
    rig.server.state().run_again.clear();
    ended(&rig, "skipped");
    let set = |change: &dyn Fn(&mut crate::github::Pull)| {
        change(rig.server.state().pulls.get_mut(&PULL).expect("one"));
    };
    set(&|pull| pull.head_repository = "somebody/widgets".to_owned());
    let mut told = Vec::new();
    for who in ["somebody", "SOMEBODY"] {
        let (said, started) = asks(&rig, who, "created", "/kelvin run");
        told.push(said);
        assert!(started.is_empty());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `somebody` has sent this change from a fork: somebody else has to ask for its run

    `SOMEBODY` has sent this change from a fork: somebody else has to ask for its run
    ");
    assert_eq!(asks(&rig, "carol", "created", "/kelvin run").1, [run]);
    rig.server.state().run_again.clear();
    set(&|pull| pull.state = "closed");
    assert!(asks(&rig, "carol", "created", "/kelvin run").1.is_empty());
}

#[test]
fn a_run_under_way_is_left_alone_and_one_of_another_commit_is_none() {
    let rig = rig();
    let run = ended(&rig, "");
    let (said, started) = asks(&rig, "alice", "created", "/kelvin run");
    assert!(started.is_empty(), "{said}");
    insta::assert_snapshot!(said, @"run 100 is under way already");
    rig.server.state().runs.get_mut(&run).expect("one").head_sha = "0".repeat(40);
    let payload = serde_json::json!({
        "action": "created",
        "issue": { "number": PULL, "pull_request": { "url": "x" } },
        "comment": { "body": "/kelvin run", "user": { "login": "alice" } },
    });
    let said = on(&rig, "issue_comment", &payload, &[]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: no run of `kelvin.yml` belongs to [HASH], the tip of the pull request
      help: the workflow has to start on `pull_request`; name its file with `workflow`
    ");
    assert!(made_again(&rig).is_empty());
}
