//! Keeps the results that are needed after the run: the report of a push, the artifact, and the bundle of a run without
//! write access.
//!
//! A push that was measured with a read-only token is kept by a second job, which may write. The code of the push is
//! already merged, so its figures are trusted as much as those of a job with write access. Whether the run belongs to
//! such a push is read from GitHub.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use super::CiRequest;
use super::left::{Nothing, PostRequest, left};
use crate::baseline::{self, BranchWriter, Hint, Taken};
use crate::check::save::{SaveRequest, save, writer};
use crate::check::{claims, configuration, named};
use crate::sentence::in_a_sentence;
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_gate::report::Report;
use kelvin_github::publish::bundle::Bundle;
use kelvin_github::publish::{Context, Publication, bundle, outputs};
use kelvin_github::{Client, WorkflowRun, artifact_name, artifact_upload};
use kelvin_page::safe;
use kelvin_run::config::{Config, Overrides};

/// The files of the artifact; those that exist are uploaded.
const KEPT: [&str; 6] = [
    "report.json",
    "report.html",
    "report.md",
    "gate.json",
    "gate.md",
    bundle::FILE,
];

/// Stores these results. Returns a sentence for each result that could not be stored. The error chain contains
/// [`Taken`] if another job of this run uses the same name.
pub(super) fn keep(
    request: &CiRequest<'_>,
    config: &Config,
    (client, publication, base): (Option<&Client>, &Publication<'_>, Option<Report>),
    out: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let context = publication.context;
    // A shard is not judged by itself; the job that joins the shards leaves the result.
    if context.read_only
        && publication.judgement.is_some()
        && let Err(error) = leave(publication, base, out)
    {
        warnings.push(format!(
            "the bundle for `post/` cannot be used: {}",
            in_a_sentence(&error)
        ));
    }
    // A shard is not a baseline; the job that joins the shards saves the baseline.
    let is_whole = publication.report.run.shard.is_none() && publication.report.run.only.is_empty();
    if context.may_save() && is_whole && !context.leaves_it {
        let login = super::login(request, context);
        let saved = save(&SaveRequest {
            config,
            report: publication.report,
            allow_dirty: true,
            local: false,
            login: login.as_ref(),
            writer: writer(request.variables),
            say: request.say,
        });
        if let Err(error) = saved {
            if error.downcast_ref::<Taken>().is_some() {
                return Err(error);
            }
            // No permission makes a base of a report without any figure.
            let needs = match publication.report.lacks_figures() {
                true => "",
                false => {
                    "; it needs `contents: write`, or `comment: later` and the workflow of `post/`"
                }
            };
            warnings.push(format!(
                "the report was not kept on `{}`: {}{needs}",
                config.baseline.branch,
                in_a_sentence(&error)
            ));
        }
    }
    if request.upload {
        let name = name(publication);
        if context.may_save() && is_whole {
            demand_own(client, context, &name)?;
        }
        let kept = match (request.variables)("ACTIONS_RUNTIME_TOKEN") {
            Some(_) => upload(request, out, (&name, !is_first(context))),
            None => hand_on(request, out, &name),
        };
        if let Err(error) = kept {
            warnings.push(in_a_sentence(&error));
        }
    }
    Ok(warnings)
}

/// Fails if another job of this run has already uploaded a baseline of this name. A job that may not list artifacts
/// continues: the branch of reports records who wrote each report.
fn demand_own(client: Option<&Client>, context: &Context, name: &str) -> anyhow::Result<()> {
    let (Some(client), Ok(run)) = (client, context.run_id.parse()) else {
        return Ok(());
    };
    match client.artifacts_of(run, name) {
        // In a later attempt of the run, the artifact that exists already was uploaded by an earlier attempt.
        Ok(there) if is_first(context) && !there.is_empty() => {
            let refused = Misuse::new(format!("this run has an artifact `{name}` already"))
                .help("give each job a name of its own with the input `name`");
            Err(anyhow::Error::from(refused).context(Taken))
        }
        _ => Ok(()),
    }
}

/// Whether this is the first attempt of the run. A later attempt overwrites what an earlier one has uploaded.
fn is_first(context: &Context) -> bool {
    matches!(&*context.run_attempt, "" | "1")
}

/// Leaves the upload to the next step in `host/action.yml`: only a container action has the token for it. The two
/// outputs only pass values to that step and are not outputs of the action.
fn hand_on(request: &CiRequest<'_>, out: &Path, name: &str) -> anyhow::Result<()> {
    let Some(path) = (request.variables)("GITHUB_OUTPUT") else {
        return Ok(());
    };
    let files: Vec<String> = KEPT
        .iter()
        .map(|file| out.join(file))
        .filter(|file| file.exists())
        .map(|file| file.display().to_string())
        .collect();
    let handed = [
        ("artifact-name", name.to_owned()),
        ("artifact-path", files.join("\n")),
    ];
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(outputs::file(&handed).as_bytes()))
        .with_context(|| format!("failed to write the outputs to `{path}`"))
}

