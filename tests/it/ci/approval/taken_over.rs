//! The workflow of the default branch, which takes a decision over.

use super::*;
use crate::github::Run;
use kelvin_fixtures::text::redacted;

/// The run that asked, as GitHub knows it once it has ended.
pub(super) fn ended(rig: &Rig, conclusion: &'static str) -> u64 {
    let run = Run {
        event: "pull_request",
        path: ".github/workflows/kelvin.yml".to_owned(),
        head_branch: "feature".to_owned(),
        head_sha: rig.head.clone(),
        head_repository: (1001, REPOSITORY.to_owned()),
        pull_requests: vec![PULL],
        conclusion,
    };
    let mut state = rig.server.state();
    state.runs.insert(rig.run, run);
    let now = state.now;
    state.started.insert(rig.run, now);
    rig.run
}

/// Runs `kelvin approve` on a comment.
pub(super) fn approve(rig: &Rig, more: &[&str]) -> Said {
    let payload = serde_json::json!({
        "action": "created",
        "issue": { "number": PULL, "pull_request": { "url": "x" } },
        "comment": { "body": "/kelvin approve x" },
        "repository": { "full_name": REPOSITORY, "default_branch": "main" },
    });
    on(rig, "issue_comment", &payload, more)
}

pub(super) fn on(rig: &Rig, event: &str, payload: &Value, more: &[&str]) -> Said {
    let file = rig.project.path("../comment.json");
    fs::write(&file, payload.to_string()).expect("written");
    let mut arguments = vec!["approve"];
    arguments.extend(more);
    let mut command = rig.project.command(&arguments);
    command
        // Nothing of the pull request is there.
        .current_dir(rig.project.path(".."))
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_API_URL", rig.server.url())
        .env("GITHUB_REPOSITORY", REPOSITORY)
        .env("GITHUB_TOKEN", TOKEN)
        .env("GITHUB_EVENT_NAME", event)
        .env("GITHUB_EVENT_PATH", file);
    said(command.output().expect("the binary starts"))
}

pub(super) fn made_again(rig: &Rig) -> Vec<u64> {
    rig.server.state().run_again.clone()
}

