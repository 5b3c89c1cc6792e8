//! Publishes or keeps the result of a run without write access: the second of two jobs, which together are safe for
//! forks. No code of the fork is run, and nothing that the bundle claims is believed without a check.

use std::path::Path;
use std::sync::Arc;

use anyhow::{anyhow, ensure};

use super::follows::hold;
use super::kept::keep_later;
use super::left::{Nothing, caveat, left};
use super::{PostRequest, place};
use crate::check::approval::{self, ApprovalSite, ChangeStage};
use crate::check::named;
use kelvin_gate::Judgement;
use kelvin_gate::approval::Origin;
use kelvin_github::publish::bundle::Bundle;
use kelvin_github::publish::deliver::{Reach, Surfaces, deliver, fail};
use kelvin_github::publish::failure::UnmeasuredRun;
use kelvin_github::publish::{Context, Level, Publication};
use kelvin_github::{PullRequest, WorkflowRun};
use kelvin_page::safe;

/// Publishes the bundle of a run on a pull request, and keeps the report of a push. Returns the addresses of the
/// comments, one for each pull request that the run may belong to. A comment about an earlier run is always replaced,
/// however this run ended. Fails if the run or its bundle is not valid. The pull request then already shows all
/// information that is available.
pub(crate) fn post(
    request: &PostRequest<'_>,
    surfaces: Surfaces<'_>,
) -> anyhow::Result<Vec<String>> {
    let client = request.client;
    let run = client.run(request.run)?;
    ensure!(
        matches!(&*run.event, "pull_request" | "pull_request_review" | "push"),
        "run {} was started by `{}`; only runs of a pull request and of a push leave a bundle",
        request.run,
        run.event
    );
    ensure!(
        run.repository.full_name == client.repository(),
        "run {} is of another repository",
        request.run
    );
    let mut places = ShownPlaces::new(surfaces);
    if run.conclusion.is_none() {
        // Somebody has started the run again: when that attempt ends, this workflow starts once more.
        (places.say)(&format!("run {} has not ended yet\n", request.run));
        return Ok(Vec::new());
    }
    if run.event == "push" {
        keep_later(request, &run, places.say)?;
        return Ok(Vec::new());
    }
    // The pull requests come from GitHub and not from the bundle.
    let found = client.pull_requests_of_run(&run)?;
    if found.is_empty() {
        (places.say)("no open pull request has this commit at its tip any more\n");
        return Ok(Vec::new());
    }
    let configuration = configuration(request, &found, places.say);
    let request = &PostRequest {
        configuration: Some(configuration.clone()),
        ..request.clone()
    };
    let context = Context {
        event: "workflow_run".to_owned(),
        repository: client.repository().to_owned(),
        server_url: request.server_url.clone(),
        head_sha: run.head_sha.clone(),
        run_id: request.run.to_string(),
        run_attempt: run.run_attempt.unwrap_or(1).to_string(),
        comment_key: request
            .comment_key
            .clone()
            .unwrap_or_else(|| format!("{}/{configuration}", run.workflow())),
        configuration,
        ..Context::default()
    };
    match left(client, &run, &context, request.registry) {
        Ok(bundle) => publish(request, (&run, &found), context, &bundle, &mut places),
        Err(nothing) => replace(&found, context, nothing, &mut places),
    }
}

/// The name of the configuration. If no name was given, it is the name inside the configuration file of the base
/// branch, under which the runs store their reports. The first pull request determines the branch, since GitHub does
/// not say to which of several the run belongs.
fn configuration(request: &PostRequest<'_>, found: &[PullRequest], say: &dyn Fn(&str)) -> String {
    if let Some(given) = &request.configuration {
        return given.clone();
    }
    let text = found
        .first()
        .map(|found| request.client.file_of(&request.config, &found.base.branch));
    let text = match text {
        Some(Ok(text)) => Some(text),
        Some(Err(error)) => {
            let error = safe::line(&format!("{error:#}"));
            say(&format!(
                "the name of the configuration is taken from its path: {error}\n"
            ));
            None
        }
        None => None,
    };
    named::name_at(text.as_deref(), Path::new(&request.config))
}

