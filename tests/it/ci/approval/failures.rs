//! A GitHub that does not answer approves nothing.

use super::*;
use crate::repository::tells;
use kelvin_fixtures::text::{lines_with, redacted};

#[test]
fn what_cannot_be_asked_approves_nothing_and_is_named() {
    beside(
        [
            (
                "GET",
                "/collaborators/alice/permission",
                "the right of a user",
            ),
            ("GET", "/issues/7/events", "the labels"),
            ("GET", "/pulls/7/commits", "the pull request"),
            ("GET", "/issues/7/comments", "the comment"),
        ],
        |(method, path, named)| {
            let mut rig = rig();
            rig.waits();
            rig.says("alice", "/kelvin approve x");
            rig.server
                .state()
                .faults
                .push_back(Fault::status(method, path, 1_000, 403));
            rig.on("pull_request", &[]).expect(3);
            let gate = rig.project.json("kelvin/gate.json");
            assert_eq!(gate["verdict"], "pending_approval", "{path}");
            assert_eq!(gate["approval"]["state"], "pending", "{path}");
            let unknown = gate["approval"]["unknown"].to_string();
            assert!(unknown.contains(named), "{path}: {unknown}");
            rig.server.state().faults.clear();
            rig.passes();
        },
    );
}

#[test]
fn rules_of_the_base_that_cannot_be_read_approve_nothing() {
    let place = ("main".to_owned(), "kelvin.yaml".to_owned());
    beside(
        [
            (None, "it is gone"),
            (Some("run: [\n"), "it is no YAML"),
            (Some("gate: { approval: { by: [] } }\n"), "nobody may"),
            (
                Some("gate: { approval: { by: [write], how: wave } }\n"),
                "another way",
            ),
        ],
        |(text, what)| {
            let mut rig = rig();
            rig.waits();
            rig.says("alice", "/kelvin approve x");
            match text {
                None => drop(rig.server.state().files.remove(&place)),
                Some(text) => drop(
                    rig.server
                        .state()
                        .files
                        .insert(place.clone(), text.to_owned()),
                ),
            }
            let gate = rig.judged(3);
            assert_eq!(gate["verdict"], "regression", "{what}");
            assert!(gate["approval"].is_null(), "{what}");
            assert!(tells(&gate, "approval"), "{what}: {gate}");
        },
    );
}

#[test]
fn a_request_that_cannot_be_written_fails_and_says_which_right_is_missing() {
    let mut rig = rig();
    rig.server.state().denied.insert("comments");
    let ran = rig.on("pull_request", &[]).expect(3);
    let gate = rig.project.json("kelvin/gate.json");
    assert_eq!(gate["verdict"], "pending_approval");
    assert!(
        gate["approval"]["unknown"]
            .to_string()
            .contains("pull-requests: write"),
        "{gate}"
    );
    insta::assert_snapshot!(redacted(&lines_with(&ran.summary, &["`alice`"])), @"Waiting for approval of `evidence.following.rule` 1.0000 → 0.0000: `alice` or `bob` or `somebody` comments `/kelvin approve [HASH] REASON` or adds the label `kelvin-approved`; without a decision it fails; nobody could be asked on the pull request: the comment: GitHub answered 403 (Resource not accessible by integration); add `pull-requests: write` to the job's `permissions:`; a run for a fo…");
}

#[test]
fn what_was_not_measured_cannot_be_approved() {
    // Every other case fails, and the rest regress.
    let script =
        format!("case \"$(head -n 1 \"$1\")\" in *alder*|*birch*) exit 1;; esac\n{CONSTANT}");
    let mut rig = with(RULES, &script);
    rig.on("pull_request", &[]).expect(3);
    let gate = rig.project.json("kelvin/gate.json");
    assert_ne!(gate["verdict"], "pending_approval", "{gate}");
    assert!(gate["approval"].is_null());
    assert!(rig.requests().is_empty());
}

#[test]
fn a_dry_run_and_a_run_of_some_cases_ask_nobody() {
    let mut rig = rig();
    rig.on("pull_request", &["--dry-run"]);
    assert!(rig.requests().is_empty());
    rig.on("pull_request", &["--only", "alder"]);
    assert!(rig.requests().is_empty());
    rig.on("pull_request", &["--fail-on", "never"]).expect(0);
    assert!(rig.requests().is_empty());
}
