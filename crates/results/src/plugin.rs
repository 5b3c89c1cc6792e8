//! Whether the Python that runs a suite of pytest has the plugin that hands the outcomes over.

use std::path::Path;
use std::time::Duration;

use super::config::Suite;
use kelvin_base::failure::{FailureKind, Streams};
use kelvin_run::config::Config;
use kelvin_run::targets::{Address, Ended, Invocation, TargetSite};
use kelvin_system::signal::Interrupt;

/// What is said where the plugin is absent.
pub(super) const LACKED: &str = "the Python that runs pytest does not have the plugin `kelvin_action.pytest`, which \
                                 `pip install kelvin-action` in its environment brings";

/// The package of the plugin.
const PACKAGE: &str = "kelvin_action";
/// How the module of pytest is run.
const MODULE: &str = " -m pytest";
/// The exit code by which the Python says that it does not have the package.
const LACKS: i32 = 3;
/// How long a Python may take to start.
const LONGEST: Duration = Duration::from_secs(30);

/// Whether what pytest printed says that the plugin could not be imported.
pub(super) fn is_lacked_by(streams: &Streams) -> bool {
    let named = [&streams.stderr, &streams.stdout];
    named.iter().any(|text| {
        text.contains(&format!("No module named '{PACKAGE}'"))
            || text.contains(&format!("No module named '{PACKAGE}."))
    })
}

/// Whether the Python of a suite certainly does not have the plugin. The Python is asked whether it finds the package;
/// pytest and the tests are not started. Of a command that is more than a Python and the module of pytest nobody can tell
/// what else it does, so it is not tried.
pub(super) fn is_lacked(suite: &Suite, config: &Config) -> bool {
    let run = suite.keys.run.as_deref().unwrap_or_default();
    let is_plain = |python: &str| {
        let name = python.rsplit('/').next().unwrap_or(python);
        let is_of_a_name =
            |sign: char| sign.is_alphanumeric() || ['.', '/', '_', '-'].contains(&sign);
        name.starts_with("python") && python.chars().all(is_of_a_name)
    };
    let python = run.split_once(MODULE).map(|(python, _)| python.trim());
    let Some(python) = python.filter(|python| suite.loads_the_plugin() && is_plain(python)) else {
        return false;
    };
    let question = format!(
        "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('{PACKAGE}') else {LACKS})"
    );
    let (Ok(interrupt), Ok(folder)) = (Interrupt::of_process(), tempfile::tempdir()) else {
        return false;
    };
    let site = TargetSite {
        turns: None,
        jobs: config.jobs,
        root: config.root.clone(),
        timeout: config.limits.timeout.min(LONGEST),
        max_output_bytes: config.limits.max_output_bytes,
        decision_field: String::new(),
        interrupt,
    };
    let code = exit_of(&format!("{python} -c \"{question}\""), &site, folder.path());
    code == Some(LACKS)
}

/// The exit code of a command; none if it did not fail by itself.
fn exit_of(command: &str, site: &TargetSite, folder: &Path) -> Option<i32> {
    let program = Address::command(command).open(site).ok()?;
    let call = Invocation {
        input: "",
        input_file: &folder.join("input"),
        output_file: &folder.join("output"),
        repeat: 1,
        sample: "",
        workplace: None,
    };
    match program.call(&call, &mut Vec::new()) {
        Ended::Failed { failure, .. } => match failure.kind {
            FailureKind::Exit(code) => Some(code),
            _ => None,
        },
        Ended::Answered(_) | Ended::Interrupted => None,
    }
}
