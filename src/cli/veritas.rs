//! `kelvin gate veritas`: live runs and their evaluation.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::again::Again;
use super::check::{CheckFormat, show};
use super::progress::Progress;
use crate::check::{self, CheckRequest, GateRequest};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_gate::judgement::AnswersShown;
use kelvin_run::config::Overrides;

/// How often every invocation is made unless a number is given.
const LIVE_RUNS: NonZeroUsize = NonZeroUsize::new(3).expect("it is not zero");

/// The arguments of `kelvin gate veritas`.
#[derive(Debug, Args)]
pub(super) struct VeritasArgs {
    /// The configuration; its folder is the working directory of the pipeline.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The revision to compare with, instead of the commit where the change begins.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// How often every invocation is made, without the cache [default: `quality.live_runs`, else 3]
    #[arg(long, value_name = "N", value_parser = super::whole::<1_000>)]
    live_runs: Option<NonZeroUsize>,
    /// Says what the verdict would be, and leaves nothing behind: no report, no history, no request for
    /// approval.
    #[arg(long)]
    dry_run: bool,
}

/// Runs `kelvin gate veritas`.
pub(super) fn main(args: &VeritasArgs, registry: Registry) -> anyhow::Result<Exit> {
    let nowhere = match args.dry_run {
        true => Some(tempfile::tempdir().context("failed to make a folder for the runs")?),
        false => None,
    };
    let mut overrides = Overrides {
        file: Some(args.config.clone()),
        // An answer from the cache does not count as a live run.
        no_cache: true,
        ..Overrides::default()
    };
    let live_runs = match args.live_runs {
        Some(asked) => asked,
        None => registry
            .configured(&overrides)?
            .live_runs()
            .unwrap_or(LIVE_RUNS),
    };
    overrides.repeats = Some(live_runs);
    let check = CheckRequest {
        overrides,
        out: nowhere.as_ref().map(|folder| folder.path().to_path_buf()),
        ..CheckRequest::new(registry)
    };
    let mut request = GateRequest {
        rerun: true,
        ..GateRequest::new(check)
    };
    request.hint.asked.clone_from(&args.base);
    let progress = Progress::new();
    let judged = check::gate(&request, &progress);
    progress.finish();
    let judged = judged?;
    if nowhere.is_some() {
        // The page would name files that were removed with the folder.
        super::say(&judged.judgement.terminal(AnswersShown::All));
        super::say("A dry run: nothing of it was kept, and nobody was asked to decide.\n");
        let again = Again::kelvin("gate veritas")
            .config(&args.config)
            .given("--base", args.base.as_ref())
            .given("--live-runs", args.live_runs.map(|runs| runs.to_string()));
        super::say(&again.next());
    } else {
        super::history::record(registry, &args.config, &judged.checked.report, false);
        let page = (&judged.judgement, AnswersShown::OTHERS_ON_THE_PAGE);
        show(CheckFormat::Text, &judged.checked, Some(page))?;
        if judged.judgement.asks_nothing() {
            super::say(&Again::kelvin("view").config(&args.config).next());
        }
    }
    Ok(judged.exit())
}
