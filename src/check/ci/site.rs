//! Where a run can ask for the approval of a regression, or look for one that was given.

use std::path::Path;
use std::sync::Arc;

use super::{CiRequest, place};
use crate::baseline::Hint;
use crate::check::approval::{Site, Stage};
use crate::config::Config;
use crate::gate::approval::Origin;
use crate::github::Client;
use crate::publish::Context;
use crate::publish::event::Variables;

/// The variable of a token that may see the members of teams.
const TEAMS_TOKEN: &str = "KELVIN_TEAMS_TOKEN";

/// The pull request that a run is about: its own; or the one that is merged by what the run is about.
pub(super) fn of(
    client: Option<&Arc<Client>>,
    context: &Context,
    hint: &Hint,
    (config, request): (&Config, &CiRequest<'_>),
) -> Option<Site> {
    let client = client?;
    let (number, head, base_branch, stage) = match context.pull_request {
        Some(number) => {
            let base = hint
                .pull_request
                .as_ref()
                .map(|request| request.base_ref.clone());
            (
                number,
                context.head_sha.clone(),
                base.unwrap_or_default(),
                Stage::Open,
            )
        }
        // Whoever never asks is spared the question.
        None if config.gate.approval.is_some() => merged(client, context, request)?,
        None => return None,
    };
    Some(Site {
        client: Arc::clone(client),
        teams: teams(client, request.variables),
        origin: Origin {
            pull_request: number,
            key: context.configuration.clone(),
            config: file(config),
            run: context.run_id.parse().unwrap_or(0),
            attempt: context.run_attempt.parse().unwrap_or(1),
        },
        head,
        base_branch,
        stage,
    })
}

/// The client that may see teams: one with the token of the variable, else the same.
pub(super) fn teams(client: &Arc<Client>, variables: &Variables<'_>) -> Arc<Client> {
    let other = variables(TEAMS_TOKEN).and_then(|token| client.with_token(&token).ok());
    other.map_or_else(|| Arc::clone(client), Arc::new)
}

/// The pull request whose merge a push or a merge group is.
fn merged(
    client: &Client,
    context: &Context,
    request: &CiRequest<'_>,
) -> Option<(u64, String, String, Stage)> {
    let found = match context.event.as_str() {
        "push" => {
            let found = client.pull_requests_with(&context.head_sha).ok()?;
            let is_merge = |commit: &Option<String>| commit.as_deref() == Some(&*context.head_sha);
            found.into_iter().find(|request| {
                request.merged_at.is_some() && is_merge(&request.merge_commit_sha)
            })?
        }
        "merge_group" => {
            let branch = request.payload.pointer("/merge_group/head_ref")?.as_str()?;
            client.pull_request(number_of(branch)?).ok()?
        }
        _ => return None,
    };
    Some((
        found.number,
        found.head.sha,
        found.base.branch,
        Stage::Merging,
    ))
}

/// The number in `refs/heads/gh-readonly-queue/main/pr-7-SHA`.
fn number_of(branch: &str) -> Option<u64> {
    let (_, name) = branch.rsplit_once("/pr-")?;
    name.split('-').next()?.parse().ok()
}

/// The configuration as the repository names it.
fn file(config: &Config) -> String {
    let folder = place::folder(config);
    let name = config.file.file_name().unwrap_or_default();
    Path::new(&folder).join(name).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
