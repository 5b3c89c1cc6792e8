//! A run in a workflow: reads the event, prepares the machine, runs the gate, publishes, and keeps
//! the report of a push.

mod aftermath;
mod asked_for;
mod check_run;
mod decide;
mod excerpts;
mod failed;
mod follows;
mod kept;
mod left;
mod place;
mod post;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{
    Checked, GateRequest, Judged, MergeRequest, approval, check, configuration, gate, merge,
    settle, write,
};
use crate::baseline::{self, Artifacts, Hint, Login};
use crate::sentence::in_a_sentence;
use aftermath::RunnerFilesBefore;
pub(crate) use asked_for::{AskedRun, is_asked_for, measure_again};
use check_run::open;
pub(crate) use decide::{DecideRequest, Then, decide, pull_request};
use excerpts::excerpts;
use failed::Stop;
pub(crate) use failed::failed;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::Judgement;
use kelvin_gate::report::Report;
use kelvin_github::publish::deliver::{Surfaces, deliver};
use kelvin_github::publish::event::Variables;
use kelvin_github::publish::mask::Masker;
use kelvin_github::publish::post::CommentMode;
use kelvin_github::publish::{Context, Excerpt, Publication, commands, comment};
use kelvin_github::{Access, Client};
use kelvin_run::config::{Config, Overrides};
use kelvin_run::{Observer, targets as target};
pub(crate) use left::PostRequest;
pub(crate) use post::post;

/// The inputs of a run in a workflow.
pub(crate) struct CiRequest<'a> {
    /// The inputs of the gate; its hint and its artifacts come from the event.
    pub(crate) gate: GateRequest,
    /// The folder with reports of shards; they are joined, and no pipeline is run.
    pub(crate) merge: Option<PathBuf>,
    /// The name of the event; empty on a laptop.
    pub(crate) event: String,
    /// The payload of the event.
    pub(crate) payload: Value,
    /// Returns the value of a variable of the runner; an empty variable counts as unset.
    pub(crate) variables: &'a Variables<'a>,
    /// A script that prepares the machine.
    pub(crate) setup: Option<String>,
    /// Whether `post/` publishes the result of a pull request, and stores the report of a push.
    pub(crate) later: bool,
    /// When a comment is written.
    pub(crate) comment: CommentMode,
    /// A key that distinguishes the comment of this job from others; by default made of workflow, job and
    /// configuration.
    pub(crate) comment_key: Option<String>,
    /// Whether a check run is made.
    pub(crate) check_run: bool,
    /// Whether the report is uploaded as an artifact.
    pub(crate) upload: bool,
    /// Whether the comment is only printed and nothing is posted.
    pub(crate) dry_run: bool,
    /// The token.
    pub(crate) token: Option<String>,
    /// The object that masks secrets in all output.
    pub(crate) masker: Arc<Masker>,
    /// A random word that nobody can guess. It turns workflow commands in the log off and on again.
    pub(crate) guard: String,
    /// Prints a line.
    pub(crate) say: &'a dyn Fn(&str),
}

/// The result of a run in a workflow.
#[derive(Debug)]
pub(crate) struct WorkflowResult {
    /// The measurement.
    pub(crate) checked: Checked,
    /// The judgement of the gate; none for a shard, which is judged together with the others.
    pub(crate) judgement: Option<Judgement>,
    /// The address of the comment.
    pub(crate) comment: Option<String>,
}

/// Makes all steps of a run in a workflow. Fails like [`super::gate()`]; a [`Misuse`] if the event must not be run, or
/// if `setup` fails. Every error is reported in all places before it is returned. A failure to publish is never
/// returned as an error.
pub(crate) fn ci(
    request: &CiRequest<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<WorkflowResult> {
    let client = client(request);
    hide_secrets(request);
    let (root, file) = failed::configuration_of(request);
    let mut job = Job {
        request,
        client: client.as_ref(),
        context: place::run_context(request),
        hint: baseline::hint_of_event(&request.event, &request.payload),
        surfaces: surfaces(request, client.as_deref()),
    };
    job.hint.asked.clone_from(&request.gate.hint.asked);
    // A run that leaves its result to `post/` is treated like a run of a fork, whose token cannot write either.
    job.context.leaves_it =
        request.later && (job.context.pull_request.is_some() || job.context.may_save());
    job.context.read_only |= job.context.leaves_it;
    job.hint.remote = baseline::address(&root);
    // The credentials are restored at the very end, when no code of the change runs any more.
    let login = login(request, &job.context);
    let withheld = baseline::Withheld::take(&root, login.as_ref());
    let before = RunnerFilesBefore::of(request.variables);
    let measured = match &withheld {
        Ok(_) => job.measure(&root, &file, observer),
        Err(error) => Err(anyhow::anyhow!("{error:#}").into()),
    };
    let measured = before.again().map_err(Stop::from).and(measured);
    let Job {
        context, surfaces, ..
    } = job;
    let (config, checked, mut judgement, base) = match measured {
        Ok(measured) => measured,
        Err(stop) => {
            let place = (surfaces, client.as_deref());
            failed::report_failure(request, &context, &root, place, &stop);
            return Err(stop.error);
        }
    };
    if let (Some(judgement), Some(client), false) = (&mut judgement, &client, request.dry_run) {
        // People are asked before the first publication, so that every text says where to approve, and until when.
        let asked = match context.read_only {
            // Without write access, the run leaves the request for approval to `post/`.
            true => Ok(()),
            false => approval::ask(client, judgement),
        };
        if let Err(why) = asked {
            surfaces.warn(&format!("nobody was asked for approval: {why}"));
        }
        if judgement.approval.is_some() {
            let page = write::JudgedPage::alone(judgement);
            write::judged_page(&checked.report, &checked.out, page)?;
            settle::write(&checked, judgement)?;
        }
    }
    let found = (&checked, judgement.as_ref(), base);
    let comment = publish(request, &config, &context, found, surfaces)?;
    Ok(WorkflowResult {
        checked,
        judgement,
        comment,
    })
}

fn on_github(request: &CiRequest<'_>) -> bool {
    (request.variables)("GITHUB_ACTIONS").is_some()
}

/// Tells the runner which words it must hide in the log.
fn hide_secrets(request: &CiRequest<'_>) {
    if on_github(request) {
        let masks = request.masker.secrets().map(commands::mask);
        (request.say)(&masks.collect::<String>());
    }
}

/// A run in progress: everything that can be reported if it fails.
struct Job<'a> {
    request: &'a CiRequest<'a>,
    client: Option<&'a Arc<Client>>,
    context: Context,
    hint: Hint,
    surfaces: Surfaces<'a>,
}

