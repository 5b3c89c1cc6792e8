//! `kelvin rescore`: computes a part of a stored report again without running a pipeline.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::check::{
    self, Checked, Recomputed, RejudgeRequest, RescoreRequest, Rescored, RescoredTraces,
};
use crate::cli::TextOrJson;
use crate::cli::again::Again;
use crate::cli::check::{CheckFormat, show, shown};
use crate::cli::names::Names;
use crate::cli::progress::Progress;
use crate::registry::{Registry, overrides_naming};
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::report;
use kelvin_page::safe;
use kelvin_record::Ending;

/// The arguments of `kelvin rescore`.
#[derive(Debug, Args)]
pub(super) struct RescoreArgs {
    #[command(subcommand)]
    what: RescoreCommand,
}

#[derive(Debug, Subcommand)]
enum RescoreCommand {
    /// Computes the figures of a recorded run again, with the formulas of this version.
    Figures(FiguresArgs),
    /// Grades the stored answers of a report with another judge.
    Grades(GradesArgs),
    /// Computes the quality scores of a stored report, or of recorded traces, by other rules.
    Quality(QualityArgs),
}

impl RescoreArgs {
    /// Whether a judge is called, so that the command can fail because there is no measurement.
    pub(super) const fn measures(&self) -> bool {
        matches!(self.what, RescoreCommand::Grades(_))
    }
}

/// Runs `kelvin rescore`.
pub(super) fn main(args: RescoreArgs, registry: Registry) -> anyhow::Result<Exit> {
    match args.what {
        RescoreCommand::Figures(args) => rescore_figures(&args, registry),
        RescoreCommand::Grades(args) => rescore_grades(args, registry),
        RescoreCommand::Quality(args) => rescore_quality(args, registry),
    }
}

