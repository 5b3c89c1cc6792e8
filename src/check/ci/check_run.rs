//! The name of a run's check run, and how it is opened.

use super::CiRequest;
use kelvin_github::Client;
use kelvin_github::publish::Context;
use kelvin_github::publish::deliver::Surfaces;
use kelvin_github::publish::post::OpenCheckRun;

impl CiRequest<'_> {
    /// Whether the run has its own result. A shard has none: the job that joins the shards reports on all cases.
    pub(super) const fn is_whole(&self) -> bool {
        self.gate.check.shard.is_none()
    }

    /// Whether a check run is made.
    pub(super) const fn wants_check_run(&self, context: &Context) -> bool {
        self.check_run && self.is_whole() && !context.read_only
    }
}

/// The name of the check run of a configuration.
pub(super) fn check_name(configuration: &str) -> String {
    match configuration {
        "" | "kelvin" => "Kelvin".to_owned(),
        name => format!("Kelvin ({name})"),
    }
}

/// Opens the check run; a warning says why it could not be opened.
pub(super) fn open<'a>(
    client: Option<&'a Client>,
    context: &Context,
    surfaces: &Surfaces<'_>,
) -> Option<OpenCheckRun<'a>> {
    let client = client?;
    let name = check_name(&context.configuration);
    let id = format!(
        "{}-{}-{}",
        context.run_id, context.run_attempt, context.comment_key
    );
    match OpenCheckRun::open(client, &name, &context.head_sha, &id) {
        Ok(check) => Some(check),
        Err(error) => {
            surfaces.warn(&error.to_string());
            None
        }
    }
}
