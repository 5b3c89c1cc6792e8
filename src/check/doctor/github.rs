//! The event, the token and its permissions.

use serde_json::Value;

use super::{Answer, Finding, JOB, Right, Rights, STEP, Surroundings};
use crate::file;

/// The events that say where a change begins, or that need no base.
const EVENTS: [&str; 7] = [
    "pull_request",
    "pull_request_target",
    "merge_group",
    "push",
    "workflow_dispatch",
    "schedule",
    "workflow_run",
];

const TRIGGERS: &str = "on: { pull_request: {}, push: { branches: [main] }, merge_group: {}, \
                        workflow_dispatch: {} }";

/// Looks at the event; its payload, where it can be read.
pub(super) fn event(around: &Surroundings, findings: &mut Vec<Finding>) -> Option<Value> {
    let (Some(name), Some(path)) = (&around.event, &around.payload) else {
        findings.push(if around.on_github {
            Finding::missing(
                "event",
                "this is a job of GitHub Actions, and `GITHUB_EVENT_NAME` or `GITHUB_EVENT_PATH` \
                 is not set",
            )
            .add(
                STEP,
                "env:\n  GITHUB_EVENT_NAME: ${{ github.event_name }}\n  GITHUB_EVENT_PATH: ${{ \
                 github.event_path }}",
            )
        } else {
            Finding::ok(
                "event",
                "none, since this is no job of GitHub Actions; a change begins where it left the \
                 default branch",
            )
        });
        return None;
    };
    let payload = file::read(path).and_then(|text| Ok(serde_json::from_str::<Value>(&text)?));
    let payload = match payload {
        Ok(payload) => payload,
        Err(error) => {
            findings.push(Finding::missing(
                "event",
                format!("the payload of the event `{name}` cannot be read: {error:#}"),
            ));
            return None;
        }
    };
    findings.push(judged(name, &payload));
    Some(payload)
}

fn judged(name: &str, payload: &Value) -> Finding {
    if !EVENTS.contains(&name) {
        return Finding::warn(
            "event",
            format!(
                "`{name}` does not say where a change begins; known are {}",
                EVENTS.join(", ")
            ),
        )
        .add("the workflow, at its top", TRIGGERS);
    }
    let is_request = name.starts_with("pull_request");
    if is_request && payload.pointer("/pull_request/head/sha").is_none() {
        return Finding::missing(
            "event",
            format!("the payload of `{name}` names no pull request; is it of another event?"),
        );
    }
    if name == "pull_request_target" && is_fork(payload) {
        return Finding::missing(
            "event",
            "`pull_request_target` on a fork: its code would run with the secrets of this \
             repository, so it is not run",
        )
        .add("the workflow, at its top", "on: { pull_request: {} }");
    }
    let what = match payload
        .pointer("/pull_request/base/ref")
        .and_then(Value::as_str)
    {
        Some(base) => format!("`{name}` into `{base}`, with a payload that can be read"),
        None => format!("`{name}`, with a payload that can be read"),
    };
    Finding::ok("event", what)
}

/// The number of the pull request.
pub(super) fn number(payload: &Value) -> Option<u64> {
    payload.pointer("/pull_request/number")?.as_u64()
}

/// Whether a pull request comes from another repository.
fn is_fork(payload: &Value) -> bool {
    let name = |pointer| payload.pointer(pointer).and_then(Value::as_str);
    payload.pointer("/pull_request").is_some()
        && name("/pull_request/head/repo/full_name") != name("/repository/full_name")
}

/// Looks at the token and, where GitHub can be asked, at its permissions.
pub(super) fn token(
    around: &Surroundings,
    payload: Option<&Value>,
    rights: Option<&Rights<'_>>,
    findings: &mut Vec<Finding>,
) {
    if !around.token {
        findings.push(if around.on_github {
            Finding::missing(
                "token",
                "neither `GITHUB_TOKEN` nor the input `token` is set: nothing can be posted",
            )
            .add(STEP, "env:\n  GITHUB_TOKEN: ${{ github.token }}")
        } else {
            Finding::ok(
                "token",
                "none, and none is needed where nothing is posted to GitHub",
            )
        });
        return;
    }
    findings.push(Finding::ok("token", "there is one"));
    if payload.is_some_and(is_fork) {
        findings.push(
            Finding::warn(
                "permissions",
                "the pull request comes from a fork: its token can only read and has no secrets, \
                 whatever `permissions:` says; the second workflow posts for it",
            )
            .add(
                "a workflow of its own",
                "on: { workflow_run: { workflows: [kelvin], types: [completed] } }\npermissions: { \
                 actions: read, contents: read, pull-requests: write }\njobs:\n  post:\n    \
                 runs-on: ubuntu-latest\n    steps:\n      - uses: org/kelvin-action/post@v1",
            ),
        );
        return;
    }
    if let Some(rights) = rights {
        findings.push(permissions(around, rights));
    }
}