/// The configuration, the measurement, the judgement of the gate, and the base if it was measured too.
type Measured = (Config, Checked, Option<Judgement>, Option<Report>);

impl Job<'_> {
    /// Checks the checked-out commit, prepares the machine, and measures.
    fn measure(
        &mut self,
        root: &Path,
        file: &Path,
        observer: &dyn Observer,
    ) -> Result<Measured, Stop> {
        let request = self.request;
        self.refuse_other_commits(root)?;
        let found = place::find_pull_request(
            self.client.map(Arc::as_ref),
            root,
            &mut self.context,
            &mut self.hint,
        );
        if let Err(why) = found {
            self.surfaces.warn(&why);
        }
        // From here on, a failure is reported in the comment of an earlier run.
        failed::call(
            request,
            &mut self.context,
            &match &request.gate.check.overrides.name {
                Some(name) => name.clone(),
                None => failed::name(root, file, &self.hint),
            },
        );
        if let Some(why) = self.context.refusal() {
            return Err(anyhow::Error::from(Misuse::new(why)).into());
        }
        let config = request
            .gate
            .check
            .registry
            .configured(&request.gate.check.overrides)?;
        failed::call(request, &mut self.context, &configuration(&config));
        if let Some(script) = &request.setup {
            setup(request, script, &config.root)?;
            // The script may have checked out another commit.
            self.refuse_other_commits(&config.root)?;
        }
        if (request.variables)("KELVIN_IN_CONTAINER").is_some() && request.merge.is_none() {
            place::demand_command(&config)?;
        }
        if request.wants_check_run(&self.context) && !request.dry_run {
            let client = self.client.map(Arc::as_ref);
            self.surfaces.check = open(client, &self.context, &self.surfaces);
        }
        let (checked, judgement, base) = self.run(&config, observer)?;
        if let Some(tip) = &self.hint.tip {
            let commit = checked.report.run.session.commit.as_deref();
            tip.demand_of_report(&config.root, commit)
                .map_err(|misuse| Stop::wrong_checkout(misuse.into()))?;
        }
        Ok((config, checked, judgement, base))
    }

    fn refuse_other_commits(&mut self, root: &Path) -> Result<(), Stop> {
        place::checked_out(&self.hint, root, &mut self.context).map_err(Stop::wrong_checkout)
    }

    /// Runs the gate, or a share of the check, or joins the shards.
    fn run(
        &self,
        config: &Config,
        observer: &dyn Observer,
    ) -> anyhow::Result<(Checked, Option<Judgement>, Option<Report>)> {
        let request = self.request;
        let asked = GateRequest {
            check: super::CheckRequest {
                masker: Some(Arc::clone(&request.masker)),
                is_shared: true,
                overrides: Overrides {
                    is_base: self.context.may_save(),
                    ..request.gate.check.overrides.clone()
                },
                ..request.gate.check.clone()
            },
            rerun: request.gate.rerun,
            advisory: request.gate.advisory,
            report: None,
            base_of_the_run: None,
            by_the_base: false,
            login: login(request, &self.context),
            artifacts: self.client.map(|client| Artifacts {
                client: Arc::clone(client),
                branch: place::base_branch(&self.hint, &self.context),
                workflow: place::workflow(&self.context),
            }),
            hint: self.hint.clone(),
            approval: place::approval_site(
                self.client,
                &self.context,
                &self.hint,
                (config, request),
            ),
        };
        quietly(request, || {
            let judged = match (&request.merge, asked.check.shard) {
                (Some(folder), _) => joined(asked, folder, observer)?,
                (None, None) => gate(&asked, observer)?,
                (None, Some(_)) => {
                    // A share of the cases is judged together with the other shares.
                    let checked = check(&asked.check, observer)?;
                    return Ok((checked, None, None));
                }
            };
            Ok((judged.checked, Some(judged.judgement), judged.base))
        })
    }
}

