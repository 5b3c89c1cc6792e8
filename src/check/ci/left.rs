//! Finds the bundle that a run has left for `post/`, or explains why nothing of it can be published. The explanation
//! depends on how the run ended.

use crate::baseline::Login;
use crate::registry::Registry;
use kelvin_github as github;
use kelvin_github::publish::bundle::{BadBundle, Bundle, Flaw};
use kelvin_github::publish::event::Variables;
use kelvin_github::publish::{Context, bundle};
use kelvin_github::{Archive, Artifact, Client, TooLong, WorkflowRun, artifact_name};
use std::sync::Arc;

/// Why nothing of a run can be published.
pub(super) struct Nothing {
    /// How the run ended, in a sentence without its full stop; written by this program. The table in `docs/reports.md`
    /// has all of these sentences.
    pub(super) what: &'static str,
    /// Details; the text may quote the files that the run has left.
    pub(super) reason: String,
    /// Whether the run has left an invalid bundle, which a person has to examine.
    pub(super) is_wrong: bool,
    /// Whether the run may have published its result itself. Then that result is not replaced.
    pub(super) may_have_published: bool,
    /// Whether no job of the run was started.
    pub(super) was_skipped: bool,
}

impl Nothing {
    fn new(what: &'static str, reason: impl Into<String>) -> Self {
        Self {
            what,
            reason: reason.into(),
            is_wrong: false,
            may_have_published: false,
            was_skipped: false,
        }
    }

    fn wrong(what: &'static str, reason: impl Into<String>) -> Self {
        Self {
            is_wrong: true,
            ..Self::new(what, reason)
        }
    }
}

impl From<BadBundle> for Nothing {
    fn from(bad: BadBundle) -> Self {
        let reason = bad.to_string();
        match bad.flaw {
            Flaw::TooLarge => Self::wrong(TOO_LARGE, reason),
            Flaw::OtherVersion => Self::wrong(
                "The result of the run was written by another version",
                reason,
            ),
            Flaw::OtherRun => Self::wrong("The result that the run left is not its own", reason),
            // The present attempt failed before it left a bundle, so the bundle of an earlier attempt is ignored.
            Flaw::OtherAttempt => Self::new("This attempt of the run left no result", reason),
            Flaw::Unreadable => Self::wrong(UNREADABLE, reason),
        }
    }
}

const TOO_LARGE: &str = "The result of the run is too large";
const UNREADABLE: &str = "The result of the run cannot be read";
const EXPIRED: &str = "The result of the run has expired";

/// The bundle of a finished run. Fails with the reason why there is no bundle that can be published.
pub(super) fn left(
    client: &Client,
    run: &WorkflowRun,
    context: &Context,
    registry: Registry,
) -> Result<Bundle, Nothing> {
    let name = artifact_name(&context.configuration);
    let unfetched = |error: github::Error| {
        Nothing::wrong(
            "The result of the run could not be fetched",
            error.to_string(),
        )
    };
    let artifacts = client.artifacts_of(run.id, &name).map_err(unfetched)?;
    let Some(artifact) = artifacts.first() else {
        return Err(none(client, run, &name));
    };
    let expired = || {
        let reason = format!(
            "the artifact `{name}` of run {} is gone: run the job again",
            run.id
        );
        Nothing::wrong(EXPIRED, reason)
    };
    if artifact.expired {
        return Err(expired());
    }
    demand_size(artifact)?;
    let zip = match client.download(artifact.id, github::MOST_BYTES) {
        Ok(zip) => zip,
        Err(error) if error.status() == Some(410) => return Err(expired()),
        Err(error) => return Err(unfetched(error)),
    };
    let bytes = Archive::open(&zip).and_then(|mut zip| zip.read(bundle::FILE, bundle::MOST_BYTES));
    let bytes = bytes.map_err(|error| {
        let what = match error.downcast_ref::<TooLong>() {
            Some(_) => TOO_LARGE,
            None => UNREADABLE,
        };
        Nothing::wrong(what, format!("{error:#}"))
    })?;
    let Some(bytes) = bytes else {
        return Err(Nothing {
            may_have_published: true,
            ..Nothing::new(
                "The run left no result for `post/`",
                format!(
                    "its artifact `{name}` has no `{}`: a run that may write publishes its result itself",
                    bundle::FILE
                ),
            )
        });
    };
    let bundle = Bundle::read(&bytes, context, &registry.of_sections())?;
    demand_attempt(&bundle, run, context)?;
    Ok(bundle)
}

