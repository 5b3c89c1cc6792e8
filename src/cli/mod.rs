//! The command line: turns arguments into a request, and a result into text and an exit code.

mod after;
mod again;
mod approve;
mod ask;
mod baseline;
mod calibrate;
mod check;
mod ci;
mod compare;
mod demo;
mod doctor;
mod eval;
mod export;
mod forecast;
mod gate;
mod history;
mod import;
mod init;
mod inputs;
mod label;
mod ledger;
mod lint;
mod manual;
mod merge;
mod names;
mod post;
mod progress;
mod rescore;
#[cfg(test)]
mod toy_tests;
mod veritas;
mod view;

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{ErrorKind, Write as _};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::anyhow;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_github::publish::commands;
use kelvin_github::publish::mask::Masker;
use kelvin_run::targets as target;

/// Tells whether a change made an AI pipeline worse, and where.
#[derive(Debug, Parser)]
#[command(
    name = "kelvin",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Shows in a few seconds what Kelvin is for.
    ///
    /// It makes a pipeline and a change that makes the pipeline worse, and reports that.
    Demo(demo::DemoArgs),
    /// Writes a `kelvin.yaml` for your pipeline.
    Init(init::InitArgs),
    /// Makes cases from production traces.
    ///
    /// It replaces what is private, lists every case for review, and writes the cases if asked to. A file with JSON,
    /// JSON lines or a table needs no import: name it in `kelvin.yaml`, as `cases: FILE`.
    Import(import::ImportArgs),
    /// Checks a configuration and its cases without running anything, fast enough for every commit.
    Lint(lint::LintArgs),
    /// Runs the pipeline on every case, and reports how it did.
    ///
    /// Each case is rewritten too: the report says which rewrites moved the decision, and which ought to have.
    Check(check::CheckArgs),
    /// Runs a check, and says whether the change made anything worse.
    ///
    /// It compares with the report of the commit where the change begins.
    Gate(gate::GateArgs),
    /// Prints the JSON schema of `kelvin.yaml`, with which an editor completes and checks it.
    Schema,
    /// Prints what a shell needs to complete the command line.
    Completions(manual::CompletionsArgs),
    /// Writes a man page for every command into a folder.
    Man(manual::ManArgs),
    /// Says what is missing for a run, before a run costs anything.
    Doctor(doctor::DoctorArgs),
    /// Joins the reports of the shards of one run.
    Merge(merge::MergeArgs),
    /// Does everything in a workflow: reads the event, runs the gate, publishes what it found.
    Ci(ci::CiArgs),
    /// Publishes, on `workflow_run`, the result of a run whose token cannot write.
    Post(post::PostArgs),
    /// Takes over what somebody has decided about a regression, in a workflow of the default branch.
    Approve(approve::ApproveArgs),
    /// Compares two reports.
    Compare(compare::CompareArgs),
    /// Measures a retrieval run that was made elsewhere against relevance judgements.
    Eval(eval::EvalArgs),
    /// Tries a judge that asks a language model, and says whether a gate may rest on it.
    Calibrate(calibrate::CalibrateArgs),
    /// Lists the runs of this machine, and the course of each metric.
    History(history::HistoryArgs),
    /// Shows the last reports in a browser, and the runs in progress.
    View(view::ViewArgs),
    /// Exports the invocations of a run that score well, as a data set for training.
    Export(export::ExportArgs),
    /// Makes figures, grades or quality scores of a stored report again; no pipeline is run.
    Rescore(rescore::RescoreArgs),
    /// Shows pairs of graded answers to a person, who says which is better, and tells how far the judge agrees.
    Label(label::LabelArgs),
    /// Lists what judges have graded on this machine, and what it cost.
    Ledger(ledger::LedgerArgs),
    /// Keeps reports to compare with.
    Baseline(baseline::BaselineArgs),
}

impl Command {
    /// Whether the command runs a pipeline or reads a run. Only such a command can fail because there is no
    /// measurement.
    const fn measures(&self) -> bool {
        match self {
            Self::Init(_)
            | Self::Check(_)
            | Self::Gate(_)
            | Self::Ci(_)
            | Self::Eval(_)
            | Self::Calibrate(_) => true,
            Self::Rescore(args) => args.measures(),
            Self::Demo(_)
            | Self::Import(_)
            | Self::Lint(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Doctor(_)
            | Self::Schema
            | Self::Merge(_)
            | Self::Post(_)
            | Self::Approve(_)
            | Self::Compare(_)
            | Self::History(_)
            | Self::View(_)
            | Self::Export(_)
            | Self::Label(_)
            | Self::Ledger(_)
            | Self::Baseline(_) => false,
        }
    }
}

/// The formats of a command that prints only text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TextOrJson {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
}

/// Parses a whole number from 1 to a limit.
fn whole<const MOST: usize>(text: &str) -> Result<NonZeroUsize, String> {
    match text.trim().parse::<NonZeroUsize>() {
        Ok(number) if number.get() <= MOST => Ok(number),
        _ => Err(format!("a whole number from 1 to {MOST}")),
    }
}

/// A random word that nobody can guess: the hashers of the standard library get their keys from the system's source of
/// randomness.
fn unguessable() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}

