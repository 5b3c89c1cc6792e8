//! Finds the pull request where a run can ask for the approval of a regression, or look for an earlier approval.

use std::sync::Arc;

use serde_json::Value;

use super::CiRequest;
use crate::baseline::Hint;
use crate::check::approval::{ApprovalSite, ChangeStage};
use crate::check::named;
use kelvin_gate::approval::Origin;
use kelvin_github::publish::Context;
use kelvin_github::publish::event::Variables;
use kelvin_github::{Client, PullRequest};
use kelvin_run::config::Config;

/// The variable with a token that may read the members of teams.
const TEAMS_TOKEN: &str = "KELVIN_TEAMS_TOKEN";

/// The pull request of a run: its own, or the one whose merge started the run.
pub(super) fn approval_site(
    client: Option<&Arc<Client>>,
    context: &Context,
    hint: &Hint,
    (config, request): (&Config, &CiRequest<'_>),
) -> Option<ApprovalSite> {
    let client = client?;
    let (number, head, rules_at, stage) = match context.pull_request {
        Some(number) => {
            let base = hint
                .pull_request
                .as_ref()
                .map(|request| request.base_ref.clone());
            (
                number,
                context.head_sha.clone(),
                base.unwrap_or_default(),
                ChangeStage::Open,
            )
        }
        // A configuration that never asks for approval needs no request to GitHub.
        None if config.gate.approval.is_some() => merged(client, context, request)?,
        None => return None,
    };
    Some(ApprovalSite {
        registry: request.gate.check.registry,
        client: Arc::clone(client),
        teams: teams(client, request.variables),
        origin: Origin {
            pull_request: number,
            key: context.configuration.clone(),
            config: named::file_of(config),
            run: context.run_id.parse().unwrap_or(0),
            attempt: context.run_attempt.parse().unwrap_or(1),
        },
        head,
        rules_at,
        stage,
    })
}

/// The client that may read team members: one with the token of the variable, otherwise the same client.
pub(super) fn teams(client: &Arc<Client>, variables: &Variables<'_>) -> Arc<Client> {
    let other = variables(TEAMS_TOKEN).and_then(|token| client.with_token(&token).ok());
    other.map_or_else(|| Arc::clone(client), Arc::new)
}

/// The pull request that was merged by a push or is in a merge group, and the commit with the rules that count for it.
fn merged(
    client: &Client,
    context: &Context,
    request: &CiRequest<'_>,
) -> Option<(u64, String, String, ChangeStage)> {
    let (found, rules_at) = match context.event.as_str() {
        "push" => {
            let found = client.pull_requests_with(&context.head_sha).ok()?;
            // Somebody may push a commit of another branch to this branch, without an approval for this branch.
            let is_merge = |request: &PullRequest| {
                request.merged_at.is_some()
                    && request.merge_commit_sha.as_deref() == Some(&*context.head_sha)
                    && context.branch.as_ref() == Some(&request.base.branch)
            };
            (found.into_iter().find(is_merge)?, before(&request.payload))
        }
        "merge_group" => {
            let branch = request.payload.pointer("/merge_group/head_ref")?.as_str()?;
            let found = client.pull_request(number_of(branch)?).ok()?;
            let rules_at = found.base.branch.clone();
            (found, rules_at)
        }
        _ => return None,
    };
    Some((found.number, found.head.sha, rules_at, ChangeStage::Merging))
}

/// The commit of a branch before a push; empty if the event does not name it, so that no rules are found.
fn before(payload: &Value) -> String {
    let before = payload["before"].as_str().unwrap_or_default();
    let is_commit = before.len() >= 40
        && before.bytes().all(|byte| byte.is_ascii_hexdigit())
        && before.bytes().any(|byte| byte != b'0');
    match is_commit {
        true => before.to_owned(),
        false => String::new(),
    }
}

/// The number in `refs/heads/gh-readonly-queue/main/pr-7-SHA`.
fn number_of(branch: &str) -> Option<u64> {
    let (_, name) = branch.rsplit_once("/pr-")?;
    name.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_before_a_push_are_those_of_a_commit_or_of_nothing() {
        let commit = "0a1b2c3d4e".repeat(4);
        let of = |value: serde_json::Value| before(&serde_json::json!({ "before": value }));
        assert_eq!(of(commit.as_str().into()), commit);
        let zeros = "0".repeat(40);
        for none in [zeros.as_str(), "main", "../main", "", "0a1b2c3"] {
            assert_eq!(of(none.into()), "", "{none}");
        }
        assert_eq!(of(7.into()), "");
        assert_eq!(before(&serde_json::Value::Null), "");
    }

    #[test]
    fn the_branch_of_a_merge_queue_names_its_pull_request() {
        for (branch, number) in [
            ("refs/heads/gh-readonly-queue/main/pr-7-abc", Some(7)),
            (
                "refs/heads/gh-readonly-queue/release/2.x/pr-12-0a1b",
                Some(12),
            ),
            ("refs/heads/main", None),
            ("refs/heads/pr-", None),
            ("refs/heads/x/pr-y-1", None),
        ] {
            assert_eq!(number_of(branch), number, "{branch}");
        }
    }
}
