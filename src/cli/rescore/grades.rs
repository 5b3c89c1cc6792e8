//! `kelvin rescore grades`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::check;
use crate::check::{Checked, RejudgeRequest};
use crate::cli::again::Again;
use crate::cli::check::{CheckFormat, LogFormat, show, shown};
use crate::cli::progress::Progress;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_record::Ending;
use kelvin_run::config::Overrides;

/// The arguments of `kelvin rescore grades`.
#[derive(Debug, Args)]
pub(super) struct GradesArgs {
    /// The report whose answers are graded: a file, some characters of the id of a recorded run, `latest`,
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
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
    /// How progress is told on standard error.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Runs `kelvin rescore grades`.
pub(super) fn main(args: GradesArgs, registry: Registry) -> anyhow::Result<Exit> {
    let GradesArgs {
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
            registry,
            report: report.clone(),
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
        crate::cli::history::warn(check::ledger::record(&config, &checked.report));
    }
    show(format, &checked, None)?;
    if format == CheckFormat::Text && log_format == LogFormat::Text {
        crate::cli::say(&next(&report, &config, &checked, !no_history));
    }
    Ok(checked.exit())
}

/// The next step: the ledger shows the grades of this judge and of the one before it side by side.
fn next(report: &str, config: &Path, checked: &Checked, is_in_ledger: bool) -> String {
    let again = |command| Again::kelvin(command).config(config);
    match checked.report.run.ending {
        Ending::Complete if is_in_ledger => again("ledger summary").next(),
        Ending::Complete => again("view").flag("--out", shown(&checked.out)).next(),
        Ending::Failed => again("doctor").next(),
        Ending::Interrupted | Ending::DryRun | Ending::Changed => {
            again("rescore grades").word(report).next()
        }
    }
}