/// The arguments of `kelvin rescore figures`.
#[derive(Debug, Args)]
struct FiguresArgs {
    /// The run: some characters of its id, `latest` or `previous`.
    run: String,
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// Writes the report with the new figures to a file; the history stays as it is.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Runs `kelvin rescore figures`.
fn rescore_figures(args: &FiguresArgs, registry: Registry) -> anyhow::Result<Exit> {
    let root = check::folder(&args.config)?;
    let name = args.run.strip_prefix("run:").unwrap_or(&args.run);
    let id = check::recorded(&root, name)?;
    let stored = check::run(registry, &root, &id)?.report;
    let again = check::recompute(&id, stored);
    if let Some(file) = &args.write {
        kelvin_base::file::write_with(file, |to| report::json::write(to, &again.report))?;
    }
    let text = match args.format {
        TextOrJson::Json => serde_json::to_string_pretty(&again)? + "\n",
        TextOrJson::Text => figures_page(&again) + &next_after_figures(args, &again),
    };
    crate::cli::say(&text);
    Ok(Exit::Passed)
}

/// The next step: if changed figures are in a file, they can be compared with the recorded ones.
fn next_after_figures(args: &FiguresArgs, found: &Recomputed) -> String {
    let again = |command| Again::kelvin(command).config(&args.config);
    let run = format!("run:{}", found.run);
    match &args.write {
        _ if found.changed.is_empty() => again("history").next(),
        Some(file) => again("compare").word(run).word(file).next(),
        None => again("rescore figures")
            .word(run)
            .word("--write=report.json")
            .next(),
    }
}

fn figures_page(again: &Recomputed) -> String {
    let mut page = format!(
        "run {}, measured by kelvin {}: {} figures made again by kelvin {}, {} changed\n",
        safe::line(&again.run),
        safe::line(&again.measured_by),
        again.figures,
        again.recomputed_by,
        again.changed.len()
    );
    if !again.distances {
        page.push_str("the distances are those that were stored: the scorer is not at hand\n");
    }
    for (id, changed) in &again.changed {
        let side = |metric: &Option<kelvin_record::Metric>| match metric {
            None => "absent".to_owned(),
            Some(metric) => format!("{} (n {})", safe::cut(&metric.display, 12), metric.n),
        };
        let _ = writeln!(
            page,
            "  {:<32} {} -> {}",
            safe::cut(id, 32),
            side(&changed.stored),
            side(&changed.now)
        );
    }
    for id in &again.kept {
        let _ = writeln!(page, "  {:<32} kept as it was recorded", safe::cut(id, 32));
    }
    page
}

/// The arguments of `kelvin rescore grades`.
#[derive(Debug, Args)]
struct GradesArgs {
    /// The report whose answers are graded: a file, some characters of the id of a recorded run, `latest`,
    /// `previous`, or a git revision.
    report: String,
    /// The configuration, whose section `grading` names the judge.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The folder for the new report.
    #[arg(long, value_name = "DIR", default_value = "kelvin-rejudged")]
    out: PathBuf,
    /// Does not add the grades to the ledger.
    #[arg(long)]
    no_history: bool,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

/// Runs `kelvin rescore grades`.
fn rescore_grades(args: GradesArgs, registry: Registry) -> anyhow::Result<Exit> {
    let progress = Progress::new();
    let checked = check::rejudge(
        &RejudgeRequest {
            registry,
            report: args.report.clone(),
            out: args.out,
            overrides: overrides_naming(&args.config),
        },
        &progress,
    );
    progress.finish();
    let checked = checked?;
    if !args.no_history {
        crate::cli::history::warn(check::ledger::record(&args.config, &checked.report));
    }
    show(args.format, &checked, None)?;
    if args.format == CheckFormat::Text {
        let is_in_ledger = !args.no_history;
        crate::cli::say(&next_after_grades(
            &args.report,
            &args.config,
            &checked,
            is_in_ledger,
        ));
    }
    Ok(checked.exit())
}

/// The next step: the ledger shows the grades of this judge and of the one before it side by side.
fn next_after_grades(report: &str, config: &Path, checked: &Checked, is_in_ledger: bool) -> String {
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

/// How many unreadable traces are named.
const NAMED: usize = 10;

/// The arguments of `kelvin rescore quality`.
#[derive(Debug, Args)]
struct QualityArgs {
    /// The report: a file, some characters of the id of a recorded run, `latest`, `previous`, or a git
    /// revision; or a file or a folder with traces of chains.
    report: String,
    /// The configuration, whose section `quality` has the rules. Without it: the rules of the report.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The weights of conformance, completeness and efficiency, as `0.40,0.35,0.25` or by name, as
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
fn rescore_quality(args: QualityArgs, registry: Registry) -> anyhow::Result<Exit> {
    let rescored = check::rescore(&RescoreRequest {
        registry,
        report: args.report.clone(),
        config: args.config,
        weights: args.weights,
        scorer: args.scorer,
        out: args.out,
    })?;
    match rescored {
        Rescored::Report(checked) => {
            show(args.format, &checked, None)?;
            if args.format == CheckFormat::Text {
                let view = Again::kelvin("view").flag("--out", shown(&checked.out));
                crate::cli::say(&view.next());
            }
            Ok(checked.exit())
        }
        Rescored::Traces(traces) => {
            crate::cli::say(&match args.format {
                CheckFormat::Json => serde_json::to_string_pretty(&traces)? + "\n",
                CheckFormat::Markdown => traces_page(&traces),
                CheckFormat::Junit => {
                    let what = "traces are no items that could be test cases";
                    return Err(Misuse::new(what).help("choose another `--format`").into());
                }
                CheckFormat::Text => {
                    traces_page(&traces) + &next_after_quality(&args.report, &traces)
                }
            });
            Ok(Exit::Passed)
        }
    }
}

/// The next step: two versions of a chain can be compared; for a single version, only its history can be shown.
fn next_after_quality(traces: &str, found: &RescoredTraces) -> String {
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

fn traces_page(found: &RescoredTraces) -> String {
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
