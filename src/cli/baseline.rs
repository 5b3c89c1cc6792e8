//! `kelvin baseline`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::again::Again;
use super::inputs::variable;
use crate::check::{self, SaveRequest};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_run::config::Overrides;

/// The arguments of `kelvin baseline`.
#[derive(Debug, Args)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Saves the report of a finished check on the branch of reports, for the commit at hand.
    Save(SaveArgs),
}

/// The arguments of `kelvin baseline save`.
#[derive(Debug, Args)]
struct SaveArgs {
    /// The configuration that was checked.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The report [default: `kelvin/report.json` beside the configuration].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Saves the report even if the work tree differed from the commit.
    #[arg(long)]
    allow_dirty: bool,
    /// The name to keep the report under, instead of `name` in the configuration.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Keeps the report only in this clone, where `kelvin gate` finds it; nothing is pushed.
    #[arg(long)]
    local: bool,
}

/// Runs `kelvin baseline`.
pub(super) fn main(args: &BaselineArgs, registry: Registry) -> anyhow::Result<Exit> {
    match &args.action {
        Action::Save(args) => save(args, registry),
    }
}

fn save(args: &SaveArgs, registry: Registry) -> anyhow::Result<Exit> {
    let config = registry.configured(&Overrides {
        file: Some(args.config.clone()),
        name: args.name.clone(),
        ..Overrides::default()
    })?;
    let report = check::finished(registry, &config, args.report.as_deref())?;
    check::save(&SaveRequest {
        config: &config,
        report: &report,
        allow_dirty: args.allow_dirty,
        local: args.local,
        login: None,
        writer: check::writer(&variable),
        say: &super::say,
    })?;
    // Any other name would also have to be set in the configuration of the gate, because the gate has no flag for it.
    if args.name.is_none() {
        let gate = Again::kelvin("gate").config(&args.config);
        super::say(&gate.next_when("on a branch with a change"));
    }
    Ok(Exit::Passed)
}
