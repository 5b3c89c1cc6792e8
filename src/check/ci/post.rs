//! Publishes what a run that may not write has left: the second half of the pair that is safe for
//! forks. Nothing of the fork is run, and nothing that the bundle says of itself is believed.

use std::sync::Arc;

use anyhow::{anyhow, ensure};

use super::PostRequest;
use super::follows::hold;
use super::site;
use crate::check::approval::{self, Site, Stage};
use crate::gate::Judgement;
use crate::gate::approval::Origin;
use crate::github::{Archive, Artifact, Client, PullRequest, artifact_name};
use crate::publish::bundle::{self, Bundle};
use crate::publish::deliver::{Reach, Surfaces, deliver, fail};
use crate::publish::failure::Failure;
use crate::publish::{Context, Publication};

/// Publishes the bundle of a run; where the comments are, one for each pull request that it can have been for.
///
/// # Errors
///
/// Where the run, its artifact or its bundle is not what it must be.
pub(crate) fn post(
    request: &PostRequest<'_>,
    surfaces: Surfaces<'_>,
) -> anyhow::Result<Vec<String>> {
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
    let found = client.pull_requests_of_run(&run).map_err(told)?;
    let mut context = Context {
        event: "workflow_run".to_owned(),
        repository: client.repository().to_owned(),
        server_url: request.server_url.clone(),
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
    let mut places = Places::new(surfaces);
    let Some(artifact) = artifacts.first() else {
        (places.say)(&format!("run {} has no artifact `{name}`\n", request.run));
        // It failed before it had measured anything: an older comment is not about this commit.
        if run.conclusion.as_deref() != Some("failure") {
            return Ok(Vec::new());
        }
        let urls = each(&found).map(|found| {
            context.pull_request = found.map(|found| found.number);
            let failure = Failure {
                context: &context,
                what: "The run ended without a result",
                reason: format!(
                    "run {} has left no artifact `{name}`; its log says why it failed",
                    request.run
                ),
                place: None,
            };
            fail(&failure, places.next(), Reach::Everywhere)
        });
        return Ok(urls.flatten().collect());
    };
    let Some(bundle) = read(client, artifact, &context)? else {
        (places.say)("the run left no bundle, since it could publish its result itself\n");
        return Ok(Vec::new());
    };
    if found.is_empty() {
        (places.say)("no open pull request has this commit at its tip any more\n");
    }
    let held = hold(request, (&found, run.workflow()), &bundle);
    let refused = held.iter().find_map(|held| held.refused.clone());
    let mut urls = Vec::new();
    for (at, mut held) in held.into_iter().enumerate() {
        let found_here = found.get(at);
        context.pull_request = found_here.map(|found| found.number);
        context.claim = found_here.map(|_| format!("{}{}", held.claim, several(&found)));
        let surfaces = places.next();
        if let Some(judgement) = &mut held.judgement {
            decide(request, &context, found_here, judgement, &surfaces);
        }
        let publication = Publication {
            report: &bundle.report,
            judgement: held.judgement.as_ref(),
            context: &context,
            out: std::path::Path::new("kelvin"),
            folder: &bundle.folder,
            excerpts: &bundle.excerpts,
            warnings: &[],
        };
        urls.extend(deliver(&publication, surfaces));
    }
    refused.map_or(Ok(urls), |why| Err(anyhow!("{why}")))
}

/// Every pull request, or none once.
fn each(found: &[PullRequest]) -> impl Iterator<Item = Option<&PullRequest>> {
    let none = found.is_empty().then_some(None);
    found.iter().map(Some).chain(none)
}

/// That there is more than one pull request, and what that means.
fn several(found: &[PullRequest]) -> String {
    if found.len() < 2 {
        return String::new();
    }
    let names: Vec<String> = found
        .iter()
        .map(|found| format!("#{} into `{}`", found.number, found.base.branch))
        .collect();
    format!(
        " This commit is the tip of {} pull requests ({}), and GitHub does not say which of them the run was for: \
         each has the verdict against its own base branch.",
        found.len(),
        names.join(", ")
    )
}

/// Where each pull request is told of; what the job itself has is written for the first one.
struct Places<'a> {
    surfaces: Surfaces<'a>,
    say: &'a dyn Fn(&str),
}

impl<'a> Places<'a> {
    fn new(surfaces: Surfaces<'a>) -> Self {
        let say = surfaces.say;
        Self { surfaces, say }
    }

    fn next(&mut self) -> Surfaces<'a> {
        let Surfaces {
            client,
            comment,
            on_github,
            say,
            ..
        } = self.surfaces;
        Surfaces {
            outputs: self.surfaces.outputs.take(),
            summary: self.surfaces.summary.clone(),
            check: self.surfaces.check.take(),
            client,
            comment,
            on_github,
            say,
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
