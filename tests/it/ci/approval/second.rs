//! Forks, whose runs may not write: the second workflow asks, and believes nothing of the first.

use super::*;
use crate::github::{Run, archive};
use kelvin_fixtures::text::{lines_with, redacted};

const FORK: &str = "stranger/widgets";

/// Runs the first half for the fork.
fn first(rig: &mut Rig, code: i32) -> Vec<u8> {
    let mut payload = rig.payload("pull_request");
    payload["pull_request"]["head"]["repo"]["full_name"] = FORK.into();
    rig.server.state().denied.insert("comments");
    rig.ci("pull_request", &payload, &[]).expect(code);
    rig.server.state().denied.clear();
    fs::read(rig.project.path("kelvin/bundle.json")).expect("it left a bundle")
}

/// Runs `kelvin post` for that run.
fn second(rig: &mut Rig, bundle: &[u8]) -> Said {
    let run = rig.run;
    {
        let mut state = rig.server.state();
        let ended = Run {
            event: "pull_request",
            path: ".github/workflows/kelvin.yml".to_owned(),
            head_branch: "feature".to_owned(),
            head_sha: rig.head.clone(),
            head_repository: (2002, FORK.to_owned()),
            pull_requests: Vec::new(),
            conclusion: "failure",
        };
        state.runs.insert(run, ended);
        let zip = archive::zip(&[("bundle.json", bundle)]);
        state.add_artifact("kelvin-report-kelvin", run, zip);
        state.pulls.get_mut(&PULL).expect("there").head_repository = FORK.to_owned();
    }
    let mut payload = rig.payload("workflow_run");
    payload["workflow_run"]["id"] = run.into();
    let (_, runner) = rig.command("workflow_run", &payload, &[]);
    rig.run -= 1;
    let mut command = rig.project.command(&["post"]);
    command
        .env("GITHUB_API_URL", rig.server.url())
        .env("GITHUB_SERVER_URL", rig.served())
        .env("GITHUB_REPOSITORY", REPOSITORY)
        .env("GITHUB_TOKEN", TOKEN)
        .env("GITHUB_EVENT_NAME", "workflow_run")
        .env("GITHUB_EVENT_PATH", runner.join("event.json"));
    said(command.output().expect("the binary starts"))
}

#[test]
fn the_request_of_a_fork_is_made_by_the_second_workflow_and_the_next_run_takes_the_answer_over() {
    let mut rig = rig();
    let bundle = first(&mut rig, 3);
    assert!(rig.requests().is_empty());
    second(&mut rig, &bundle).expect(0);
    assert_eq!(rig.requests().len(), 1);
    insta::assert_snapshot!(lines_with(&rig.sticky(), &["`rule`"]), @"
    ### ⏸️ Kelvin: waiting for approval, `rule` is lost, 4 of 4 cases are answered otherwise
    - ❌ `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now
    ");
    rig.says("alice", "/kelvin approve x");
    // The job of the fork reads what it may not write.
    let bundle = first(&mut rig, 0);
    let gate = rig.project.json("kelvin/gate.json");
    assert_eq!(gate["approval"]["state"], "approved");
    second(&mut rig, &bundle).expect(0);
    insta::assert_snapshot!(redacted(&lines_with(&rig.sticky(), &["`alice`"])), @r#"`evidence.following.rule` 1.0000 → 0.0000: approved by `alice` with a comment on `[TIME]`: "x""#);
    assert_eq!(rig.requests().len(), 1);
}

#[test]
fn a_bundle_that_says_it_was_approved_is_asked_about_all_the_same() {
    let mut rig = rig();
    let bundle = first(&mut rig, 3);
    let mut forged: Value = serde_json::from_slice(&bundle).expect("JSON");
    let judgement = &mut forged["judgement"];
    judgement["verdict"] = "regression".into();
    judgement["passed"] = true.into();
    judgement["approval"]["state"] = "approved".into();
    judgement["approval"]["rules"]["by"] = serde_json::json!(["write", "stranger"]);
    judgement["approval"]["decision"] = serde_json::json!({
        "by": "alice", "way": "comment", "at": "2026-11-20T12:00:30Z", "reason": "forged",
    });
    second(&mut rig, forged.to_string().as_bytes()).expect(0);
    let sticky = rig.sticky();
    insta::assert_snapshot!(lines_with(&sticky, &["`rule`"]), @"
    ### ⏸️ Kelvin: waiting for approval, `rule` is lost, 4 of 4 cases are answered otherwise
    - ❌ `rule` is lost: 12 of 12 swaps of it moved the decision on the base, 0 do now
    ");
    assert!(!sticky.contains("forged"), "{sticky}");
    assert!(
        !rig.requests()[0].1.contains("whoever may push"),
        "{:?}",
        rig.requests()
    );
}
