//! `kelvin rescore quality`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::check;
use crate::check::{RescoreRequest, Rescored, RescoredTraces};
use crate::cli::again::Again;
use crate::cli::check::{CheckFormat, show, shown};
use crate::cli::names::Names;
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_page::safe;

/// How many unreadable traces are named.
const NAMED: usize = 10;

/// The arguments of `kelvin rescore quality`.
#[derive(Debug, Args)]
pub(super) struct QualityArgs {
    /// The report: a file, some characters of the id of a recorded run, `latest`, `previous`, or a git
    /// revision; or a file or a folder with traces of chains.
    report: String,
    /// The configuration, whose section `quality` has the rules. Without it: the rules of the report.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What conformance, completeness and efficiency weigh, as `0.40,0.35,0.25` or by name, as
    /// `conformance=0.5,completeness=0.5`.
    #[arg(long, value_name = "WEIGHTS")]
    weights: Option<String>,
    /// The scorer: `weighted_sum` or `weighted_product`.
    #[arg(long, value_name = "NAME")]
    scorer: Option<String>,
    /// The folder for the new report.
    #[arg(long, value_name = "DIR", default_value = "kelvin-rescored")]
    out: PathBuf,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

/// Runs `kelvin rescore quality`.
pub(super) fn main(args: QualityArgs, registry: Registry) -> anyhow::Result<Exit> {
    let QualityArgs {
        report,
        config,
        weights,
        scorer,
        out,
        format,
    } = args;
    let rescored = check::rescore(&RescoreRequest {
        registry,
        report: report.clone(),
        config,
        weights,
        scorer,
        out,
    })?;
    match rescored {
        Rescored::Report(checked) => {
            show(format, &checked, None)?;
            if format == CheckFormat::Text {
                let view = Again::kelvin("view").flag("--out", shown(&checked.out));
                crate::cli::say(&view.next());
            }
            Ok(checked.exit())
        }
        Rescored::Traces(traces) => {
            crate::cli::say(&match format {
                CheckFormat::Json => serde_json::to_string_pretty(&traces)? + "\n",
                CheckFormat::Markdown => told(&traces),
                CheckFormat::Junit => {
                    let what = "traces are no items that could be test cases";
                    return Err(Misuse::new(what).help("choose another `--format`").into());
                }
                CheckFormat::Text => told(&traces) + &next(&report, &traces),
            });
            Ok(Exit::Passed)
        }
    }
}

/// The next step: two versions of a chain can be compared; a single version has only its course.
fn next(traces: &str, found: &RescoredTraces) -> String {
    let mut chains = found.chains.windows(2);
    match chains.any(|two| two[0].chain == two[1].chain) {
        true => Again::kelvin("history regression")
            .flag("--traces", traces)
            .next(),
        false => Again::kelvin("rescore quality --format=json")
            .word(traces)
            .next(),
    }
}

fn told(found: &RescoredTraces) -> String {
    let chains = Names::of("chain", found.chains.iter().map(|one| &*one.chain));
    let versions = Names::of("version", found.chains.iter().map(|one| &*one.version));
    let mut page = format!(
        "{} traces of {} files\n\n{} {} {:>4} {:>7} {:<7} {:>7} {:>6} {:>5} {:>8} {:>7}\n",
        found.traces.len(),
        found.files,
        chains.pad("chain"),
        versions.pad("version"),
        "n",
        "mean",
        "band",
        "drop",
        "failed",
        "gated",
        "unscored",
        "drifted"
    );
    for chain in &found.chains {
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
        };
        let (mean, drop) = (shown(chain.mean), shown(chain.drop));
        let _ = writeln!(
            page,
            "{} {} {:>4} {mean:>7} {:<7} {drop:>7} {:>6} {:>5} {:>8} {:>7}",
            chains.pad(&chain.chain),
            versions.pad(&chain.version),
            chain.n,
            chain.band.unwrap_or("-"),
            chain.failed,
            chain.gated,
            chain.unscored,
            chain.drifted
        );
    }
    if !found.malformed.is_empty() {
        let _ = writeln!(
            page,
            "\n{} skipped, since they are no traces:",
            found.malformed.len()
        );
        for why in found.malformed.iter().take(NAMED) {
            let _ = writeln!(page, "  {}", safe::line(why));
        }
    }
    for warning in &found.warnings {
        let _ = writeln!(page, "\n{}", safe::line(warning));
    }
    page
}
