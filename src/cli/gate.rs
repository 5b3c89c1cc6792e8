//! `kelvin gate`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::check::{CheckArgs, print};
use super::progress::Progress;
use crate::baseline::{Hint, event};
use crate::check::{self, GateRequest};
use crate::exit::{Exit, Misuse};

/// The arguments of `kelvin gate`.
#[derive(Debug, Args)]
pub(super) struct GateArgs {
    #[command(flatten)]
    check: CheckArgs,
    /// The revision to compare with, instead of where the change begins.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Runs doubtful cases again, within the budget of the configuration.
    #[arg(long)]
    rerun: bool,
    /// Judges this report, such as one that `kelvin merge` has written, and runs nothing.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "rerun", "only", "shard", "seed", "jobs", "no_cache", "resume", "dry_run", "confirm",
        ]
    )]
    report: Option<PathBuf>,
    /// The payload of a GitHub event, which says where the change begins [default: the one that
    /// `GITHUB_EVENT_PATH` names].
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
    /// The name of that event [default: the one in `GITHUB_EVENT_NAME`].
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
}

/// Runs `kelvin gate`.
pub(super) fn main(args: &GateArgs) -> anyhow::Result<Exit> {
    let mut hint = event_hint(args)?;
    hint.asked.clone_from(&args.base);
    let request = GateRequest {
        check: (&args.check).into(),
        hint,
        rerun: args.rerun,
        report: args.report.clone(),
    };
    if args.check.is_dry_run() {
        return Err(Misuse::new("there is nothing to gate in a dry run").into());
    }
    let progress = Progress::new(args.check.log_format());
    let judged = check::gate(&request, &progress);
    progress.finish(judged.as_ref().ok().map(|judged| &judged.checked.report));
    let judged = judged?;
    print(&args.check, &judged.checked, Some(&judged.judgement))?;
    Ok(judged.exit())
}

/// What the event says; nothing on a laptop.
fn event_hint(args: &GateArgs) -> anyhow::Result<Hint> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let path = args
        .event
        .clone()
        .or_else(|| variable("GITHUB_EVENT_PATH").map(PathBuf::from));
    let name = args
        .event_name
        .clone()
        .or_else(|| variable("GITHUB_EVENT_NAME"));
    let (Some(path), Some(name)) = (path, name) else {
        if args.event.is_some() {
            return Err(Misuse::new("`--event` needs the name of the event")
                .help("add `--event-name pull_request`, or whichever it is")
                .into());
        }
        return Ok(Hint::default());
    };
    let text = crate::file::read(&path)?;
    let payload = serde_json::from_str(&text)
        .with_context(|| format!("the event `{}` is not JSON", path.display()))?;
    Ok(event::hint(&name, &payload))
}
