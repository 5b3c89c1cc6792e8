//! When the workflows that wait measure, by `act`, which evaluates their conditions as GitHub does.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::repository::git;

/// Whether the job of a workflow is run for an event. Its steps are a stand-in, since only what starts them is looked at.
fn runs(repository: &Path, workflow: &str, event: &str, payload: &Value, attempt: u64) -> bool {
    let act = std::env::var_os("KELVIN_ACT").expect("`tests/action/act` says where it is");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/workflows")
        .join(workflow);
    let text = fs::read_to_string(source).expect("read");
    let (before, _) = text.split_once("    steps:\n").expect("steps");
    let file = repository.join(workflow);
    fs::write(&file, format!("{before}    steps:\n      - run: 'true'\n")).expect("written");
    let event_file = repository.join("event.json");
    fs::write(&event_file, payload.to_string()).expect("written");
    let output = Command::new(act)
        .args([
            event,
            "--dryrun",
            "-P",
            "ubuntu-latest=-self-hosted",
            "--env",
        ])
        .arg(format!("GITHUB_RUN_ATTEMPT={attempt}"))
        .arg("-e")
        .arg(&event_file)
        .arg("-W")
        .arg(&file)
        .current_dir(repository)
        .output()
        .expect("act starts");
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{workflow} {event}: {log}{said}");
    log.contains("Job succeeded")
}

#[test]
#[ignore = "takes `act`; `tests/action/act` runs it"]
fn a_workflow_that_waits_measures_what_somebody_asked_for_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    git(here, &["init", "--quiet", "--initial-branch=main"]);
    git(here, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
    let of = |action: &str, added: Option<&str>, has: &[&str]| {
        let labels: Vec<Value> = has.iter().map(|name| json!({ "name": name })).collect();
        json!({
            "action": action,
            "label": added.map(|name| json!({ "name": name })),
            "pull_request": { "number": 7, "labels": labels }
        })
    };
    let review = |state: &str, who: &str| {
        json!({
            "review": { "state": state, "author_association": who },
            "pull_request": { "number": 7 }
        })
    };
    let comment = |body: &str, is_of_pull_request: bool| {
        let mut issue = json!({ "number": 7 });
        if is_of_pull_request {
            issue["pull_request"] = json!({});
        }
        json!({ "action": "created", "issue": issue, "comment": { "body": body } })
    };
    let push = json!({ "ref": "refs/heads/main" });
    for (workflow, event, payload, attempt, is_run) in [
        (
            "on-label.yml",
            "pull_request",
            of("labeled", Some("kelvin"), &["kelvin"]),
            1,
            true,
        ),
        (
            "on-label.yml",
            "pull_request",
            of("labeled", Some("docs"), &["kelvin", "docs"]),
            1,
            false,
        ),
        (
            "on-label.yml",
            "pull_request",
            of("labeled", Some("docs"), &["docs"]),
            1,
            false,
        ),
        (
            "on-label.yml",
            "pull_request",
            of("synchronize", None, &["kelvin"]),
            1,
            true,
        ),
        (
            "on-label.yml",
            "pull_request",
            of("synchronize", None, &["kelvin-approved"]),
            1,
            false,
        ),
        ("on-label.yml", "push", push.clone(), 1, true),
        (
            "on-comment.yml",
            "pull_request",
            of("synchronize", None, &["kelvin"]),
            1,
            false,
        ),
        (
            "on-comment.yml",
            "pull_request",
            of("synchronize", None, &[]),
            2,
            true,
        ),
        ("on-comment.yml", "push", push.clone(), 1, true),
        (
            "on-comment-run.yml",
            "issue_comment",
            comment("/kelvin run", true),
            1,
            true,
        ),
        (
            "on-comment-run.yml",
            "issue_comment",
            comment("/kelvin run", false),
            1,
            false,
        ),
        (
            "on-comment-run.yml",
            "issue_comment",
            comment("so: /kelvin run", true),
            1,
            false,
        ),
        (
            "on-approval.yml",
            "pull_request_review",
            review("approved", "MEMBER"),
            1,
            true,
        ),
        (
            "on-approval.yml",
            "pull_request_review",
            review("approved", "CONTRIBUTOR"),
            1,
            false,
        ),
        (
            "on-approval.yml",
            "pull_request_review",
            review("commented", "OWNER"),
            1,
            false,
        ),
        ("on-approval.yml", "push", push, 1, true),
    ] {
        assert_eq!(
            runs(here, workflow, event, &payload, attempt),
            is_run,
            "{workflow} {event} {payload}"
        );
    }
}
