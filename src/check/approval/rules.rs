//! The rules of a branch. Those of the change itself do not count: otherwise a change could add a name to `by`, and
//! that person could approve it.

use std::path::Path;

use crate::registry::Registry;
use kelvin_gate::approval::Rules;
use kelvin_github::Client;

/// Who may approve, according to the configuration at the tip of a branch; none where it names nobody.
///
/// # Errors
///
/// Where the configuration is missing, cannot be fetched or cannot be read.
pub(in crate::check) fn of_branch(
    registry: Registry,
    client: &Client,
    config: &str,
    branch: &str,
) -> anyhow::Result<Option<Rules>> {
    anyhow::ensure!(!branch.is_empty(), "the base branch is not known");
    let text = client.file_of(config, branch)?;
    let config = registry.configured_by(&text, Path::new(config))?;
    Ok(config.gate.approval.as_ref().map(Rules::from))
}
