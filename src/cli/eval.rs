//! `kelvin eval`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;

use super::again::Again;
use super::check::{CheckFormat, show};
use crate::check::{self, Checked};
use crate::history::History;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_retrieval::EvalRequest;

/// The arguments of `kelvin eval`.
#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    /// The judgements: TREC columns (query, iteration, document, grade), `.json` or `.jsonl`.
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// The run: TREC columns (query, Q0, document, rank, score, run), `.json` or `.jsonl`.
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// How many hits the measures look at.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "1,3,5,10"
    )]
    k: Vec<NonZeroUsize>,
    /// If the first relevant hit is behind this rank, the reciprocal rank is 0.
    #[arg(long, value_name = "N", default_value = "10")]
    cut_off: NonZeroUsize,
    /// The lowest grade of a relevant document.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    relevance_level: i64,
    /// The folder for the report.
    #[arg(long, value_name = "DIR", default_value = "kelvin")]
    out: PathBuf,
    /// Does not record the run in the history.
    #[arg(long)]
    no_history: bool,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

/// Runs `kelvin eval`.
pub(super) fn main(args: &EvalArgs, registry: Registry) -> anyhow::Result<Exit> {
    let mut k: Vec<usize> = args.k.iter().map(|k| k.get()).collect();
    k.sort_unstable();
    k.dedup();
    let report = check::eval(
        registry,
        &EvalRequest {
            qrels: args.qrels.clone(),
            run: args.run.clone(),
            k,
            cut_off: args.cut_off.get(),
            relevance_level: args.relevance_level,
        },
    )?;
    let checked = Checked::of(report, std::path::absolute(&args.out)?);
    check::write_report(&checked.report, &checked.out)?;
    super::history::record_eval(&checked.report, args.no_history);
    show(args.format, &checked, None)?;
    if args.format == CheckFormat::Text {
        super::say(&next(args)?.next());
    }
    Ok(Exit::Passed)
}

/// The next step: a second measurement can be compared with the previous one; the first can only be viewed.
fn next(args: &EvalArgs) -> anyhow::Result<Again> {
    let runs = match History::open(Path::new("."))? {
        Some(history) if !args.no_history => history.runs(2)?.len(),
        _ => 0,
    };
    Ok(match runs {
        2 => Again::kelvin("compare previous latest"),
        _ => Again::kelvin("view").given(
            "--out",
            Some(&args.out).filter(|out| *out != Path::new("kelvin")),
        ),
    })
}