/// The name of the artifact. A shard has a different name, so that it is never used as a baseline.
fn name(publication: &Publication<'_>) -> String {
    let name = artifact_name(&publication.context.configuration);
    match &publication.report.run.shard {
        None => name,
        Some(share) => {
            let shard = share.shard();
            format!("{name}-shard-{}-of-{}", shard.index, shard.count)
        }
    }
}

fn leave(publication: &Publication<'_>, base: Option<Report>, out: &Path) -> anyhow::Result<()> {
    let bundle = Bundle {
        base,
        ..Bundle::of(publication)
    };
    let text = serde_json::to_vec(&bundle)?;
    file::write(&out.join(bundle::FILE), &text)?;
    // The bundle is left anyway: `post/` then explains the problem on the pull request.
    ensure!(
        text.len() <= bundle::MOST_BYTES,
        "it has {} MiB, and `post/` reads {}; split the suite into configurations with a name each",
        text.len() / 1024 / 1024,
        bundle::MOST_BYTES / 1024 / 1024
    );
    Ok(())
}

fn upload(
    request: &CiRequest<'_>,
    out: &Path,
    (name, is_again): (&str, bool),
) -> anyhow::Result<()> {
    let mut files: Vec<(&str, Vec<u8>)> = Vec::new();
    for file in KEPT {
        if let Ok(bytes) = std::fs::read(out.join(file)) {
            files.push((file, bytes));
        }
    }
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (*name, &**bytes))
        .collect();
    artifact_upload(request.variables, name, is_again, &files)?;
    (request.say)(&format!("uploaded the artifact `{name}`\n"));
    Ok(())
}

/// Keeps the report of a push. Does nothing if the run has kept the report itself. Fails if the run is not on the
/// default branch, if its bundle contradicts GitHub, or if the branch of reports cannot be written.
pub(super) fn keep_later(
    request: &PostRequest<'_>,
    run: &WorkflowRun,
    say: &dyn Fn(&str),
) -> anyhow::Result<()> {
    let client = request.client;
    let repository = client.repository();
    let of = run.head_repository.as_ref().map(|of| of.full_name.as_str());
    ensure!(
        of == Some(repository),
        "the commit of run {} is not of this repository",
        run.id
    );
    // Everybody who may push a branch can write a workflow there that makes any claims.
    let branch = client.repository_facts()?.default_branch;
    if run.head_branch.as_deref() != Some(&branch) {
        say(&format!(
            "run {} is of a push to another branch than `{}`: its report is not kept, and stays an artifact\n",
            run.id,
            safe::line(&branch)
        ));
        return Ok(());
    }
    let name = match &request.configuration {
        Some(given) => given.clone(),
        None => {
            let text = client.file_of(&request.config, &run.head_sha)?;
            named::name_at(Some(&text), Path::new(&request.config))
        }
    };
    let context = Context {
        event: run.event.clone(),
        repository: repository.to_owned(),
        head_sha: run.head_sha.clone(),
        run_id: run.id.to_string(),
        run_attempt: run.run_attempt.unwrap_or(1).to_string(),
        configuration: name.clone(),
        ..Context::default()
    };
    let bundle = match left(client, run, &context, request.registry) {
        Ok(bundle) => bundle,
        Err(Nothing {
            what,
            reason,
            is_wrong: true,
            ..
        }) => bail!("{what}: {reason}"),
        Err(Nothing { what, reason, .. }) => {
            say(&format!("{what}: {}\n", safe::line(&reason)));
            return Ok(());
        }
    };
    claims::demand_figures(&bundle.report)?;
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let url = format!("{}/{repository}", request.server_url.trim_end_matches('/'));
    let hint = Hint {
        in_workflow: true,
        remote: Some(url.clone()),
        ..Hint::default()
    };
    let login = request.login.as_ref();
    baseline::visit_commit(
        folder.path(),
        &url,
        (&branch, &run.head_sha),
        (login, &hint),
    )?;
    let file = folder.path().join(&request.config);
    if !file.is_file() {
        return Err(
            Misuse::new(format!("`{branch}` has no `{}`", request.config))
                .help("name the configuration with the input `config`")
                .into(),
        );
    }
    let configured = |name: Option<String>| {
        request.registry.configured(&Overrides {
            file: Some(file.clone()),
            name,
            is_base: true,
            ..Overrides::default()
        })
    };
    let mut config = configured(None)?;
    if configuration(&config) != name {
        config = configured(Some(name))?;
    }
    save(&SaveRequest {
        config: &config,
        report: &bundle.report,
        allow_dirty: true,
        local: false,
        login,
        writer: Some(BranchWriter {
            run: run.id.to_string(),
            attempt: bundle.run_attempt.to_string(),
        }),
        say,
    })
}
