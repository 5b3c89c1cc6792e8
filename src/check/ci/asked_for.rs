//! Measures a pull request because somebody has written a comment whose first line is `/kelvin run`. The run that the
//! push started, and that measured nothing then, is started again with the same token. For a change from a fork, that
//! token can only read. No code of the pull request is run here.

use anyhow::ensure;
use serde_json::Value;

use super::decide::pull_request;
use kelvin_base::exit::Misuse;
use kelvin_github::Client;
use kelvin_github::publish::event::is_of_pull_request;
use kelvin_page::safe;

/// The comment line that asks for a measurement.
const LINE: &str = "/kelvin run";

/// A comment that asks for a measurement.
pub(crate) struct AskedRun<'a> {
    /// The client.
    pub(crate) client: &'a Client,
    /// The payload of `issue_comment`.
    pub(crate) payload: &'a Value,
    /// The file of the workflow that measures, such as `kelvin.yml`.
    pub(crate) workflow: &'a str,
    /// Prints.
    pub(crate) say: &'a dyn Fn(&str),
}

/// Whether an event is a new comment that asks for a measurement. A comment that is edited later does not count,
/// because the person who edits it may not be its author.
pub(crate) fn is_asked_for(event: &str, payload: &Value) -> bool {
    let body = payload.pointer("/comment/body").and_then(Value::as_str);
    let line = body.and_then(|body| body.lines().next());
    event == "issue_comment"
        && payload["action"] == "created"
        && line.is_some_and(|line| line.trim_end() == LINE)
}

/// Starts the run again, if the author of the comment may write to the repository. The author of a change from a fork
/// never starts the run of this change, whatever other permissions they have. Fails if GitHub cannot be asked; a
/// [`Misuse`] if there is no run to start.
pub(crate) fn measure_again(asked: &AskedRun<'_>) -> anyhow::Result<()> {
    let client = asked.client;
    let say = |text: &str| (asked.say)(&format!("{}\n", safe::line(text)));
    let number = pull_request("issue_comment", asked.payload)?;
    let who = asked.payload.pointer("/comment/user/login");
    let who = who.and_then(Value::as_str).unwrap_or_default();
    ensure!(!who.is_empty(), "the comment names nobody who wrote it");
    let change = client.pull_request(number)?;
    if change.state != "open" {
        say("the pull request is closed, so there is nothing to measure any more");
        return Ok(());
    }
    let from = change.head.repo.as_ref().map(|repo| &*repo.full_name);
    let is_fork = from != Some(client.repository());
    let author = change
        .user
        .as_ref()
        .map(|author| author.login.to_lowercase());
    if is_fork && author == Some(who.to_lowercase()) {
        say(&format!(
            "`{who}` has sent this change from a fork: somebody else has to ask for its run"
        ));
        return Ok(());
    }
    let right = client.permission_of(who)?;
    if !matches!(&*right, "admin" | "maintain" | "write") {
        say(&format!(
            "`{who}` may not write to this repository, so nothing is run"
        ));
        return Ok(());
    }
    let runs = client.runs_of(asked.workflow, &change.head.sha)?;
    let is_one = |run: &&kelvin_github::WorkflowRun| {
        is_of_pull_request(&run.event) && run.repository.full_name == client.repository()
    };
    let commit: String = change.head.sha.chars().take(7).collect();
    let Some(run) = runs.iter().find(is_one) else {
        return Err(Misuse::new(format!(
            "no run of `{}` belongs to {commit}, the tip of the pull request",
            asked.workflow
        ))
        .help("the workflow has to start on `pull_request`; name its file with `workflow`")
        .into());
    };
    if run.conclusion.is_none() {
        say(&format!("run {} is under way already", run.id));
        return Ok(());
    }
    client.run_again(run.id, false)?;
    say(&format!("run {} is started, and measures {commit}", run.id));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_new_comment_with_that_first_line_asks() {
        let comment =
            |action: &str, body: &str| json!({ "action": action, "comment": { "body": body } });
        for body in ["/kelvin run", "/kelvin run \r\nplease"] {
            assert!(
                is_asked_for("issue_comment", &comment("created", body)),
                "{body}"
            );
        }
        for (event, action, body) in [
            ("issue_comment", "edited", "/kelvin run"),
            ("issue_comment", "created", "> /kelvin run"),
            ("issue_comment", "created", "please\n/kelvin run"),
            ("issue_comment", "created", "/kelvin runs"),
            ("issue_comment", "created", "/kelvin run --all"),
            ("issue_comment", "created", ""),
            ("pull_request", "created", "/kelvin run"),
        ] {
            assert!(
                !is_asked_for(event, &comment(action, body)),
                "{event} {action} {body}"
            );
        }
        assert!(!is_asked_for("issue_comment", &json!(null)));
    }
}