/// Judges the bundle of a run, and publishes the judgement on each pull request.
fn publish(
    request: &PostRequest<'_>,
    (run, found): (&WorkflowRun, &[PullRequest]),
    mut context: Context,
    bundle: &Bundle,
    places: &mut ShownPlaces<'_>,
) -> anyhow::Result<Vec<String>> {
    let held = hold(request, (found, run.workflow()), bundle);
    let refused = held.iter().find_map(|held| held.refused.clone());
    let folder = Path::new(&request.config).parent();
    let folder = folder.map(|folder| folder.display().to_string());
    let mut urls = Vec::new();
    for (found_here, mut held) in found.iter().zip(held) {
        context.pull_request = Some(found_here.number);
        let passes = held.judgement.verdict.passed;
        context.caveat = caveat(run).or(held.caveat).filter(|_| passes);
        context.claim = Some(format!(
            "{}{}{}",
            held.claim,
            of_attempt(bundle, &context),
            several(found)
        ));
        let surfaces = places.next();
        decide(
            request,
            &context,
            found_here,
            &mut held.judgement,
            &surfaces,
        );
        let publication = Publication {
            report: held.report.as_ref().unwrap_or(&bundle.report),
            judgement: Some(&held.judgement),
            context: &context,
            out: Path::new("kelvin"),
            folder: folder.as_deref().unwrap_or_default(),
            excerpts: match held.report {
                Some(_) => &[],
                None => &bundle.excerpts,
            },
            warnings: &[],
        };
        urls.extend(deliver(&publication, surfaces));
    }
    refused.map_or(Ok(urls), |why| Err(anyhow!("{why}")))
}

/// Says on each pull request that its run has left no result, and thereby replaces the result of an earlier run.
fn replace(
    found: &[PullRequest],
    mut context: Context,
    nothing: Nothing,
    places: &mut ShownPlaces<'_>,
) -> anyhow::Result<Vec<String>> {
    let Nothing {
        what,
        reason,
        is_wrong,
        may_have_published,
        was_skipped,
    } = nothing;
    (places.say)(&format!("{what}: {}\n", safe::line(&reason)));
    let mut urls = Vec::new();
    for found in found {
        context.pull_request = Some(found.number);
        let failure = UnmeasuredRun {
            context: &context,
            what,
            reason: reason.clone(),
            place: None,
            level: match is_wrong {
                true => Level::Failure,
                false => Level::Warning,
            },
        };
        let reach = match (was_skipped, may_have_published) {
            // While a run waits for a label or a comment, it has no result for a commit that was measured before.
            (true, _) => Reach::OtherCommits,
            (false, true) => Reach::EarlierRuns,
            (false, false) => Reach::Everywhere,
        };
        urls.extend(fail(&failure, places.next(), reach));
    }
    ensure!(!is_wrong, "{what}: {reason}");
    Ok(urls)
}

/// A note that the measurement comes from another attempt; empty if it comes from this attempt.
fn of_attempt(bundle: &Bundle, context: &Context) -> String {
    let (of, now) = (bundle.run_attempt, &context.run_attempt);
    match of.to_string() == *now {
        true => String::new(),
        false => format!(
            " They are of attempt {of} of the run; in attempt {now}, which ended well, the job was left alone."
        ),
    }
}

/// A note that there is more than one pull request, and what that means; empty if there is only one.
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

/// The places where the result is shown for each pull request. The outputs of the job itself are written for the first
/// pull request.
struct ShownPlaces<'a> {
    surfaces: Surfaces<'a>,
    say: &'a dyn Fn(&str),
}

impl<'a> ShownPlaces<'a> {
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

/// Decides again about the regression for which the run asks approval, and asks people. The run itself could not ask,
/// and its own statement about a decision is not believed.
fn decide(
    request: &PostRequest<'_>,
    context: &Context,
    found: &PullRequest,
    judgement: &mut Judgement,
    surfaces: &Surfaces<'_>,
) {
    let site = ApprovalSite {
        registry: request.registry,
        client: Arc::clone(request.client),
        teams: place::teams(request.client, request.variables),
        origin: Origin {
            pull_request: found.number,
            key: context.configuration.clone(),
            config: request.config.clone(),
            run: request.run,
            attempt: context.run_attempt.parse().unwrap_or(1),
        },
        head: context.head_sha.clone(),
        rules_at: found.base.branch.clone(),
        stage: ChangeStage::Open,
    };
    approval::settle_again(&site, judgement);
    if let Err(why) = approval::ask(request.client, judgement) {
        surfaces.warn(&format!("nobody was asked for approval: {why}"));
    }
}
