//! `kelvin init`: a few questions, and a `kelvin.yaml` with which `kelvin check` works unchanged.

mod corpus;
mod decision;
mod evaluators;
mod fields;
mod files;
mod governing;
mod harmless;
mod ignored;
mod look;
mod request;
mod steps;
mod template;
#[cfg(test)]
mod tests;
mod trial;
mod workflows;

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::Args;

use super::ask::{Ask, Stopped, Terminal};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_system::signal;
use request::Request;

/// The arguments of `kelvin init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The file to write; its folder becomes the working directory of the pipeline.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The command that runs the pipeline once, with the placeholders `{input}` and `{output}`.
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    /// The folder of the cases, or a glob; relative to the folder of the configuration.
    #[arg(long, value_name = "FOLDER")]
    cases: Option<String>,
    /// The key of the decision in the output, or a JSON pointer such as `/result/decision`.
    #[arg(long, value_name = "FIELD")]
    decision_field: Option<String>,
    /// A type of unit that should govern the decision, e.g. `gate_rule`. May be repeated.
    #[arg(long = "governing-type", value_name = "TYPE")]
    governing_types: Vec<String>,
    /// Runs the pipeline once on the first case, to find the decision field or to check it.
    #[arg(long, overrides_with = "no_probe")]
    probe: bool,
    /// Does not run the pipeline.
    #[arg(long)]
    no_probe: bool,
    /// Keeps the output folder, the cache and what a trial has left out of git.
    #[arg(long, overrides_with = "no_gitignore")]
    gitignore: bool,
    /// Leaves `.gitignore` alone.
    #[arg(long)]
    no_gitignore: bool,
    /// Writes `.github/workflows/kelvin.yml` and `kelvin-post.yml`, which check every pull request. Where the
    /// configuration is there already and no other answer is given, it writes these two alone.
    #[arg(long, overrides_with = "no_workflow")]
    workflow: bool,
    /// Writes no workflows.
    #[arg(long)]
    no_workflow: bool,
    /// Asks nothing. What no flag says is found out, by a run of the pipeline on the first case; what cannot be
    /// found out is named.
    #[arg(long, short)]
    yes: bool,
    /// Overwrites files that are there already.
    #[arg(long)]
    force: bool,
}

/// Runs `kelvin init`.
pub(super) fn main(args: InitArgs, registry: Registry) -> anyhow::Result<Exit> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let ask = (terminal && !args.yes).then_some(&Terminal as &dyn Ask);
    if ask.is_some() {
        signal::heed()?;
    }
    init(registry, &args.into(), ask, &mut anstream::stdout())
}

/// Finds out what is not known yet, and writes the files. All of them are written at the end, so that stopping at any
/// question changes nothing.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) where an answer is missing or wrong, or a file would be overwritten; any
/// other error where the output of the pipeline holds no decision that could be compared.
fn init(
    registry: Registry,
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match steps::run(registry, request, ask, out) {
        Err(error) if error.is::<Stopped>() => Ok(Exit::Interrupted),
        ended => ended.map(|()| Exit::Passed),
    }
}
