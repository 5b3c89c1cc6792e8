//! Applies a decision about a regression, in a workflow of the default branch: the job that asked is run again, or its
//! check run is completed again. No code of the pull request is run here.

use std::sync::Arc;

use anyhow::{anyhow, ensure};
use serde_json::Value;

use super::check_run::check_name;
use super::place;
use crate::check::approval::{Desk, rules_of_branch, settle_notice};
use crate::registry::Registry;
use kelvin_base::clock::to_seconds;
use kelvin_base::exit::Misuse;
use kelvin_gate::approval::{Approval, Rules, State};
use kelvin_github::publish::event::Variables;
use kelvin_github::publish::post::{ApprovalNotice, ShownCheckRun, close, external_id};
use kelvin_github::{Client, WorkflowRun};
use kelvin_page::safe;

/// The inputs for applying a decision.
pub(crate) struct DecideRequest<'a> {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The client.
    pub(crate) client: &'a Arc<Client>,
    /// Returns the value of a variable of the runner; an empty variable counts as unset.
    pub(crate) variables: &'a Variables<'a>,
    /// The pull request.
    pub(crate) pull_request: u64,
    /// The path of the configuration within the repository.
    pub(crate) config: String,
    /// The action that follows a decision.
    pub(crate) then: Then,
    /// Prints a line.
    pub(crate) say: &'a dyn Fn(&str),
}

/// The action that follows a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The job that asked for the decision is run again, and finds the decision itself.
    Rerun,
    /// The check run of that job shows the decision.
    Check,
}

/// The number of the pull request that an event is about. Fails with a [`Misuse`] if the event is not about a pull
/// request.
pub(crate) fn pull_request(event: &str, payload: &Value) -> Result<u64, Misuse> {
    let number = match event {
        "issue_comment" if payload.pointer("/issue/pull_request").is_some() => {
            payload.pointer("/issue/number")
        }
        "pull_request" | "pull_request_target" => payload.pointer("/pull_request/number"),
        _ => None,
    };
    number.and_then(Value::as_u64).ok_or_else(|| {
        Misuse::new("there is no pull request to decide about").help(
            "run this on `issue_comment` or on labels of a pull request, or name the pull request \
             with `pull-request`",
        )
    })
}

/// Checks every request of a pull request, and applies the decision about it. Fails if GitHub cannot be asked, the
/// rules of the base branch cannot be read, or a decision cannot be applied.
pub(crate) fn decide(request: &DecideRequest<'_>) -> anyhow::Result<()> {
    let client = request.client;
    let say = |text: &str| (request.say)(&format!("{}\n", safe::line(text)));
    let desk = Desk::of(client, request.pull_request)?;
    if desk.request.state != "open" {
        say("the pull request is closed, so there is nothing to decide any more");
        return Ok(());
    }
    let head = &desk.request.head.sha;
    let of_head = |notice: &&ApprovalNotice| {
        notice.request.head == *head && notice.origin.config == request.config
    };
    let notices: Vec<&ApprovalNotice> = desk.notices.iter().filter(of_head).collect();
    if notices.is_empty() {
        say("nothing waits for approval at the tip of the pull request");
        return Ok(());
    }
    let branch = &desk.request.base.branch;
    let Some(rules) = rules_of_branch(request.registry, client, &request.config, branch)? else {
        say(&format!(
            "`{}` on `{branch}` has no `gate.approval`, so nobody may approve",
            request.config
        ));
        return Ok(());
    };
    for notice in notices {
        let teams = place::teams(client, request.variables);
        let approval = decided((client, &teams), &desk, notice, rules.clone())?;
        say(&approval.sentence());
        for text in approval.ignored.iter().chain(&approval.unknown) {
            say(&format!("  {text}"));
        }
        let followed = match request.then {
            Then::Rerun => run_again(client, notice, &approval)?,
            Then::Check => settle_check(client, notice, &approval)?,
        };
        say(&followed);
    }
    Ok(())
}

fn decided(
    clients: (&Client, &Client),
    desk: &Desk,
    notice: &ApprovalNotice,
    rules: Rules,
) -> anyhow::Result<Approval> {
    let base: String = notice.request.base.chars().take(7).collect();
    let last_good = format!("the commit `{base}`");
    let approval = Approval::pending(notice.request.clone(), rules, last_good);
    let mut approval = approval.asked_on(notice.origin.clone());
    settle_notice(clients, desk, notice, &mut approval)?;
    Ok(approval)
}

