//! Reads the inputs of an action. They arrive as variables, named `INPUT_` and the input in upper case, and are passed
//! to the parser as if they were on the command line. An argument on the command line takes precedence. So there is one
//! list of inputs and one place where they are checked.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Context as _;

use kelvin_github::{Access, Client};

/// The inputs of `kelvin ci`, in the order of `action.yml`.
const CI_INPUTS: &[&str] = &[
    "config",
    "name",
    "setup",
    "only",
    "seed",
    "jobs",
    "baseline",
    "max-drop",
    "comment",
    "comment-key",
    "check-run",
    "fail-on",
    "budget",
    "base-repeats",
    "head-repeats",
    "working-directory",
    "token",
    "upload",
    "shard",
    "merge",
    "no-cache",
    "base",
];

/// The inputs of `kelvin post`.
const POST_INPUTS: &[&str] = &[
    "run-id",
    "configuration",
    "config",
    "comment",
    "comment-key",
    "token",
];

/// The inputs of `kelvin approve`.
const APPROVE_INPUTS: &[&str] = &["pull-request", "config", "then", "token"];

/// Adds the inputs from variables to a command line; an existing argument takes precedence.
pub(super) fn with_inputs(
    mut line: Vec<OsString>,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Vec<OsString> {
    let inputs = match line.get(1).and_then(|word| word.to_str()) {
        Some("ci") => CI_INPUTS,
        Some("post") => POST_INPUTS,
        Some("approve") => APPROVE_INPUTS,
        _ => return line,
    };
    for name in inputs {
        let flag = format!("--{name}");
        let given = line.iter().any(|word| {
            let word = word.to_string_lossy();
            word == flag || word.starts_with(&format!("{flag}="))
        });
        let upper = name.to_uppercase();
        let value = variables(&format!("INPUT_{upper}"))
            .or_else(|| variables(&format!("INPUT_{}", upper.replace('-', "_"))));
        let Some(value) = value.filter(|value| !given && !value.trim().is_empty()) else {
            continue;
        };
        let values: Vec<&str> = match *name {
            "only" => value
                .split('\n')
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect(),
            "setup" => vec![&*value],
            _ => vec![value.trim()],
        };
        line.extend(
            values
                .iter()
                .map(|value| OsString::from(format!("{flag}={value}"))),
        );
    }
    line
}

/// The client for the repository whose workflow runs this. Without a token, it sends anonymous requests. Fails if the
/// runner does not name the repository, or GitHub cannot be asked at its address.
pub(super) fn client(token: Option<&str>) -> anyhow::Result<Arc<Client>> {
    let api_url = variable("GITHUB_API_URL").unwrap_or_else(|| "https://api.github.com".to_owned());
    let repository = variable("GITHUB_REPOSITORY").context("`GITHUB_REPOSITORY` is not set")?;
    let client = Client::new(&Access {
        api_url: &api_url,
        repository: &repository,
        token: token.unwrap_or_default(),
    })?;
    Ok(Arc::new(client))
}

/// Reads a variable; an empty variable counts as unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str], inputs: &[(&str, &str)]) -> Vec<String> {
        let line = words.iter().map(OsString::from).collect();
        let find = |name: &str| {
            let found = inputs.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        };
        let line = with_inputs(line, &find);
        line.iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn inputs_become_arguments_and_arguments_win() {
        let inputs = [
            ("INPUT_MAX-DROP", "0.1"),
            ("INPUT_FAIL_ON", " never\n"),
            ("INPUT_ONLY", "a\n\n b \n"),
            ("INPUT_SEED", ""),
            ("INPUT_CONFIG", "theirs.yaml"),
            ("INPUT_DRY-RUN", "true"),
        ];
        let made = line(&["kelvin", "ci", "--config=ours.yaml"], &inputs);
        let added = ["--only=a", "--only=b", "--max-drop=0.1", "--fail-on=never"];
        assert_eq!(made[3..], added);
        assert_eq!(line(&["kelvin", "check"], &inputs).len(), 2);
    }

    #[test]
    fn every_input_is_an_argument_of_its_command() {
        use clap::CommandFactory as _;
        let command = super::super::Args::command();
        for (name, inputs) in [
            ("ci", CI_INPUTS),
            ("post", POST_INPUTS),
            ("approve", APPROVE_INPUTS),
        ] {
            let command = command.find_subcommand(name).expect("it is there");
            for input in inputs {
                let known = command
                    .get_arguments()
                    .any(|known| known.get_long() == Some(*input));
                assert!(known, "{name} has no `--{input}`");
            }
        }
    }
}