fn demand_size(artifact: &Artifact) -> Result<(), Nothing> {
    let most = github::MOST_BYTES;
    match usize::try_from(artifact.size_in_bytes) {
        Ok(size) if size <= most => Ok(()),
        _ => Err(Nothing::wrong(
            TOO_LARGE,
            format!(
                "the artifact `{}` has {} bytes, and at most {most} are read",
                artifact.name, artifact.size_in_bytes
            ),
        )),
    }
}

/// Checks that a bundle comes from the attempt that has just ended. When only the failed jobs of a run are run again,
/// GitHub does not repeat the jobs that passed. If all repeated jobs pass, the bundle of the earlier attempt is still
/// the result of the run.
fn demand_attempt(bundle: &Bundle, run: &WorkflowRun, context: &Context) -> Result<(), Nothing> {
    let was_left_alone = run.conclusion.as_deref() == Some("success")
        && bundle.judgement.as_ref().is_some_and(|said| said.passed);
    match bundle.demand_attempt(context) {
        Err(_) if was_left_alone => Ok(()),
        done => Ok(done?),
    }
}

/// The text for a run that has left no artifact.
fn none(client: &Client, run: &WorkflowRun, name: &str) -> Nothing {
    let what = match run.conclusion.as_deref().unwrap_or_default() {
        "success" => "The run ended well and left no result",
        "failure" => "The run failed and left no result",
        "cancelled" => "The run was cancelled before it left a result",
        "timed_out" => "The run took too long and left no result",
        "skipped" => "The run was skipped, so nothing was measured",
        "startup_failure" => "The run could not be started, so nothing was measured",
        "action_required" => {
            "The run waits for somebody who lets it start, so nothing was measured"
        }
        _ => "The run ended without a result",
    };
    let mut reason = format!("run {} has no artifact `{name}`", run.id);
    let names = client.artifact_names(run.id).unwrap_or_default();
    let others: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix(github::ARTIFACTS))
        // The artifact of a shard is not a result.
        .filter(|name| !name.contains("-shard-"))
        .take(10)
        .map(|name| format!("`{name}`"))
        .collect();
    match others.is_empty() {
        true => reason.push_str("; its log says why"),
        false => reason.push_str(&format!(
            ", but it has those of {}: the input `configuration` of `post/` names the one to publish, and `config` its \
             file",
            others.join(", ")
        )),
    }
    Nothing {
        was_skipped: run.conclusion.as_deref() == Some("skipped"),
        ..Nothing::new(what, reason)
    }
}

/// A caveat for a passing verdict of a run that did not end well: another job or a later step may have failed, and a
/// reader should not think that the whole run passed.
pub(super) fn caveat(run: &WorkflowRun) -> Option<&'static str> {
    match run.conclusion.as_deref().unwrap_or_default() {
        "success" => None,
        "failure" => Some("the run failed"),
        "cancelled" => Some("the run was cancelled"),
        "timed_out" => Some("the run took too long"),
        _ => Some("the run did not end well"),
    }
}

/// The inputs of the second half of a run.
#[derive(Clone)]
pub(crate) struct PostRequest<'a> {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The client.
    pub(crate) client: &'a Arc<Client>,
    /// The run whose bundle is published.
    pub(crate) run: u64,
    /// The name of the configuration, if the repository has several; by default the name in the configuration file on
    /// the base branch.
    pub(crate) configuration: Option<String>,
    /// A key that distinguishes the comment from others; by default made of workflow and configuration.
    pub(crate) comment_key: Option<String>,
    /// The address of the web pages of the server, e.g. `https://github.com`.
    pub(crate) server_url: String,
    /// Returns the value of a variable of the runner; an empty variable counts as unset.
    pub(crate) variables: &'a Variables<'a>,
    /// The path of the configuration within the repository; its rules on the base branch count.
    pub(crate) config: String,
    /// The token, used for git and for this repository only.
    pub(crate) login: Option<Login>,
}
