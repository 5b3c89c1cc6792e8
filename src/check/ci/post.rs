//! Publishes what a run that may not write has left: the second half of the pair that is safe for
//! forks. Nothing of the fork is run, and nothing that the bundle says of itself is believed.

use std::sync::Arc;

use anyhow::{anyhow, ensure};

use super::follows::{follows, judged_again};
use super::site;
use crate::baseline::Login;
use crate::check::approval::{self, Site, Stage};
use crate::gate::Judgement;
use crate::gate::approval::{Approval, Origin, Request};
use crate::gate::verdict::Verdict;
use crate::github::{Archive, Artifact, Client, PullRequest, artifact_name};
use crate::publish::bundle::{self, Bundle};
use crate::publish::deliver::{Reach, Surfaces, deliver, fail};
use crate::publish::event::Variables;
use crate::publish::failure::Failure;
use crate::publish::{Context, Publication};

/// What is asked of the second half.
pub(crate) struct PostRequest<'a> {
    /// The client.
    pub(crate) client: &'a Arc<Client>,
    /// The run whose bundle is published.
    pub(crate) run: u64,
    /// The name of the configuration among several.
    pub(crate) configuration: String,
    /// Tells the comment from others; made of workflow and configuration unless given.
    pub(crate) comment_key: Option<String>,
    /// Where people read, e.g. `https://github.com`.
    pub(crate) server_url: String,
    /// Looks up a variable of the runner; empty is unset.
    pub(crate) variables: &'a Variables<'a>,
    /// The configuration, as the repository names it: its rules on the base branch count.
    pub(crate) config: String,
    /// The token, for git and for this repository alone.
    pub(crate) login: Option<Login>,
}

/// Publishes the bundle of a run; where the comment is, if there is one.
///
/// # Errors
///
/// Where the run, its artifact or its bundle is not what it must be.
pub(crate) fn post(
    request: &PostRequest<'_>,
    surfaces: Surfaces<'_>,
) -> anyhow::Result<Option<String>> {
    let client = request.client;
    let told = |error: crate::github::Error| anyhow!("{error}");
    let run = client.run(request.run).map_err(told)?;
    ensure!(
        run.event == "pull_request",
        "run {} was started by `{}`; only runs of `pull_request` leave a bundle",
        request.run,
        run.event
    );
    ensure!(
        run.repository.full_name == client.repository(),
        "run {} is of another repository",
        request.run
    );
    // From GitHub and not from the bundle.
    let found = client.pull_request_of(&run).map_err(told)?;
    let pull_request = found.as_ref().map(|request| request.number);
    let mut context = Context {
        event: "workflow_run".to_owned(),
        repository: client.repository().to_owned(),
        server_url: request.server_url.clone(),
        pull_request,
        head_sha: run.head_sha.clone(),
        run_id: request.run.to_string(),
        run_attempt: run.run_attempt.unwrap_or(1).to_string(),
        configuration: request.configuration.clone(),
        comment_key: request
            .comment_key
            .clone()
            .unwrap_or_else(|| format!("{}/{}", run.workflow(), request.configuration)),
        ..Context::default()
    };
    let name = artifact_name(&request.configuration);
    let artifacts = client.artifacts_of(request.run, &name).map_err(told)?;
    let Some(artifact) = artifacts.first() else {
        (surfaces.say)(&format!("run {} has no artifact `{name}`\n", request.run));
        // It failed before it had measured anything: an older comment is not about this commit.
        if run.conclusion.as_deref() != Some("failure") {
            return Ok(None);
        }
        let failure = Failure {
            context: &context,
            what: "The run ended without a result",
            reason: format!(
                "run {} has left no artifact `{name}`; its log says why it failed",
                request.run
            ),
            place: None,
        };
        return Ok(fail(&failure, surfaces, Reach::Everywhere));
    };
    let Some(mut bundle) = read(client, artifact, &context)? else {
        (surfaces.say)("the run left no bundle, since it could publish itself\n");
        return Ok(None);
    };
    if pull_request.is_none() {
        (surfaces.say)("no open pull request has this commit at its tip any more\n");
    }
    let refused = match &found {
        Some(found) => {
            let (claim, refused) = hold_to(request, (found, run.workflow()), &mut bundle);
            context.claim = Some(claim);
            refused
        }
        None => None,
    };
    if let Some(judgement) = &mut bundle.judgement {
        decide(request, &context, found.as_ref(), judgement, &surfaces);
    }
    let publication = Publication {
        report: &bundle.report,
        judgement: bundle.judgement.as_ref(),
        context: &context,
        out: std::path::Path::new("kelvin"),
        folder: &bundle.folder,
        excerpts: &bundle.excerpts,
        warnings: &[],
    };
    let url = deliver(&publication, surfaces);
    refused.map_or(Ok(url), |why| Err(anyhow!("{why}")))
}

