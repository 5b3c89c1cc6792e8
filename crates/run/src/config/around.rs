//! The visible environment of a job: everything besides the code, the command and the input on which an answer may
//! depend. On a developer's machine only the declared variables count. A job in a workflow includes all variables,
//! since nobody watches it.

use kelvin_base::digest::{Digest, Fields};

/// Prefixes of variables that differ from run to run, or that the pipeline does not receive.
const OF_A_RUN: &[&str] = &[
    "ACTIONS_", "GITHUB_", "INPUT_", "KELVIN_", "RUNNER_", "STATE_", "SYSTEMD_",
];
/// Full names of such variables.
const PASSING: &[&str] = &[
    "_",
    "HOSTNAME",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "OLDPWD",
    "PWD",
    "SHLVL",
];
/// Variables that distinguish machines although their names begin with one of the prefixes above.
const OF_A_MACHINE: &[&str] = &["RUNNER_ARCH", "RUNNER_ENVIRONMENT", "RUNNER_OS"];

/// The environment of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// The script that prepared the machine.
    setup: String,
    /// The variables.
    variables: Digest,
}

impl Around {
    /// Reads the script and the variables of this process. In a value that is not valid text, the invalid bytes are
    /// replaced.
    pub fn of_environment(setup: Option<&str>) -> Self {
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        Self::of(setup, variables)
    }

    /// Makes the environment from the script and all variables, in any order.
    pub fn of(setup: Option<&str>, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut variables: Vec<(String, String)> = variables
            .into_iter()
            .filter(|(name, _)| lasts(name))
            .collect();
        variables.sort();
        let fields = Fields::of("kelvin/variables/v1");
        let variables = variables
            .iter()
            .fold(fields, |fields, (name, value)| fields.field(name, value));
        Self {
            setup: setup.unwrap_or_default().to_owned(),
            variables: variables.digest(),
        }
    }

    /// The script that prepared the machine; empty if there was none.
    pub fn setup(&self) -> &str {
        &self.setup
    }

    /// The part of the environment in the key of an answer: all variables if none are declared, otherwise no variables,
    /// since declared variables are in the key anyway.
    pub fn digest(&self, declared: &[String]) -> Digest {
        let fields = Fields::of("kelvin/around/v2").field("setup", &self.setup);
        match declared.is_empty() {
            true => fields.field("variables", self.variables.bytes()).digest(),
            false => fields.digest(),
        }
    }
}

/// Whether a variable stays the same from one run to the next, judging by its name.
pub fn lasts(name: &str) -> bool {
    let passes = OF_A_RUN.iter().any(|prefix| name.starts_with(prefix));
    OF_A_MACHINE.contains(&name) || !(passes || PASSING.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(setup: &str, variables: &[(&str, &str)]) -> Around {
        let pairs = variables.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Around::of(Some(setup), pairs)
    }

    #[test]
    fn another_setup_machine_or_variable_is_another_environment_and_another_run_is_not() {
        let one = of(
            "a",
            &[
                ("MODEL", "m"),
                ("RUNNER_OS", "Linux"),
                ("GITHUB_RUN_ID", "1"),
            ],
        );
        let again = of(
            "a",
            &[
                ("GITHUB_RUN_ID", "2"),
                ("RUNNER_OS", "Linux"),
                ("MODEL", "m"),
            ],
        );
        assert_eq!(one.digest(&[]), again.digest(&[]));
        for other in [
            of("b", &[("MODEL", "m"), ("RUNNER_OS", "Linux")]),
            of("a", &[("MODEL", "n"), ("RUNNER_OS", "Linux")]),
            of("a", &[("MODEL", "m"), ("RUNNER_OS", "macOS")]),
            of("a", &[("RUNNER_OS", "Linux")]),
        ] {
            assert_ne!(one.digest(&[]), other.digest(&[]));
        }
    }

    #[test]
    fn where_variables_are_declared_the_others_do_not_count() {
        let declared = ["MODEL".to_owned()];
        let one = of("a", &[("SESSION", "1")]).digest(&declared);
        assert_eq!(one, of("a", &[("SESSION", "2")]).digest(&declared));
        assert_ne!(one, of("b", &[("SESSION", "1")]).digest(&declared));
    }
}
