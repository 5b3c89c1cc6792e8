//! A run that ended before anything was measured: what is still known about its repository and event, and where its
//! failure is reported.

use std::path::{Path, PathBuf};

use super::{CiRequest, open, place};
use crate::baseline::{self, Hint};
use crate::check::named::named;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_base::file;
use kelvin_github::Client;
use kelvin_github::publish::deliver::{Reach, Surfaces, fail};
use kelvin_github::publish::failure::UnmeasuredRun;
use kelvin_github::publish::{Context, Level};
use kelvin_run::config;

/// Why a run ended, and where that is reported.
pub(super) struct Stop {
    pub(super) error: anyhow::Error,
    pub(super) reach: Reach,
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        let reach = Reach::Everywhere;
        Self { error, reach }
    }
}

impl Stop {
    /// The checked-out commit is not the commit of the change. Results that were already published about the change
    /// stay.
    pub(super) fn wrong_checkout(error: anyhow::Error) -> Self {
        let reach = Reach::JobOnly;
        Self { error, reach }
    }
}

/// Reports that a run could not even begin, e.g. because an argument cannot be read or a folder is missing.
pub(crate) fn failed(request: &CiRequest<'_>, error: &anyhow::Error) {
    let client = super::client(request);
    super::hide_secrets(request);
    let (root, file) = configuration_of(request);
    let mut context = place::run_context(request);
    let mut hint = baseline::hint_of_event(&request.event, &request.payload);
    call(request, &mut context, &name(&root, &file, &hint));
    let surfaces = super::surfaces(request, client.as_deref());
    // If a person started the run, only the checkout shows which commit it is about.
    if hint.tip.is_none() {
        let _ = place::checked_out(&hint, &root, &mut context);
    }
    let _ = place::find_pull_request(client.as_deref(), &root, &mut context, &mut hint);
    let stop = Stop::wrong(error);
    report_failure(
        request,
        &context,
        &root,
        (surfaces, client.as_deref()),
        &stop,
    );
}

impl Stop {
    /// A copy of the error, for a caller who keeps the error.
    fn wrong(error: &anyhow::Error) -> Self {
        let text = format!("{error:#}");
        Self::from(match error.downcast_ref::<Misuse>() {
            Some(misuse) => anyhow::Error::from(misuse.clone()),
            None => anyhow::anyhow!(text),
        })
    }
}

/// Reports the failure in every place where a result would be shown.
pub(super) fn report_failure<'a>(
    request: &CiRequest<'_>,
    context: &Context,
    root: &Path,
    (mut surfaces, client): (Surfaces<'a>, Option<&'a Client>),
    stop: &Stop,
) {
    let error = &stop.error;
    let reason = request.masker.text(&format!("{error:#}")).into_owned();
    let misuse = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Misuse>());
    let at = misuse.and_then(|misuse| misuse.at.as_ref());
    let failure = UnmeasuredRun {
        context,
        what: match (Exit::of(error), at) {
            (Exit::Misused, Some(_)) => "The configuration has to be corrected first",
            (Exit::Misused, None) => {
                "Something has to be corrected before anything can be measured"
            }
            _ => "The measurement was not possible",
        },
        reason,
        place: at.map(|(file, line)| (place::in_repository(root, file), *line)),
        level: Level::Failure,
    };
    if request.dry_run {
        (request.say)(&kelvin_github::publish::failure::page(&failure));
        return;
    }
    let wants_check = request.wants_check_run(context) && stop.reach == Reach::Everywhere;
    if wants_check && surfaces.check.is_none() {
        surfaces.check = open(client, context, &surfaces);
    }
    fail(&failure, surfaces, stop.reach);
}

/// The folder of the configuration and its file; they need not exist.
pub(super) fn configuration_of(request: &CiRequest<'_>) -> (PathBuf, PathBuf) {
    let file = request.gate.check.overrides.file.clone();
    let file = file.unwrap_or_else(|| PathBuf::from("kelvin.yaml"));
    let absolute = std::path::absolute(&file).unwrap_or_else(|_| file.clone());
    let root = absolute.parent().unwrap_or(Path::new("/"));
    (root.to_path_buf(), file)
}

/// The name of a configuration that is missing or cannot be read: from its text if possible, else from the base, else
/// from its path. This name has to match the one in the comment of an earlier run.
pub(super) fn name(root: &Path, file: &Path, hint: &Hint) -> String {
    let of_base = || {
        let name = Path::new(file.file_name()?);
        let (_, mut files) = baseline::base_files(root, (None, hint), &[name]).ok()?;
        String::from_utf8(files.pop()?.ok()??).ok()
    };
    let text = file::read(&root.join(file.file_name().unwrap_or_default())).ok();
    let text = text.or_else(of_base);
    named(text.and_then(|text| config::name(&text)), root, file)
}

/// Gives a run the name of its configuration, which also determines the key of its comment.
pub(super) fn call(request: &CiRequest<'_>, context: &mut Context, name: &str) {
    name.clone_into(&mut context.configuration);
    context.comment_key = request.comment_key.clone().unwrap_or_else(|| {
        [&context.workflow, &context.job, &context.configuration]
            .map(String::as_str)
            .join("/")
    });
}
