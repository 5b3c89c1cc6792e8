//! `kelvin init`: four questions, and a `kelvin.yaml` with which `kelvin check` works unchanged.

mod ask;
mod decision;
mod files;
mod look;
mod steps;
mod template;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::Args;

use crate::exit::{Exit, Misuse};
use crate::signal;
use ask::{Ask, Stopped, Terminal};

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
    #[arg(long)]
    probe: bool,
    /// Keeps the output folder and the cache out of git.
    #[arg(long, overrides_with = "no_gitignore")]
    gitignore: bool,
    /// Leaves `.gitignore` alone.
    #[arg(long)]
    no_gitignore: bool,
    /// Writes `.github/workflows/kelvin.yml` and `kelvin-post.yml`, which check every pull request.
    #[arg(long, overrides_with = "no_workflow")]
    workflow: bool,
    /// Writes no workflows.
    #[arg(long)]
    no_workflow: bool,
    /// Asks nothing: what no flag says gets its default.
    #[arg(long, short)]
    yes: bool,
    /// Overwrites files that are there already.
    #[arg(long)]
    force: bool,
}

/// What a person has already said; the rest is asked for.
#[derive(Clone, Debug, Default)]
struct Request {
    /// The file to write.
    file: PathBuf,
    run: Option<String>,
    cases: Option<String>,
    decision_field: Option<String>,
    /// Empty means not said.
    governing_types: Vec<String>,
    probe: bool,
    gitignore: Option<bool>,
    workflow: Option<bool>,
    force: bool,
}

impl From<InitArgs> for Request {
    fn from(args: InitArgs) -> Self {
        let InitArgs {
            config,
            run,
            cases,
            decision_field,
            governing_types,
            probe,
            gitignore,
            no_gitignore,
            workflow,
            no_workflow,
            yes: _,
            force,
        } = args;
        let said = |yes: bool, no: bool| (yes || no).then_some(yes);
        Self {
            file: config,
            run,
            cases,
            decision_field,
            governing_types,
            probe,
            gitignore: said(gitignore, no_gitignore),
            workflow: said(workflow, no_workflow),
            force,
        }
    }
}

/// Runs `kelvin init`.
pub(super) fn main(args: InitArgs) -> anyhow::Result<Exit> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let ask = (terminal && !args.yes).then_some(&Terminal as &dyn Ask);
    if ask.is_some() {
        signal::heed()?;
    }
    init(&args.into(), ask, &mut anstream::stdout())
}

/// Finds out what is not yet known, and writes the files: all of them at the end, so that stopping
/// at any question leaves everything as it was.
///
/// # Errors
///
/// A [`Misuse`] where an answer is missing or wrong, or a file would be overwritten; any other error
/// where the output of the pipeline holds no decision that could be compared.
fn init(request: &Request, ask: Option<&dyn Ask>, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match steps::run(request, ask, out) {
        Err(error) if error.is::<Stopped>() => {
            writeln!(out, "stopped; nothing was written")?;
            Ok(Exit::Interrupted)
        }
        ended => ended.map(|()| Exit::Passed),
    }
}

impl Request {
    /// Without anybody to ask, the answers must be there.
    fn complete(&self) -> Result<(), Misuse> {
        let mut missing = Vec::new();
        if self.run.is_none() {
            missing.push("--run COMMAND");
        }
        if self.decision_field.is_none() && !self.probe {
            missing.push("--decision-field FIELD (or --probe)");
        }
        if self.governing_types.is_empty() {
            missing.push("--governing-type TYPE");
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(
            Misuse::new("there is nobody to ask, and not every answer is given").help(format!(
                "add {}, or run it on a terminal without `--yes`",
                missing.join(", ")
            )),
        )
    }
}
