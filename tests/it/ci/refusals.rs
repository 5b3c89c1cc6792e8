//! What GitHub refuses changes no verdict.

use super::*;
use crate::github::{Fault, Response};
use kelvin_fixtures::text::lines_with;

#[test]
fn act_09_a_refusal_on_any_surface_leaves_verdict_and_exit_code_alone() {
    let surfaces = [
        ("comments", Some("pull-requests: write")),
        ("checks", Some("checks: write")),
        ("pulls", Some("pull-requests: read")),
        ("actions", None),
        ("contents", None),
    ];
    for (denied, told) in surfaces {
        let mut rig = Rig::new(CONSTANT);
        rig.server.state().denied.insert(denied);
        let ran = rig.on("pull_request", &["--check-run"]).expect(3);
        assert!(ran.outputs.contains("regression"), "{denied}");
        assert!(ran.summary.contains("regression"), "{denied}");
        if let Some(told) = told {
            assert!(ran.log().contains(told), "{denied}: {}", ran.log());
            assert_eq!(ran.log().matches(told).count(), 1, "{denied}: told once");
        }
        let posted = !matches!(denied, "comments" | "pulls");
        assert_eq!(rig.comments().len(), usize::from(posted), "{denied}");
        assert_eq!(
            rig.checks().len(),
            usize::from(denied != "checks"),
            "{denied}"
        );
    }
}

/// A pull request whose base has no report on the branch of reports.
fn without_branch(script: &str) -> Rig {
    let rig = Rig::new(script);
    git(
        rig.project.root(),
        &["push", "--quiet", "origin", ":kelvin-reports"],
    );
    let remembered = ["update-ref", "-d", "refs/remotes/origin/kelvin-reports"];
    git(rig.project.root(), &remembered);
    rig
}

#[test]
fn artifacts_that_cannot_be_listed_or_had_are_no_sign_that_there_is_none() {
    beside(
        [(403, "actions: read"), (502, "502"), (401, "token")],
        |(status, told)| {
            let mut rig = without_branch(CONSTANT);
            let fault = Fault::status("GET", "/actions/artifacts", 99, status);
            rig.server.state().faults.push_back(fault);
            let ran = rig.on("pull_request", &[]).expect(3);
            let judgement = rig.project.json("kelvin/gate.json");
            assert_eq!(judgement["verdict"], "baseline_unreachable", "{status}");
            assert!(
                ran.log()
                    .contains("::error title=Kelvin::baseline unreachable")
            );
            assert!(ran.summary.contains(told), "{status}: {}", ran.summary);
            let comment = &rig.comments()[0];
            assert!(comment.contains("baseline unreachable"), "{comment}");
            assert!(comment.contains(told), "{status}: {comment}");
        },
    );
    // An archive that is damaged, and one that the server does not give.
    beside(
        [(None, &b"no archive"[..]), (Some(403), &b""[..])],
        |(fault, bytes)| {
            let mut rig = without_branch(CONSTANT);
            {
                let mut state = rig.server.state();
                let run = state.add_run(&rig.base);
                state.add_artifact("kelvin-report-kelvin", run, bytes.to_vec());
                if let Some(status) = fault {
                    let fault = Fault::status("GET", "/zip", 99, status);
                    state.faults.push_back(fault);
                }
            }
            rig.on("pull_request", &[]).expect(3);
            let judgement = rig.project.json("kelvin/gate.json");
            assert_eq!(judgement["verdict"], "baseline_unreachable", "{judgement}");
        },
    );
    // Asked, and there is none: the first use.
    let mut rig = without_branch(CONSTANT);
    rig.on("pull_request", &[]).expect(0);
    let judgement = rig.project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], "no_baseline");
}

#[test]
fn without_the_right_to_read_actions_the_baseline_is_not_known_and_the_permission_is_named() {
    let mut rig = without_branch(GROUNDED);
    rig.server.state().denied.insert("actions");
    let ran = rig.on("pull_request", &[]).expect(3);
    let judgement = rig.project.json("kelvin/gate.json");
    assert_eq!(judgement["verdict"], "baseline_unreachable");
    assert!(ran.log().contains("actions: read"), "{}", ran.log());
}