#[test]
fn an_approval_runs_the_job_again_once_and_the_job_passes() {
    let mut rig = rig();
    rig.waits();
    let run = ended(&rig, "failure");
    rig.says("alice", "/kelvin approve x");
    let said = approve(&rig, &[]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @r#"
    `evidence.following.rule` 1.0000 → 0.0000: approved by `alice` with a comment on `[TIME]`: "x"
    run 101 is started again, and takes the decision over
    "#);
    assert_eq!(made_again(&rig), [run]);
    // The run that began since has seen it, and is not made again for the same decision.
    rig.wait(60);
    ended(&rig, "failure");
    approve(&rig, &[]).expect(0);
    assert_eq!(made_again(&rig), [run]);
    rig.passes();
}

#[test]
fn what_does_not_count_runs_nothing_again_and_says_why() {
    let mut rig = rig();
    rig.waits();
    ended(&rig, "failure");
    rig.says("eve", "/kelvin approve x");
    rig.says("somebody", "/kelvin approve y");
    let said = approve(&rig, &[]).expect(0);
    insta::assert_snapshot!(redacted(&said.stdout), @"
    waiting for approval of `evidence.following.rule` 1.0000 → 0.0000: `alice` or `bob` or `somebody` comments `/kelvin approve [HASH] REASON` or adds the label `kelvin-approved`, until `[TIME]`; without a decision it fails
    the approval of `somebody` does not count: whoever wrote the change may not decide about it (`gate.approval.not_author`)
    the approval of `eve` does not count: `eve` is not one of those who may decide (`gate.approval.by`)
    the job stays as it is
    ");
    assert!(made_again(&rig).is_empty());
    approve(&rig, &["--then", "check"]).expect(0);
    assert_eq!(rig.checks()[0].1, "failure");
}

#[test]
fn the_check_run_says_what_was_decided_and_no_job_is_run() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    approve(&rig, &["--then", "check"]).expect(0);
    assert_eq!(rig.checks().len(), 1);
    assert_eq!(rig.checks()[0].1, "success");
    rig.says("bob", "/kelvin reject y");
    approve(&rig, &["--then", "check"]).expect(0);
    assert_eq!(rig.checks()[0].1, "failure");
    let state = rig.server.state();
    let shown = state.check_runs.values().next().expect("one")["output"].to_string();
    insta::assert_snapshot!(redacted(&shown), @r#"{"annotations_count":4,"annotations_url":"https://github.example/x","summary":"**`evidence.following.rule` 1.0000 → 0.0000: rejected by `bob` with a comment on `[TIME]`: \"y\"; the last good version is the commit `[HASH]`**\n\n- `evidence.following.rule` 1.0000 → 0.0000\n","text":null,"title":"`evidence.following.rule` 1.0000 → 0.0000: rejected by `bob` with a comment on `[TIME]`: \"y\"; the last good version is the commit `[HASH]`"}"#);
    assert!(state.run_again.is_empty());
}

#[test]
fn an_approval_that_was_taken_back_runs_a_job_again_that_has_passed() {
    let mut rig = rig();
    rig.waits();
    rig.labels("alice", "labeled");
    rig.passes();
    // The request names the run that made it.
    rig.run = 101;
    let run = ended(&rig, "success");
    rig.labels("alice", "unlabeled");
    let payload = serde_json::json!({
        "action": "unlabeled", "label": { "name": LABEL }, "pull_request": { "number": PULL },
    });
    on(&rig, "pull_request_target", &payload, &[]).expect(0);
    assert_eq!(made_again(&rig), [run]);
}

#[test]
fn a_run_that_is_not_of_this_commit_or_has_not_ended_is_not_made_again() {
    let mut rig = rig();
    rig.waits();
    rig.says("alice", "/kelvin approve x");
    let run = ended(&rig, "");
    let said = approve(&rig, &[]).expect(1);
    insta::assert_snapshot!(said.stderr, @"error: run 101, which asked, has not ended yet: run this workflow again once it has");
    {
        let mut state = rig.server.state();
        let run = state.runs.get_mut(&run).expect("there");
        (run.head_sha, run.conclusion) = ("d".repeat(40), "failure");
    }
    let said = approve(&rig, &[]).expect(1);
    insta::assert_snapshot!(said.stderr, @"error: run 101 is not one of the commit that was decided about");
    assert!(made_again(&rig).is_empty());
}

#[test]
fn where_nothing_is_asked_or_nobody_can_be_asked_nothing_follows() {
    let mut rig = rig();
    let said = approve(&rig, &[]).expect(0);
    insta::assert_snapshot!(said.stdout, @"nothing waits for approval at the tip of the pull request");
    rig.waits();
    ended(&rig, "failure");
    rig.says("alice", "/kelvin approve x");
    let said = approve(&rig, &["--config", "other.yaml"]).expect(0);
    insta::assert_snapshot!(said.stdout, @"nothing waits for approval at the tip of the pull request");
    let place = ("main".to_owned(), "kelvin.yaml".to_owned());
    let rules = rig.server.state().files.remove(&place).expect("there");
    approve(&rig, &[]).expect(1);
    rig.server.state().files.insert(place, rules);
    rig.server.state().denied.insert("actions");
    let said = approve(&rig, &[]).expect(1);
    assert!(said.stderr.contains("403"), "{}", said.stderr);
    rig.server.state().denied.clear();
    let issue = serde_json::json!({ "issue": { "number": PULL }, "comment": { "body": "x" } });
    on(&rig, "issue_comment", &issue, &[]).expect(1);
    assert!(made_again(&rig).is_empty());
    // A pull request that was closed has nothing to decide.
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .state = "closed";
    approve(&rig, &[]).expect(0);
    assert!(made_again(&rig).is_empty());
}