/// Runs the job that asked for the approval again, unless that job has already read the decision. If an approval was
/// withdrawn, a job that passed is run again too.
fn run_again(
    client: &Client,
    notice: &ApprovalNotice,
    approval: &Approval,
) -> anyhow::Result<String> {
    let number = notice.origin.run;
    let run = client.run(number)?;
    demand(client, &run, notice)?;
    let has_passed = match run.conclusion.as_deref() {
        None => {
            return Err(anyhow!(
                "run {number}, which asked, has not ended yet: run this workflow again once it has"
            ));
        }
        Some(conclusion) => conclusion == "success",
    };
    let decided_at = approval.decision.as_ref().map(|decision| &decision.at);
    let started = run
        .run_started_at
        .as_deref()
        .and_then(|at| to_seconds(at).ok());
    let has_seen = decided_at
        .and_then(|at| to_seconds(at).ok())
        .is_some_and(|at| started.is_some_and(|started| started > at));
    match (approval.state, has_passed) {
        (State::Approved, true) => Ok(format!("run {number} has passed already")),
        (State::Pending | State::TimedOut, false) => Ok("the job stays as it is".to_owned()),
        (State::Approved | State::Rejected, false) if has_seen => Ok(format!(
            "run {number} began after the decision, and reports the result itself"
        )),
        (State::Approved | State::Rejected, false) => {
            client.run_again(number, true)?;
            Ok(format!(
                "run {number} is started again, and takes the decision over"
            ))
        }
        (State::Pending | State::TimedOut | State::Rejected, true) => {
            client.run_again(number, false)?;
            Ok(format!("run {number} had passed, and is started again"))
        }
    }
}

/// Checks the number of a run that was read from a comment: on GitHub, this run has to exist and to be about this
/// commit.
fn demand(client: &Client, run: &WorkflowRun, notice: &ApprovalNotice) -> anyhow::Result<()> {
    let number = notice.origin.run;
    ensure!(
        run.repository.full_name == client.repository(),
        "run {number} is of another repository"
    );
    let is_of_pull_request = matches!(
        run.event.as_str(),
        "pull_request" | "pull_request_review" | "pull_request_target" | "workflow_dispatch"
    );
    ensure!(
        is_of_pull_request && run.head_sha == notice.request.head,
        "run {number} is not one of the commit that was decided about"
    );
    Ok(())
}

/// Completes the check run of the job again.
fn settle_check(
    client: &Client,
    notice: &ApprovalNotice,
    approval: &Approval,
) -> anyhow::Result<String> {
    let name = check_name(&notice.origin.key);
    let found = client.check_runs_of(&name, &notice.request.head)?;
    let Some(newest) = found.into_iter().max_by_key(|run| run.id) else {
        return Err(Misuse::new(format!(
            "there is no check run `{name}` on the commit that was decided about"
        ))
        .help("the job that asks needs `check-run: true`, and the pull request must not be from a fork")
        .into());
    };
    // A newer run of this commit may have found another regression, about which nobody was asked.
    if newest.status != "completed" {
        return Err(anyhow!(
            "the check run `{name}` has not ended yet: run this workflow again once it has"
        ));
    }
    if newest.external_id != Some(external_id(&approval.id)) {
        return Ok(format!(
            "the newest check run `{name}` does not wait for this decision, and stays as it is"
        ));
    }
    let shown = ShownCheckRun {
        title: safe::cut(&approval.sentence(), 200),
        summary: kelvin_github::publish::comment::decided(approval),
        text: None,
        annotations: Vec::new(),
        request: Some(approval.id.clone()),
    };
    let is_approved = approval.state == State::Approved;
    close(client, newest.id, is_approved, &shown)?;
    Ok(format!(
        "the check run `{name}` says {}",
        if is_approved { "success" } else { "failure" }
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_event_of_a_pull_request_names_one() {
        let comment = json!({ "issue": { "number": 7, "pull_request": { "url": "x" } } });
        let of_issue = json!({ "issue": { "number": 7 } });
        let label = json!({ "pull_request": { "number": 7 } });
        assert_eq!(pull_request("issue_comment", &comment).ok(), Some(7));
        assert!(pull_request("issue_comment", &of_issue).is_err());
        assert_eq!(pull_request("pull_request_target", &label).ok(), Some(7));
        for (event, payload) in [
            ("push", &comment),
            ("issue_comment", &json!(null)),
            (
                "issue_comment",
                &json!({ "issue": { "number": "7", "pull_request": {} } }),
            ),
            ("", &label),
        ] {
            assert!(pull_request(event, payload).is_err(), "{event} {payload}");
        }
    }
}