#[test]
fn a_token_that_is_not_valid_leaves_the_verdict_alone() {
    let mut rig = Rig::new(CONSTANT);
    rig.server.state().tokens.clear();
    let ran = rig.on("pull_request", &["--check-run"]).expect(3);
    insta::assert_snapshot!(lines_with(&ran.log(), &["::warning"]), @"
    ::warning title=Kelvin::the check run: GitHub answered 401 (Bad credentials); the token is not valid (any more): pass `token: ${{ github.token }}`, and note that it ends with the job
    ::warning title=Kelvin::the pull request: GitHub answered 401 (Bad credentials); the token is not valid (any more): pass `token: ${{ github.token }}`, and note that it ends with the job
    ");
    // GitHub takes the masks out of the log, and with them the token.
    let log = ran.log();
    let mut shown = log.lines().filter(|line| !line.starts_with("::add-mask::"));
    assert!(shown.all(|line| !line.contains(TOKEN)), "{log}");
    assert!(ran.summary.contains("regression"));
}

#[test]
fn a_comment_that_is_too_long_is_posted_smaller() {
    let mut rig = Rig::new(CONSTANT);
    rig.server.state().longest_comment = 1_500;
    rig.on("pull_request", &[]).expect(3);
    let posts = rig.server.state().count("POST", "/comments");
    assert!(posts <= 2, "asked for once more at most");
    rig.server.state().longest_comment = 10;
    let ran = rig.on("pull_request", &[]).expect(3);
    insta::assert_snapshot!(lines_with(&ran.log(), &["::warning"]), @"::warning title=Kelvin::the comment: GitHub answered 422 (Validation Failed: body is too long (maximum is 10 characters)); GitHub does not accept what was sent; the full report is in the job summary and in the files");
}

#[test]
fn a_limit_and_a_broken_gateway_in_the_middle_are_waited_out() {
    let mut rig = Rig::new(GROUNDED);
    let body = serde_json::json!({ "message": "slow down" });
    let limited = Response::json(429, &body).with("retry-after", "1");
    {
        let mut state = rig.server.state();
        state.faults.push_back(Fault {
            answer: Some(limited),
            ..Fault::status("POST", "/comments", 1, 429)
        });
        state
            .faults
            .push_back(Fault::status("GET", "/pulls", 1, 502));
        let lost = Fault::status("POST", "/check-runs", 1, 502);
        state.faults.push_back(Fault {
            effective: true,
            ..lost
        });
    }
    rig.on("pull_request", &["--check-run"]).expect(0);
    assert_eq!((rig.comments().len(), rig.checks().len()), (1, 1));
    assert_eq!(rig.checks()[0].1, "success");
}

#[test]
fn two_hundred_and_fifty_comments_and_a_stranger_with_our_marker_are_left_alone() {
    let mut rig = Rig::new(GROUNDED);
    rig.on("pull_request", &[]).expect(0);
    let ours = rig.comments()[0].clone();
    rig.server.state().comments.clear();
    rig.server.state().add_comment("mallory", &ours);
    for number in 0..250 {
        rig.server
            .state()
            .add_comment("somebody", &number.to_string());
    }
    rig.on("pull_request", &[]).expect(0);
    rig.on("pull_request", &[]).expect(0);
    let comments = rig.comments();
    assert_eq!(comments.len(), 252);
    assert_eq!(comments[0], ours);
}

#[test]
fn a_check_run_is_closed_as_failed_where_the_program_ends_without_a_verdict() {
    let mut rig = Rig::new(GROUNDED);
    fs::remove_dir_all(rig.project.path("cases")).expect("removed");
    let ran = rig.on("pull_request", &["--check-run"]);
    assert!(!matches!(ran.said.code, Some(0 | 3)), "{}", ran.log());
    assert_eq!(rig.checks()[0].1, "failure");
}
