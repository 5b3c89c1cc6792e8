//! What is checked out has to be the change: a base that is compared with itself always passes.

use super::*;
use crate::github::Comment;
use kelvin_fixtures::text::{lines_with, redacted};

/// A pull request that hurts, whose red comment and check run are there; the base is checked out.
fn on_the_base() -> (Rig, Comment, usize) {
    let mut rig = Rig::new(CONSTANT);
    rig.on("pull_request", &["--check-run"]).expect(3);
    let red = rig.server.state().comments.values().next().cloned();
    let red = red.expect("it was written");
    assert!(red.body.contains("regression"), "{}", red.body);
    let checks = rig.checks().len();
    git(rig.project.root(), &["checkout", "--quiet", "main"]);
    (rig, red, checks)
}

/// Demands that a run ends with 1, says what to write, and touches nothing.
#[track_caller]
fn refused(rig: &mut Rig, event: &str, payload: &Value, told: &[&str]) {
    let reports = git(rig.project.root(), &["ls-remote", "origin"]);
    let before = (rig.comments(), rig.checks().len());
    let ran = rig.ci(event, payload, &["--check-run"]).expect(1);
    for told in told {
        assert!(ran.log().contains(told), "{told}: {}", ran.log());
        assert!(ran.summary.contains(told), "{told}: {}", ran.summary);
    }
    assert!(ran.log().contains("::error"), "{}", ran.log());
    assert_eq!((rig.comments(), rig.checks().len()), before);
    assert_eq!(git(rig.project.root(), &["ls-remote", "origin"]), reports);
    assert!(!ran.outputs.contains("pass"), "{}", ran.outputs);
}