/// The places where the result of a run is shown.
fn surfaces<'a>(request: &CiRequest<'a>, client: Option<&'a Client>) -> Surfaces<'a> {
    Surfaces {
        outputs: (request.variables)("GITHUB_OUTPUT").map(PathBuf::from),
        summary: (request.variables)("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        check: None,
        client,
        comment: match request.is_whole() {
            true => request.comment,
            false => CommentMode::Off,
        },
        on_github: on_github(request),
        say: request.say,
    }
}

/// Publishes the result, and keeps what later steps and runs need.
fn publish(
    request: &CiRequest<'_>,
    config: &Config,
    context: &Context,
    (checked, judgement, base): (&Checked, Option<&Judgement>, Option<Report>),
    surfaces: Surfaces<'_>,
) -> anyhow::Result<Option<String>> {
    let Checked { report, out, .. } = checked;
    let excerpts: Vec<Excerpt> = judgement
        .map(|judgement| excerpts(checked, judgement))
        .unwrap_or_default()
        .into_iter()
        .map(|excerpt| request.masker.value(&excerpt))
        .collect::<Result<_, _>>()?;
    let folder = place::folder(config);
    let seen = place::seen(out, request.variables);
    let publication = |warnings| Publication {
        report,
        judgement,
        context,
        out: &seen,
        folder: &folder,
        excerpts: &excerpts,
        warnings,
    };
    if request.dry_run {
        quietly(request, || {
            (request.say)(&comment::render(&publication(&[]), 60_000));
        });
        return Ok(None);
    }
    let kept = kept::keep(
        request,
        config,
        (surfaces.client, &publication(&[]), base),
        out,
    );
    let (warnings, refused) = match kept {
        Ok(warnings) => (warnings, None),
        Err(error) => {
            if surfaces.on_github {
                (surfaces.say)(&commands::error(&format!("{error:#}")));
            }
            (
                vec![format!(
                    "the report was not kept: {}",
                    in_a_sentence(&error)
                )],
                Some(error),
            )
        }
    };
    if refused.is_none() {
        for warning in &warnings {
            surfaces.warn(warning);
        }
    }
    let comment = deliver(&publication(&warnings), surfaces);
    refused.map_or(Ok(comment), Err)
}

/// Joins the shards, and judges the joined report.
fn joined(asked: GateRequest, folder: &Path, observer: &dyn Observer) -> anyhow::Result<Judged> {
    let merged = merge(&MergeRequest {
        registry: asked.check.registry,
        shards: vec![folder.to_path_buf()],
        out: asked.check.out.clone(),
    })?;
    let joined = GateRequest {
        rerun: false,
        report: Some(merged.out.join("report.json")),
        ..asked
    };
    gate(&joined, observer)
}

fn client(request: &CiRequest<'_>) -> Option<Arc<Client>> {
    let api_url = (request.variables)("GITHUB_API_URL")
        .unwrap_or_else(|| "https://api.github.com".to_owned());
    let repository = (request.variables)("GITHUB_REPOSITORY")?;
    let access = Access {
        api_url: &api_url,
        repository: &repository,
        token: request.token.as_deref().filter(|token| !token.is_empty())?,
    };
    match Client::new(&access) {
        Ok(client) => Some(Arc::new(client)),
        Err(error) => {
            (request.say)(&commands::warning(&format!("{error:#}")));
            None
        }
    }
}

/// The token, used for git and for the repository of this workflow only.
fn login(request: &CiRequest<'_>, context: &Context) -> Option<Login> {
    let token = request.token.as_deref()?;
    Login::new(&context.server_url, &context.repository, token)
}

impl WorkflowResult {
    /// The exit code. A measurement that failed is more important than a gate that did not pass.
    pub(crate) fn exit(&self) -> Exit {
        match (self.checked.exit(), &self.judgement) {
            (Exit::Passed, Some(judgement)) => judgement.verdict.exit(),
            (exit, _) => exit,
        }
    }
}

/// Runs the script that prepares the machine, in a folded group of the log.
fn setup(request: &CiRequest<'_>, script: &str, root: &Path) -> anyhow::Result<()> {
    if on_github(request) {
        (request.say)(&commands::group("setup"));
    }
    let done = quietly(request, || target::setup(script, root));
    if on_github(request) {
        (request.say)(&commands::end_group());
    }
    done
}

/// Calls `work` while workflow commands are turned off, so that none of its output is a command.
fn quietly<T>(request: &CiRequest<'_>, work: impl FnOnce() -> T) -> T {
    if on_github(request) {
        (request.say)(&commands::stop(&request.guard));
    }
    let done = work();
    if on_github(request) {
        (request.say)(&commands::resume(&request.guard));
    }
    done
}

#[cfg(test)]
mod inert_tests;
