//! Values that the runner of a workflow gives to this program but not to the pipeline: a token that can write, and the
//! files through which a step speaks to the workflow. A pipeline that writes to one of these files by accident would
//! change the outputs, the summary or the later steps.

use std::process::Command;

/// The variables that a pipeline and its `setup` do not see.
const NAMES: [&str; 11] = [
    "INPUT_TOKEN",
    "KELVIN_TEAMS_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "ACTIONS_RESULTS_URL",
    "ACTIONS_CACHE_URL",
    "GITHUB_OUTPUT",
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
];

/// Removes these variables from the environment of a process that is about to be started, since others may
/// read its environment.
pub fn withhold(command: &mut Command) {
    for name in NAMES {
        command.env_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_variables_are_those_of_the_code() {
        let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/action.md"));
        for name in NAMES {
            assert!(document.contains(&format!("`{name}`")), "{name}");
        }
    }
}