#[test]
fn a_checkout_of_the_base_is_refused_and_the_red_comment_stays() {
    let (mut rig, red, checks) = on_the_base();
    for event in ["pull_request", "pull_request_target"] {
        let mut payload = rig.payload(event);
        payload["pull_request"]["base"]["sha"] = rig.base.as_str().into();
        let found = rig.base[..7].to_owned();
        let write = "ref: ${{ github.event.pull_request.head.sha }}";
        refused(&mut rig, event, &payload, &[&found, write]);
    }
    let payload = rig.payload("pull_request_target");
    refused(&mut rig, "pull_request_target", &payload, &["secrets"]);
    assert_eq!(rig.comments(), [red.body]);
    assert_eq!(rig.checks().len(), checks);
    // A share of the cases is no way round it.
    let ran = rig.on("pull_request", &["--shard", "1/2"]).expect(1);
    insta::assert_snapshot!(redacted(&lines_with(&ran.log(), &["`pull_request`"])), @"
    ::error title=Kelvin::what is checked out is not the change: `pull_request` is about the commit [HASH], and HEAD is [HASH] help: leave out `ref` of `actions/checkout`, or write `ref: ${{ github.event.pull_request.head.sha }}` under its `with:`
    error: what is checked out is not the change: `pull_request` is about the commit [HASH], and HEAD is [HASH]
    ");
}

#[test]
fn the_tip_itself_and_a_merge_of_it_are_measured_whatever_the_event() {
    let mut rig = Rig::new(CONSTANT);
    for checkout in ["HEAD", "feature"] {
        git(
            rig.project.root(),
            &["checkout", "--quiet", "--detach", checkout],
        );
        for event in ["pull_request", "pull_request_target", "merge_group"] {
            let ran = rig.on(event, &[]).expect(3);
            assert!(ran.outputs.contains("regression"), "{checkout} {event}");
        }
    }
}

#[test]
fn a_merge_queue_that_checks_out_its_base_is_refused() {
    let (mut rig, ..) = on_the_base();
    let payload = rig.payload("merge_group");
    refused(
        &mut rig,
        "merge_group",
        &payload,
        &["`merge_group` is about"],
    );
}

#[test]
fn a_merge_commit_that_a_newer_push_has_moved_is_not_taken_for_the_older_commit() {
    let mut rig = Rig::new(CONSTANT);
    let old = rig.head.clone();
    git(rig.project.root(), &["checkout", "--quiet", "feature"]);
    rig.head = commit(&rig.project, "a newer push");
    let merged = ["checkout", "--quiet", "--detach", "main"];
    git(rig.project.root(), &merged);
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(rig.project.root(), &merge);
    let mut payload = rig.payload("pull_request_target");
    payload["pull_request"]["head"]["sha"] = old.as_str().into();
    refused(&mut rig, "pull_request_target", &payload, &[&old[..7]]);
    // The run of the newer push measures the same merge.
    rig.server
        .state()
        .pulls
        .get_mut(&PULL)
        .expect("there")
        .head_sha = rig.head.clone();
    rig.on("pull_request_target", &[]).expect(3);
}

#[test]
fn a_shallow_checkout_names_its_parents_although_they_are_not_there() {
    let mut rig = Rig::new(CONSTANT);
    let shallow = rig.project.path("../shallow");
    let url = format!("file://{}", rig.project.root().display());
    let merge = git(rig.project.root(), &["rev-parse", "HEAD"]);
    fs::create_dir(&shallow).expect("made");
    git(&shallow, &["init", "--quiet"]);
    git(&shallow, &["remote", "add", "origin", &url]);
    let allow = ["config", "uploadpack.allowAnySHA1InWant", "true"];
    git(rig.project.root(), &allow);
    git(
        &shallow,
        &["fetch", "--quiet", "--depth=1", "origin", &merge],
    );
    git(&shallow, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    let payload = rig.payload("pull_request");
    let (mut command, _) = rig.command("pull_request", &payload, &[]);
    let ran = said(command.current_dir(&shallow).output().expect("it starts"));
    assert_ne!(ran.code, Some(1), "{}", ran.stderr);
    assert!(!ran.stderr.contains("::error"), "{}", ran.stderr);
}

#[test]
fn without_a_repository_what_is_checked_out_is_not_known_and_never_a_pass() {
    let mut rig = Rig::new(GROUNDED);
    let payload = rig.payload("pull_request");
    fs::rename(rig.project.path(".git"), rig.project.path("../git")).expect("moved");
    let mut bare = payload.clone();
    bare["pull_request"]["head"]["sha"] = Value::Null;
    fs::rename(rig.project.path("../git"), rig.project.path(".git")).expect("moved");
    let ran = rig.ci("pull_request", &bare, &[]).expect(1);
    insta::assert_snapshot!(lines_with(&ran.log(), &["`pull_request`"]), @"
    ::error title=Kelvin::the payload of `pull_request` does not name the commit that the event is about help: `GITHUB_EVENT_PATH` has to name the payload of the event in `GITHUB_EVENT_NAME`
    error: the payload of `pull_request` does not name the commit that the event is about
    ");
    let (mut command, _) = rig.command("pull_request", &payload, &[]);
    fs::rename(rig.project.path(".git"), rig.project.path("../git")).expect("moved");
    let ran = said(command.output().expect("it starts")).expect(1);
    insta::assert_snapshot!(redacted(&ran.stderr), @"
    error: it is not known which commit is checked out; it may be another one than `pull_request` is about ([HASH]): there is no git repository here
      help: check the change out with `actions/checkout`, in a job or a container that has `git`, and run Kelvin in that folder
    ");
    assert!(rig.comments().is_empty());
}

#[test]
fn a_setup_that_checks_the_base_out_is_found_out() {
    let mut rig = Rig::new(CONSTANT);
    let ran = rig.on("pull_request", &["--setup", "git checkout --quiet main"]);
    let ran = ran.expect(1);
    insta::assert_snapshot!(redacted(&lines_with(&ran.log(), &["`pull_request`"])), @"
    ::error title=Kelvin::what is checked out is not the change: `pull_request` is about the commit [HASH], and HEAD is [HASH] help: leave out `ref` of `actions/checkout`, or write `ref: ${{ github.event.pull_request.head.sha }}` under its `with:`
    error: what is checked out is not the change: `pull_request` is about the commit [HASH], and HEAD is [HASH]
    ");
    assert!(rig.comments().is_empty());
}

#[test]
fn a_run_by_hand_may_check_anything_out_and_speaks_of_that_alone() {
    let mut rig = Rig::new(CONSTANT);
    // It was started on the branch, and checks the base out.
    git(rig.project.root(), &["checkout", "--quiet", "main"]);
    let sha = rig.head.clone();
    let payload = rig.payload("workflow_dispatch");
    let (mut command, _) = rig.command("workflow_dispatch", &payload, &["--check-run"]);
    command.env("GITHUB_SHA", &sha);
    said(command.output().expect("it starts")).expect(0);
    assert!(rig.comments().is_empty(), "{:?}", rig.comments());
    assert_eq!(
        rig.checks()[0].2,
        rig.base,
        "the check is of what was measured"
    );
}

#[test]
fn the_gate_alone_refuses_the_base_as_well() {
    let (rig, ..) = on_the_base();
    let payload = rig.payload("pull_request_target");
    let path = rig.project.path("../event.json");
    fs::write(&path, payload.to_string()).expect("written");
    let event = path.to_str().expect("UTF-8");
    let arguments = [
        "gate",
        "--event",
        event,
        "--event-name",
        "pull_request_target",
    ];
    let said = rig.project.kelvin(&arguments).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: what is checked out is not the change: `pull_request_target` is about the commit [HASH], and HEAD is [HASH]
      help: `pull_request_target` checks out the base unless it is told otherwise. Write `ref: ${{ github.event.pull_request.head.sha }}` under `with:` of `actions/checkout`. Mind that the code of the pull request then runs beside the secrets and the token of this repository: do that only where everybody whose pull request is run may have them. `on: pull_request`, with `post/` on `workflow_run` for forks, needs no such trust
    ");
    // Nor is a report of the base the report of the change.
    rig.project.check();
    fs::copy(
        rig.project.path("kelvin/report.json"),
        rig.project.path("../base.json"),
    )
    .expect("copied");
    git(rig.project.root(), &["checkout", "--quiet", "feature"]);
    let judged = [&arguments[..], &["--report", "../base.json"]].concat();
    let said = rig.project.kelvin(&judged).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: what is checked out is not the change: `pull_request_target` is about the commit [HASH], and the report is of [HASH]
      help: `pull_request_target` checks out the base unless it is told otherwise. Write `ref: ${{ github.event.pull_request.head.sha }}` under `with:` of `actions/checkout`. Mind that the code of the pull request then runs beside the secrets and the token of this repository: do that only where everybody whose pull request is run may have them. `on: pull_request`, with `post/` on `workflow_run` for forks, needs no such trust
    ");
}
