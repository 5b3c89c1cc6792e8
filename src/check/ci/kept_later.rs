//! Keeps the result of a push that was measured with a read-only token: this second job may write, and puts the report
//! on the branch of reports. The code of the push is already merged, so its figures are trusted as much as those of a
//! job with write access. Whether the run belongs to such a push is read from GitHub.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use super::left::{Nothing, PostRequest, left};
use crate::baseline;
use crate::baseline::{BranchWriter, Hint};
use crate::check::save::{SaveRequest, save};
use crate::check::{claims, configuration, named};
use kelvin_base::exit::Misuse;
use kelvin_github::WorkflowRun;
use kelvin_github::publish::Context;
use kelvin_page::safe;
use kelvin_run::config::Overrides;

/// Keeps the report of a push. Does nothing if the run has kept the report itself.
///
/// # Errors
///
/// Fails if the run is not on the default branch, if its bundle contradicts GitHub, or if the branch of reports cannot
/// be written.
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
