//! `kelvin init`: a few questions, and a `kelvin.yaml` with which `kelvin check` works unchanged.

mod acts;
mod answers;
mod corpus;
mod decision;
mod evaluators;
mod files;
mod first;
mod functions;
mod governing;
mod kind;
mod request;
mod scores;
mod searches;
mod steps;
mod survey;
mod template;
#[cfg(test)]
mod tests;
mod trial;
mod workflows;

use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::Args;

use super::ask::{Ask, Stopped, Terminal};
use super::check::CheckArgs;
use crate::registry::Registry;
pub(super) use governing::LAST_USER_TURN;
use kelvin_base::exit::Exit;
use kelvin_system::signal;
use request::Request;

/// The arguments of `kelvin init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The file to write; its folder becomes the working directory of the pipeline.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// What the pipeline does, which decides what is asked and written.
    #[arg(long, value_enum)]
    kind: Option<kind::PipelineKind>,
    /// The command that runs the pipeline once, with the placeholders `{input}` and `{output}`; a function in Python, as
    /// `module:function`; or the address of a service, as `http://127.0.0.1:8000/ask`. For an evaluator: the command
    /// that runs it on all cases.
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
    /// The folder of the cases, a glob, or a file with records: cases, questions, prompts or scenarios. Relative to the
    /// folder of the configuration.
    #[arg(long, value_name = "PATH")]
    cases: Option<String>,
    /// The key of the decision in the output, or a JSON pointer such as `/result/decision`.
    #[arg(long, value_name = "FIELD")]
    decision_field: Option<String>,
    /// A type of unit that should govern the decision, e.g. `gate_rule`. May be repeated.
    #[arg(long = "governing-type", value_name = "TYPE")]
    governing_types: Vec<String>,
    /// For an agent: the folder that each run gets a copy of as its working directory [default: an empty one].
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<String>,
    /// For an agent: the command that is run in that folder afterwards, and ends with 0 if all is right.
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// For answers in prose: the language model that grades them, by the name that its server knows.
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// For answers in prose: the address of the server of that model.
    #[arg(long, value_name = "URL")]
    judge_url: Option<String>,
    /// For an evaluator of your own: the file that it writes, with a `*` for what differs from run to run. Not needed
    /// where `--run` has `{output}`.
    #[arg(long, value_name = "FILE")]
    scores: Option<String>,
    /// Runs the pipeline once on the first case or question, to find the names in its output or to check them.
    #[arg(long, overrides_with = "no_probe")]
    probe: bool,
    /// Does not run the pipeline.
    #[arg(long)]
    no_probe: bool,
    /// Adds the output folder, the cache and the files that a trial left to `.gitignore`.
    #[arg(long, overrides_with = "no_gitignore")]
    gitignore: bool,
    /// Leaves `.gitignore` alone.
    #[arg(long)]
    no_gitignore: bool,
    /// Writes `.github/workflows/kelvin.yml` and `kelvin-post.yml`, which check every pull request. If the
    /// configuration exists already and no other answer is given, it writes only these two.
    #[arg(long, overrides_with = "no_workflow")]
    workflow: bool,
    /// When the workflow measures a pull request. A check `kelvin` that a rule requires stays pending until then.
    #[arg(long, value_enum, value_name = "WHEN", requires = "workflow")]
    on: Option<workflows::WorkflowTrigger>,
    /// Writes no workflows.
    #[arg(long)]
    no_workflow: bool,
    /// Asks nothing. A run of the pipeline on the first case finds out what no flag says; if something cannot be found
    /// out, it is listed.
    #[arg(long, short)]
    yes: bool,
    /// Overwrites files that are there already.
    #[arg(long)]
    force: bool,
}

/// Runs `kelvin init`, and then a first check if the person agreed to it.
pub(super) fn main(args: InitArgs, registry: Registry) -> anyhow::Result<Exit> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let ask = (terminal && !args.yes).then_some(&Terminal as &dyn Ask);
    if ask.is_some() {
        signal::heed()?;
    }
    let file = args.config.clone();
    let (ended, items) = init(registry, &args.into(), ask, &mut anstream::stdout())?;
    match items {
        None => Ok(ended),
        Some(items) => super::check::main(&CheckArgs::of_items(file, items), registry),
    }
}

/// Finds out everything that is not known yet, and writes the files. All of them are written at the end, so that
/// nothing changes if the user stops at a question. Returns the items that should be measured immediately.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) if an answer is missing or wrong, or a file would be overwritten; any other
/// error if the output of the pipeline contains no decision that could be compared.
fn init(
    registry: Registry,
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<(Exit, Option<Vec<String>>)> {
    match steps::run(registry, request, ask, out) {
        Err(error) if error.is::<Stopped>() => Ok((Exit::Interrupted, None)),
        ended => ended.map(|items| (Exit::Passed, items)),
    }
}
