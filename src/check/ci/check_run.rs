//! The check run of a run: what it is called, and how it is opened.

use crate::github::Client;
use crate::publish::Context;
use crate::publish::deliver::Surfaces;
use crate::publish::post::Check;

/// The name of the check run of a configuration.
pub(super) fn check_name(configuration: &str) -> String {
    match configuration {
        "" | "kelvin" => "Kelvin".to_owned(),
        name => format!("Kelvin ({name})"),
    }
}

/// Opens it; what keeps it from being opened is told by a warning.
pub(super) fn open<'a>(
    client: Option<&'a Client>,
    context: &Context,
    surfaces: &Surfaces<'_>,
) -> Option<Check<'a>> {
    let client = client?;
    let name = check_name(&context.configuration);
    let id = format!(
        "{}-{}-{}",
        context.run_id, context.run_attempt, context.comment_key
    );
    match Check::open(client, &name, &context.head_sha, &id) {
        Ok(check) => Some(check),
        Err(error) => {
            surfaces.warn(&error.to_string());
            None
        }
    }
}
