//! `kelvin rescore`: something of a stored report is made again, and no pipeline runs.

mod figures;
mod grades;
mod quality;

use clap::{Args, Subcommand};

use crate::registry::Registry;
use kelvin_base::exit::Exit;

/// The arguments of `kelvin rescore`.
#[derive(Debug, Args)]
pub(super) struct RescoreArgs {
    #[command(subcommand)]
    what: RescoreCommand,
}

#[derive(Debug, Subcommand)]
enum RescoreCommand {
    /// Computes the figures of a recorded run again, with the formulas of this version.
    Figures(figures::FiguresArgs),
    /// Grades the stored answers of a report with another judge.
    Grades(grades::GradesArgs),
    /// Computes the quality scores of a stored report, or of recorded traces, by other rules.
    Quality(quality::QualityArgs),
}

impl RescoreArgs {
    /// Whether a judge is asked, so that the command can fail to measure.
    pub(super) const fn measures(&self) -> bool {
        matches!(self.what, RescoreCommand::Grades(_))
    }
}

/// Runs `kelvin rescore`.
pub(super) fn main(args: RescoreArgs, registry: Registry) -> anyhow::Result<Exit> {
    match args.what {
        RescoreCommand::Figures(args) => figures::main(&args, registry),
        RescoreCommand::Grades(args) => grades::main(args, registry),
        RescoreCommand::Quality(args) => quality::main(args, registry),
    }
}
