//! `kelvin merge`.

use std::path::PathBuf;

use clap::Args;

use super::again::Again;
use super::check::{CheckFormat, show, shown};
use crate::check::{self, MergeRequest};
use crate::registry::Registry;
use kelvin_base::exit::Exit;

/// The arguments of `kelvin merge`.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The reports of the shards, their folders, or a folder that holds these.
    #[arg(value_name = "SHARD", required = true)]
    shards: Vec<PathBuf>,
    /// The folder for the joined report, with the inputs and outputs of every case.
    #[arg(long, value_name = "DIR", default_value = "kelvin")]
    out: PathBuf,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

/// Runs `kelvin merge`.
pub(super) fn main(args: MergeArgs, registry: Registry) -> anyhow::Result<Exit> {
    let merged = check::merge(&MergeRequest {
        registry,
        shards: args.shards,
        out: Some(args.out),
    })?;
    show(args.format, &merged, None)?;
    if args.format == CheckFormat::Text {
        let report = merged.out.join("report.json");
        super::say(
            &Again::kelvin("gate")
                .flag("--report", shown(&report))
                .next(),
        );
    }
    Ok(merged.exit())
}
