//! The brackets in the log between which nothing is a command of the runner.

use std::path::Path;

use super::CiRequest;
use kelvin_github::publish::commands;
use kelvin_run::targets as target;

/// Runs the script that prepares the machine, folded away in the log.
pub(super) fn setup(
    request: &CiRequest<'_>,
    script: &str,
    root: &Path,
    on_github: bool,
) -> anyhow::Result<()> {
    if on_github {
        (request.say)(&commands::group("setup"));
    }
    let done = quietly(request, on_github, || target::setup(script, root));
    if on_github {
        (request.say)(&commands::end_group());
    }
    done
}

/// Calls `work`, whose output is no command, whatever it prints.
pub(super) fn quietly<T>(request: &CiRequest<'_>, on_github: bool, work: impl FnOnce() -> T) -> T {
    if on_github {
        (request.say)(&commands::stop(&request.guard));
    }
    let done = work();
    if on_github {
        (request.say)(&commands::resume(&request.guard));
    }
    done
}