/// Has the gate asked again about the figures of a bundle. What its verdict is to be taken for, and why it is
/// refused, where it is: then the bundle has the other verdict.
fn hold_to(
    request: &PostRequest<'_>,
    of: (&PullRequest, &str),
    bundle: &mut Bundle,
) -> (String, Option<String>) {
    let own = "The figures are the pull request's own claim: its own code has measured them.";
    if bundle.judgement.is_none() {
        return (own.to_owned(), None);
    }
    let branch = &of.0.base.branch;
    let again = judged_again(request, of, bundle);
    let Some(said) = &mut bundle.judgement else {
        return (own.to_owned(), None);
    };
    let word = |judgement: &Judgement| judgement.verdict.verdict.as_str();
    match again {
        Ok(again) if follows(&said.verdict, &again.verdict) => {
            // Somebody is asked about what has regressed, and not about what the run says.
            let head = of.0.head.sha.clone();
            let request = again.approval.map(|approval| Request {
                head,
                ..approval.request
            });
            said.approval = said
                .approval
                .take()
                .zip(request)
                .map(|(approval, request)| Approval {
                    request,
                    ..approval
                });
            let text = format!(
                "{own} The verdict was computed again from them, with the rules and the report of `{branch}`."
            );
            (text, None)
        }
        Ok(again) => {
            let why = format!(
                "The run says `{}`, and computed again from its own figures, with the rules and the report of \
                 `{branch}`, the verdict is `{}`: that of the run is not believed",
                word(said),
                word(&again)
            );
            *said = again;
            (format!("{own} {why}."), Some(why))
        }
        Err(error) => {
            let why = format!(
                "The verdict could not be computed again, so nobody knows whether it is true: {error:#}"
            );
            if !said.verdict.passed {
                return (format!("{own} {why}."), None);
            }
            *said = Judgement::without_base(Verdict::unmeasured(why.clone()), Vec::new());
            (own.to_owned(), Some(why))
        }
    }
}

/// Decides anew about what the run asks approval for, and asks for it: the run could not, and what it
/// says of a decision is not believed.
fn decide(
    request: &PostRequest<'_>,
    context: &Context,
    found: Option<&PullRequest>,
    judgement: &mut Judgement,
    surfaces: &Surfaces<'_>,
) {
    let Some(found) = found else {
        judgement.approval = None;
        return;
    };
    let site = Site {
        client: Arc::clone(request.client),
        teams: site::teams(request.client, request.variables),
        origin: Origin {
            pull_request: found.number,
            key: context.configuration.clone(),
            config: request.config.clone(),
            run: request.run,
            attempt: context.run_attempt.parse().unwrap_or(1),
        },
        head: context.head_sha.clone(),
        rules_at: found.base.branch.clone(),
        stage: Stage::Open,
    };
    approval::settle_again(&site, judgement);
    if let Err(why) = approval::ask(request.client, judgement) {
        surfaces.warn(&format!("nobody was asked for approval: {why}"));
    }
}

fn read(client: &Client, artifact: &Artifact, of: &Context) -> anyhow::Result<Option<Bundle>> {
    ensure!(
        !artifact.expired,
        "the artifact `{}` has expired",
        artifact.name
    );
    let zip = client
        .download(artifact.id, crate::github::MOST_BYTES)
        .map_err(|error| anyhow!("{error}"))?;
    let bytes = Archive::open(&zip)?.read(bundle::FILE, bundle::MOST_BYTES)?;
    bytes.map(|bytes| Bundle::read(&bytes, of)).transpose()
}
