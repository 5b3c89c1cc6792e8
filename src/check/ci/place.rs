//! The place of a run: its pull request, its base branch, its workflow, and the pull request where it can ask for the
//! approval of a regression or look for an earlier one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::CiRequest;
use crate::baseline::{BaselinePull, CheckedOut, Hint};
use crate::check::approval::{ApprovalSite, ChangeStage};
use crate::check::named;
use kelvin_base::exit::Misuse;
use kelvin_gate::approval::Origin;
use kelvin_github::publish::event::Variables;
use kelvin_github::publish::{Context, event};
use kelvin_github::{Client, PullRequest};
use kelvin_run::config::Config;

/// The context of a run, as far as the event describes it.
pub(super) fn run_context(request: &CiRequest<'_>) -> Context {
    event::context(&request.event, &request.payload, request.variables)
}

/// Checks which commit is checked out. If an event is about a commit, that commit has to be checked out. For any other
/// event, the run and its check run belong to the commit that is checked out. Fails with a [`Misuse`] if the commit of
/// the event is not checked out.
pub(super) fn checked_out(hint: &Hint, root: &Path, context: &mut Context) -> anyhow::Result<()> {
    if let Some(tip) = &hint.tip {
        tip.demand(root)?;
    } else if let Ok(found) = CheckedOut::of(root) {
        context.head_sha = found.commit.to_string();
    }
    Ok(())
}

/// Checks that the container has the programs of all commands, so that the calls do not fail one after the other. Fails
/// with a [`Misuse`] that recommends the other action.
pub(super) fn demand_command(config: &Config) -> anyhow::Result<()> {
    for target in config.targets() {
        let start = target.look_up(&config.root)?;
        let program = start.program.filter(|program| !program.contains('/'));
        if let (Some(program), None) = (program, start.found) {
            return Err(Misuse::new(format!(
                "`run`: `{program}` was not found inside the container: a container action cannot \
                 see what `setup-python` or a similar action installed in the job"
            ))
            .help("install it with the input `setup`, or use `org/kelvin-action/host@v1`")
            .into());
        }
    }
    Ok(())
}

/// Finds the open pull request of a branch whose run was started by hand or by a schedule. Fails with the reason why
/// GitHub gave no answer; the run continues without a pull request.
pub(super) fn find_pull_request(
    client: Option<&Client>,
    root: &Path,
    context: &mut Context,
    hint: &mut Hint,
) -> Result<(), String> {
    let by_hand = matches!(&*context.event, "workflow_dispatch" | "schedule");
    let (true, Some(client), Some(branch)) = (by_hand, client, &context.branch) else {
        return Ok(());
    };
    if hint.default_branch.as_ref() == Some(branch) {
        return Ok(());
    }
    let (owner, _) = context.repository.split_once('/').unwrap_or_default();
    let found = client
        .pull_requests_of(owner, branch)
        .map_err(|error| error.to_string())?;
    // A run that was started by hand may have checked out any commit; its result is about that commit only.
    let checked_out = CheckedOut::of(root).ok();
    let here = |request: &kelvin_github::PullRequest| {
        let is_here = |found: &CheckedOut| found.has(&request.head.sha);
        request.state == "open" && checked_out.as_ref().is_some_and(is_here)
    };
    if let Some(request) = found.into_iter().find(here) {
        context.pull_request = Some(request.number);
        context.head_sha.clone_from(&request.head.sha);
        hint.pull_request = Some(BaselinePull {
            head: request.head.sha,
            base_ref: request.base.branch,
        });
    }
    Ok(())
}

/// The branch on whose pushes the reports for the comparison with this run are stored.
pub(super) fn base_branch(hint: &Hint, context: &Context) -> String {
    let of_request = hint.pull_request.as_ref().map(|request| &request.base_ref);
    let of_push = context.branch.as_ref().filter(|_| context.may_save());
    of_request
        .or(of_push)
        .or(hint.default_branch.as_ref())
        .cloned()
        .unwrap_or_default()
}

/// The file of the workflow: `.github/workflows/kelvin.yml`.
pub(super) fn workflow(context: &Context) -> Option<String> {
    let (path, _) = context.workflow_ref.split_once('@')?;
    let file = path.strip_prefix(&context.repository)?.strip_prefix('/')?;
    Some(file.to_owned())
}

/// The folder of the configuration within its repository.
pub(super) fn folder(config: &Config) -> String {
    let folder = named::folder(&config.root).unwrap_or_default();
    folder.to_str().unwrap_or_default().to_owned()
}

/// The path of a file relative to the top of its repository; unchanged if the file is outside.
pub(super) fn in_repository(root: &Path, file: &Path) -> String {
    let inside = named::within(root, file);
    let inside = inside.and_then(|path| path.to_str().map(str::to_owned));
    inside.unwrap_or_else(|| file.display().to_string())
}

/// The path of a folder for the other steps of the job: relative to the workspace, which has another path in a
/// container.
pub(super) fn seen(folder: &Path, variables: &event::Variables<'_>) -> PathBuf {
    let workspace = variables("GITHUB_WORKSPACE").map(PathBuf::from);
    workspace
        .and_then(|workspace| folder.strip_prefix(workspace).ok().map(Path::to_path_buf))
        .unwrap_or_else(|| folder.to_path_buf())
}

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
