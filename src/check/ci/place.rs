//! The place of a run: its pull request, its base branch, its workflow.

use std::path::{Path, PathBuf};

use super::CiRequest;
use crate::baseline::{BaselinePull, CheckedOut, Hint};
use crate::check::named;
use kelvin_base::exit::Misuse;
use kelvin_github::Client;
use kelvin_github::publish::{Context, event};
use kelvin_run::config::Config;

/// The context of a run, as far as the event describes it.
pub(super) fn run_context(request: &CiRequest<'_>) -> Context {
    event::context(&request.event, &request.payload, request.variables)
}

/// Checks which commit is checked out. If an event is about a commit, that commit has to be checked out. For any other
/// event, the run and its check run belong to the commit that is checked out.
///
/// # Errors
///
/// A [`Misuse`] if the commit of the event is not checked out.
pub(super) fn checked_out(hint: &Hint, root: &Path, context: &mut Context) -> anyhow::Result<()> {
    if let Some(tip) = &hint.tip {
        tip.demand(root)?;
    } else if let Ok(found) = CheckedOut::of(root) {
        context.head_sha = found.commit.to_string();
    }
    Ok(())
}

/// Checks that the container has the programs of all commands, so that the calls do not fail one after the other.
///
/// # Errors
///
/// A [`Misuse`] that recommends the other action.
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

/// Finds the open pull request of a branch whose run was started by hand or by a schedule.
///
/// # Errors
///
/// The reason why GitHub gave no answer; the run continues without a pull request.
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
