//! `kelvin rejudge`.

use std::path::PathBuf;

use clap::Args;

use super::check::{Format, show};
use super::progress::Progress;
use crate::check::{self, RejudgeRequest};
use crate::config::Overrides;
use crate::exit::Exit;

/// The arguments of `kelvin rejudge`.
#[derive(Debug, Args)]
pub(super) struct RejudgeArgs {
    /// The report whose answers are graded: a file, some signs of the id of a recorded run, `latest`,
    /// `previous`, or a git revision.
    report: String,
    /// The configuration, whose section `grading` names the judge.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The folder for the new report.
    #[arg(long, value_name = "DIR", default_value = "kelvin-rejudged")]
    out: PathBuf,
    /// Adds the grades to no ledger.
    #[arg(long)]
    no_history: bool,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// How progress is told on standard error.
    #[arg(long, value_enum, default_value_t = super::check::LogFormat::Text)]
    log_format: super::check::LogFormat,
}

/// Runs `kelvin rejudge`.
pub(super) fn main(args: RejudgeArgs) -> anyhow::Result<Exit> {
    let RejudgeArgs {
        report,
        config,
        out,
        no_history,
        format,
        log_format,
    } = args;
    let progress = Progress::new(log_format);
    let checked = check::rejudge(
        &RejudgeRequest {
            report,
            out,
            overrides: Overrides {
                file: Some(config.clone()),
                ..Overrides::default()
            },
        },
        &progress,
    );
    progress.finish(checked.as_ref().ok().map(|checked| &checked.report));
    let checked = checked?;
    if !no_history {
        super::history::warn(check::ledger::record(&config, &checked.report));
    }
    show(format, &checked, None)?;
    Ok(checked.exit())
}
