//! Searches for a base, an anchor and further reports of the base: in the same places, by the same rules.

use super::{GateRequest, claims, configuration};
use crate::baseline::Search;
use kelvin_run::config::Config;

/// Passes a search for stored reports to `then`. The search asks for no artifacts, measures nothing, and finds the
/// configuration by its name; a caller that needs more changes it.
pub(super) fn stored<T>(
    request: &GateRequest,
    config: &Config,
    ask: impl FnOnce(Search<'_>) -> T,
) -> T {
    let login = request.login.as_ref();
    let registry = request.check.registry;
    ask(Search {
        registry,
        artifacts: None,
        login,
        head: None,
        settings: &config.baseline,
        root: &config.root,
        configuration: &configuration(config),
        hint: &request.hint,
        hold: &|repo, commit, report| {
            claims::hold(
                (registry, config),
                (repo, commit),
                report,
                (login, &request.hint),
            )
        },
        compute: None,
    })
}