/// Runs the program with the given kinds of probes. It returns instead of exiting, so that every destructor runs.
pub fn main(registry: Registry) -> ExitCode {
    target::know_word();
    let line: Vec<OsString> = std::env::args_os().collect();
    if line.get(1).is_some_and(|word| word == target::SUPERVISE) {
        return match target::serve() {
            Ok(()) => Exit::Passed.into(),
            Err(error) => {
                complain(&error);
                Exit::Misused.into()
            }
        };
    }
    crate::history::report_waits_by(|text| write_error(&format!("{text}\n")));
    let exit = run(registry, inputs::with_inputs(line, &inputs::variable));
    target::dismiss();
    exit.into()
}

/// The command line for the given kinds of probes: `--probe` accepts their names, and shows the question of each.
fn command(registry: Registry) -> clap::Command {
    let named =
        |arg: clap::Arg| match arg.get_action().takes_values() && arg.get_id() == check::PROBE {
            true => arg.value_parser(check::probes(registry)),
            false => arg,
        };
    manual::with_short_help(Args::command()).mut_subcommands(|command| command.mut_args(named))
}

fn parsed(registry: Registry, line: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = command(registry);
    let mut found = command.try_get_matches_from_mut(line)?;
    Args::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
}

/// Runs one command line, whose first word is the name of the program.
fn run(registry: Registry, line: Vec<OsString>) -> Exit {
    let args = match parsed(registry, &line) {
        Ok(args) => args,
        Err(error) => {
            // Help and version are normal answers; every other error is a misuse, with exit code 1 here and 2 in clap
            // itself.
            let exit = if error.use_stderr() {
                Exit::Misused
            } else {
                Exit::Passed
            };
            match on_github() && error.use_stderr() {
                // The content of an input must not become a command of the workflow.
                true => write_error(&error.to_string()),
                false => drop(error.print()),
            }
            if exit == Exit::Misused && line.get(1).is_some_and(|word| word == "ci") {
                ci::wrong_input(registry, &line, &error);
            }
            return exit;
        }
    };
    let measures = args.command.measures();
    let ended = match args.command {
        Command::Init(args) => init::main(args, registry),
        Command::Import(args) => import::main(args),
        Command::Check(args) => check::main(&args, registry),
        Command::Gate(args) => gate::main(&args, registry),
        Command::Demo(args) => demo::main(&args),
        Command::Doctor(args) => doctor::main(args, registry),
        Command::Schema => schema(registry),
        Command::Lint(args) => lint::main(&args, registry),
        Command::Completions(args) => manual::completions(&args, &mut command(registry)),
        Command::Man(args) => manual::man(&args, &command(registry)),
        Command::Merge(args) => merge::main(args, registry),
        Command::Ci(args) => ci::main(args, registry),
        Command::Post(args) => post::main(args, registry),
        Command::Approve(args) => approve::main(args, registry),
        Command::Compare(args) => compare::main(&args, registry),
        Command::Eval(args) => eval::main(&args, registry),
        Command::Calibrate(args) => calibrate::main(&args, registry),
        Command::History(args) => history::main(args, registry),
        Command::View(args) => view::main(args, registry),
        Command::Export(args) => export::main(args, registry),
        Command::Rescore(args) => rescore::main(args, registry),
        Command::Label(args) => label::main(args, registry),
        Command::Ledger(args) => ledger::main(args),
        Command::Baseline(args) => baseline::main(&args, registry),
    };
    let ended = ended.and_then(|exit| match UNSAID.get() {
        Some(why) => Err(anyhow!("failed to print the answer: {why}")),
        None => Ok(exit),
    });
    ended.unwrap_or_else(|error| {
        complain(&error);
        match measures {
            true => Exit::of(&error),
            false => Exit::Misused,
        }
    })
}

/// Prints an answer. A closed pipe (`| head`) is not an error. A full disk is one, which is reported at the end of the
/// command.
fn say(text: &str) {
    const ESCAPE: char = '\u{1b}';
    let said = match text.contains(ESCAPE) {
        true => anstream::stdout().write_all(text.as_bytes()),
        // A text that no terminal reads needs no filter, and an answer may be megabytes long.
        false => std::io::stdout().write_all(text.as_bytes()),
    };
    match said.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = UNSAID.set(error.to_string());
        }
        _ => {}
    }
}

/// Why an answer could not be printed.
static UNSAID: OnceLock<String> = OnceLock::new();

/// Prints a remark together with an answer. In a workflow, external text in it must not be executed as a command.
fn say_remark(text: &str) {
    match on_github() {
        true => say(&commands::unbracketed(text)),
        false => say(text),
    }
}

/// Runs `kelvin schema`.
fn schema(registry: Registry) -> anyhow::Result<Exit> {
    say(&kelvin_probe::schema(registry.kinds())?);
    Ok(Exit::Passed)
}

/// Prints an error; no other function does.
fn complain(error: &anyhow::Error) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    // An error may quote the output of a pipeline.
    let masker = Masker::of_environment([]);
    let text = kelvin_page::safe::lines(&masker.text(&format!("{error:#}")));
    write_error(&format!("{style}error{style:#}: {text}\n"));
    if let Some(cure) = crate::history::cure(error) {
        write_error(&format!("  help: {cure}\n"));
    }
}

/// Writes to standard error. In a workflow, no line of the text is executed as a command, even if it comes from a
/// configuration, a case or an input.
fn write_error(text: &str) {
    let text = match on_github() {
        true => commands::inert(text),
        false => text.to_owned(),
    };
    let _ = anstream::stderr().write_all(text.as_bytes());
}

fn on_github() -> bool {
    inputs::variable("GITHUB_ACTIONS").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_defined_without_contradiction() {
        Args::command().debug_assert();
    }
}
