//! Checks the event, the token and its permissions.

use super::{DoctorFinding, DoctorSurroundings, JOB, PermissionAnswer, Right, Rights, STEP};
use kelvin_base::file;
use kelvin_github::publish::Context;
use kelvin_github::publish::event::{Variables, context};
use kelvin_github::{Client, Error};
use serde_json::Value;

/// The events that name the base of a change, or that need no base.
const EVENTS: [&str; 8] = [
    "pull_request",
    "pull_request_review",
    "pull_request_target",
    "merge_group",
    "push",
    "workflow_dispatch",
    "schedule",
    "workflow_run",
];

/// The events that a workflow should have.
fn triggers(payload: &Value) -> String {
    let branch = payload.pointer("/repository/default_branch");
    let branch = branch.and_then(Value::as_str).unwrap_or("main");
    format!(
        "on: {{ pull_request: {{}}, push: {{ branches: [{branch}] }}, merge_group: {{}}, workflow_dispatch: {{}} }}"
    )
}

/// Checks the event; returns its payload and the context of the run, if they can be read.
pub(super) fn event(
    around: &DoctorSurroundings,
    variables: &Variables<'_>,
    findings: &mut Vec<DoctorFinding>,
) -> Option<(Value, Context)> {
    let (Some(name), Some(path)) = (&around.event, &around.payload) else {
        findings.push(if around.on_github {
            DoctorFinding::missing(
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
            DoctorFinding::ok(
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
            findings.push(DoctorFinding::missing(
                "event",
                format!("the payload of the event `{name}` cannot be read: {error:#}"),
            ));
            return None;
        }
    };
    let context = context(name, &payload, variables);
    findings.push(judged(&context, &payload));
    Some((payload, context))
}

fn judged(context: &Context, payload: &Value) -> DoctorFinding {
    let name = context.event.as_str();
    if !EVENTS.contains(&name) {
        return DoctorFinding::warn(
            "event",
            format!(
                "`{name}` does not say where a change begins; known are {}",
                EVENTS.join(", ")
            ),
        )
        .add("the workflow, at its top", triggers(payload));
    }
    let is_request = name.starts_with("pull_request");
    if is_request && payload.pointer("/pull_request/head/sha").is_none() {
        return DoctorFinding::missing(
            "event",
            format!("the payload of `{name}` names no pull request; is it of another event?"),
        );
    }
    if let Some(why) = context.refusal() {
        return DoctorFinding::missing("event", why)
            .add("the workflow, at its top", "on: { pull_request: {} }");
    }
    let what = match payload
        .pointer("/pull_request/base/ref")
        .and_then(Value::as_str)
    {
        Some(base) => format!("`{name}` into `{base}`, with a payload that can be read"),
        None => format!("`{name}`, with a payload that can be read"),
    };
    DoctorFinding::ok("event", what)
}

/// Checks the token and, if GitHub is available, its permissions.
pub(super) fn token(
    around: &DoctorSurroundings,
    context: Option<&Context>,
    rights: Option<&Rights<'_>>,
    findings: &mut Vec<DoctorFinding>,
) {
    if !around.token {
        findings.push(if around.on_github {
            DoctorFinding::missing(
                "token",
                "neither `GITHUB_TOKEN` nor the input `token` is set: nothing can be posted",
            )
            .add(STEP, "env:\n  GITHUB_TOKEN: ${{ github.token }}")
        } else {
            DoctorFinding::ok(
                "token",
                "none, and none is needed where nothing is posted to GitHub",
            )
        });
        return;
    }
    findings.push(DoctorFinding::ok("token", "there is one"));
    if context.is_some_and(|context| context.read_only) {
        findings.push(
            DoctorFinding::warn(
                "permissions",
                "a pull request of a fork or of Dependabot: its token can only read and has no \
                 secrets, whatever `permissions:` says; a second workflow posts for it",
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

/// The permissions that the event requires.
fn needed(event: Option<&str>, check_run: bool) -> Vec<Right> {
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
    }
    if !pushes && check_run {
        needed.push(right("checks", true, "for the check run"));
    }
    needed.push(right("actions", false, "for baselines in artifacts"));
    needed
}

fn permissions(around: &DoctorSurroundings, rights: &Rights<'_>) -> DoctorFinding {
    let (mut refused, mut open) = (Vec::new(), Vec::new());
    for right in needed(around.event.as_deref(), around.check_run) {
        let level = if right.write { "write" } else { "read" };
        match rights(right) {
            PermissionAnswer::Granted => {}
            PermissionAnswer::Refused(why) => refused.push(format!(
                "`{}: {level}` {} was refused: {why}",
                right.name, right.purpose
            )),
            PermissionAnswer::Unknown => open.push(format!("`{}: {level}`", right.name)),
        }
    }
    match (refused.is_empty(), open.is_empty()) {
        (true, true) => DoctorFinding::ok("permissions", "the token has what it needs"),
        (true, false) => DoctorFinding::ok(
            "permissions",
            format!(
                "nothing was refused; whether {} is granted shows only in use",
                open.join(", ")
            ),
        ),
        (false, _) => {
            let checks = if around.check_run {
                "\n  checks: write"
            } else {
                ""
            };
            let lines = format!(
                "permissions:\n  contents: write\n  pull-requests: write{checks}\n  actions: read"
            );
            DoctorFinding::missing("permissions", refused.join("; ")).add(JOB, lines)
        }
    }
}

/// Asks GitHub about permissions. Only a write would show whether a token may write, so for a write permission this
/// asks whether the token can at least read.
pub(crate) fn rights_of_token(
    client: &Client,
    pull_request: Option<u64>,
) -> impl Fn(Right) -> PermissionAnswer {
    move |right| {
        let asked = match (right.name, pull_request) {
            ("contents", _) => client.repository_facts().map(|_| ()),
            ("actions", _) => client.artifacts("kelvin-doctor").map(|_| ()),
            ("pull-requests", Some(number)) => client.pull_request(number).map(|_| ()),
            _ => return PermissionAnswer::Unknown,
        };
        match asked {
            Ok(()) if right.write => PermissionAnswer::Unknown,
            Ok(()) => PermissionAnswer::Granted,
            Err(Error::Refused(refusal)) if matches!(refusal.status, 401 | 403 | 404) => {
                PermissionAnswer::Refused(match refusal.message.as_str() {
                    "" => refusal.status.to_string(),
                    message => format!("{} {message}", refusal.status),
                })
            }
            Err(_) => PermissionAnswer::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::doctor::NeedStatus;

    fn around(event: &str) -> DoctorSurroundings {
        DoctorSurroundings {
            on_github: true,
            event: Some(event.to_owned()),
            token: true,
            ..DoctorSurroundings::default()
        }
    }

    fn context_of(event: &str, payload: &Value) -> Context {
        context(event, payload, &|name| {
            (name == "GITHUB_REPOSITORY").then(|| "org/tool".to_owned())
        })
    }

    fn asked(event: &str, payload: &Value, rights: &Rights<'_>) -> DoctorFinding {
        let mut findings = Vec::new();
        let context = context_of(event, payload);
        token(&around(event), Some(&context), Some(rights), &mut findings);
        findings.pop().expect("the permissions come last")
    }

    fn request(head: &Value, author: &str) -> Value {
        json!({ "pull_request": {
            "head": { "sha": "a", "repo": head }, "user": { "login": author },
        } })
    }

    #[test]
    fn a_refused_permission_is_missing_with_the_lines_to_add() {
        let found = asked("push", &json!({}), &|right| match right.name {
            "contents" => {
                PermissionAnswer::Refused("403: not accessible by integration".to_owned())
            }
            _ => PermissionAnswer::Granted,
        });
        assert_eq!(found.status, NeedStatus::Missing);
        insta::assert_snapshot!(found.text, @"`contents: write` to keep the baseline on a branch was refused: 403: not accessible by integration");
        let add = found.add.expect("lines");
        assert!(add.lines.contains("contents: write"));
    }

    #[test]
    fn the_right_to_write_check_runs_is_asked_for_where_one_is_wanted() {
        let payload = request(&json!({ "full_name": "org/tool" }), "ann");
        for (check_run, status) in [(false, NeedStatus::Ok), (true, NeedStatus::Missing)] {
            let around = DoctorSurroundings {
                check_run,
                ..around("pull_request")
            };
            let context = context_of("pull_request", &payload);
            let mut findings = Vec::new();
            let no_checks = |right: Right| match right.name {
                "checks" => PermissionAnswer::Refused("403".to_owned()),
                _ => PermissionAnswer::Granted,
            };
            token(&around, Some(&context), Some(&no_checks), &mut findings);
            let found = findings.pop().expect("the permissions come last");
            assert_eq!(found.status, status, "{}", found.text);
            let lines = found.add.map(|add| add.lines).unwrap_or_default();
            assert_eq!(lines.contains("checks: write"), check_run, "{lines}");
        }
    }

    #[test]
    fn what_only_use_can_tell_is_no_reason_to_stop() {
        let found = asked(
            "pull_request",
            &request(&json!({ "full_name": "org/tool" }), "ann"),
            &|right| match right.write {
                true => PermissionAnswer::Unknown,
                false => PermissionAnswer::Granted,
            },
        );
        assert_eq!(found.status, NeedStatus::Ok);
        assert!(
            found.text.contains("`pull-requests: write`"),
            "{}",
            found.text
        );
        let found = asked(
            "pull_request",
            &request(&json!({ "full_name": "org/tool" }), "ann"),
            &|_| PermissionAnswer::Granted,
        );
        insta::assert_snapshot!(found.text, @"the token has what it needs");
    }

    #[test]
    fn a_token_that_can_only_read_is_not_asked_and_the_second_workflow_named() {
        let ours = json!({ "full_name": "org/tool" });
        let fork = json!({ "full_name": "eve/tool" });
        for (head, author) in [
            (&fork, "eve"),
            // A fork that was deleted since has no repository, and is still none of ours.
            (&Value::Null, "eve"),
            (&ours, "dependabot[bot]"),
        ] {
            let found = asked("pull_request", &request(head, author), &|_| {
                panic!("it is not asked")
            });
            assert_eq!(found.status, NeedStatus::Warn);
            let add = found.add.expect("lines");
            assert!(add.lines.contains("kelvin-action/post@v1"));
        }
        let payload = request(&fork, "eve");
        let target = judged(&context_of("pull_request_target", &payload), &payload);
        assert_eq!(target.status, NeedStatus::Missing);
        let own = asked("pull_request", &request(&ours, "ann"), &|_| {
            PermissionAnswer::Granted
        });
        assert_eq!(own.status, NeedStatus::Ok);
    }
}