/// What the event needs.
fn needed(event: Option<&str>) -> Vec<Right> {
    let right = |name, write, purpose| Right {
        name,
        write,
        purpose,
    };
    let pushes = event == Some("push");
    let mut needed = vec![match pushes {
        true => right("contents", true, "to keep the baseline on a branch"),
        false => right("contents", false, "to read the base"),
    }];
    if !pushes {
        needed.push(right("pull-requests", true, "for the comment"));
        needed.push(right("checks", true, "for the check run"));
    }
    needed.push(right("actions", false, "for baselines in artifacts"));
    needed
}

fn permissions(around: &Surroundings, rights: &Rights<'_>) -> Finding {
    let (mut refused, mut open) = (Vec::new(), Vec::new());
    for right in needed(around.event.as_deref()) {
        let level = if right.write { "write" } else { "read" };
        match rights(right) {
            Answer::Granted => {}
            Answer::Refused(why) => refused.push(format!(
                "`{}: {level}` {} was refused: {why}",
                right.name, right.purpose
            )),
            Answer::Unknown => open.push(format!("`{}: {level}`", right.name)),
        }
    }
    match (refused.is_empty(), open.is_empty()) {
        (true, true) => Finding::ok("permissions", "the token has what it needs"),
        (true, false) => Finding::ok(
            "permissions",
            format!(
                "nothing was refused; only use can tell of {}",
                open.join(", ")
            ),
        ),
        (false, _) => Finding::missing("permissions", refused.join("; ")).add(
            JOB,
            "permissions:\n  contents: write\n  pull-requests: write\n  checks: write\n  actions: \
             read",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::doctor::Status;

    fn around(event: &str) -> Surroundings {
        Surroundings {
            on_github: true,
            event: Some(event.to_owned()),
            token: true,
            ..Surroundings::default()
        }
    }

    fn asked(event: &str, payload: &Value, rights: &Rights<'_>) -> Finding {
        let mut findings = Vec::new();
        token(&around(event), Some(payload), Some(rights), &mut findings);
        findings.pop().expect("the permissions come last")
    }

    #[test]
    fn a_refused_permission_is_missing_with_the_lines_to_add() {
        let found = asked("push", &json!({}), &|right| match right.name {
            "contents" => Answer::Refused("403: not accessible by integration".to_owned()),
            _ => Answer::Granted,
        });
        assert_eq!(found.status, Status::Missing);
        assert!(
            found
                .text
                .contains("`contents: write` to keep the baseline"),
            "{}",
            found.text
        );
        assert!(found.text.contains("403"), "{}", found.text);
        let add = found.add.expect("lines");
        assert!(add.lines.contains("contents: write"));
    }

    #[test]
    fn what_only_use_can_tell_is_no_reason_to_stop() {
        let found = asked("pull_request", &json!({}), &|right| match right.write {
            true => Answer::Unknown,
            false => Answer::Granted,
        });
        assert_eq!(found.status, Status::Ok);
        assert!(
            found.text.contains("`pull-requests: write`"),
            "{}",
            found.text
        );
        let found = asked("pull_request", &json!({}), &|_| Answer::Granted);
        assert_eq!(found.text, "the token has what it needs");
    }

    #[test]
    fn the_token_of_a_fork_is_not_asked_and_the_second_workflow_named() {
        let fork = json!({
            "pull_request": { "head": { "sha": "a", "repo": { "full_name": "eve/tool" } } },
            "repository": { "full_name": "org/tool" },
        });
        let found = asked("pull_request", &fork, &|_| panic!("it is not asked"));
        assert_eq!(found.status, Status::Warn);
        assert!(
            found
                .add
                .expect("lines")
                .lines
                .contains("kelvin-action/post@v1")
        );
        let target = judged("pull_request_target", &fork);
        assert_eq!(target.status, Status::Missing);
        // A fork that was deleted since has no repository, and is still none of ours.
        let gone = json!({
            "pull_request": { "head": { "sha": "a", "repo": null } },
            "repository": { "full_name": "org/tool" },
        });
        assert!(is_fork(&gone));
    }
}
