//! `kelvin history` and `kelvin recompute`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::check::{self, Recomputed};
use crate::exit::Exit;
use crate::history::{self, Figure, History, Listed, sparkline};
use crate::page::safe;
use crate::report::{self, Report};

/// The arguments of `kelvin history`.
#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// How many runs are listed, the last ones.
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,
    /// Shows every metric, not only those that the gate looks at.
    #[arg(long)]
    all: bool,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The arguments of `kelvin recompute`.
#[derive(Debug, Args)]
pub(super) struct RecomputeArgs {
    /// The run: some signs of its id, `latest` or `previous`.
    run: String,
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// Writes the report with the new figures to a file; the history stays as it is.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
}

/// Records a check, unless that was turned off. A history that cannot be written is a notice: the
/// check is as good without.
pub(super) fn record(config: &Path, report: &Report, off: bool) {
    if !off {
        warn(check::record(config, report));
    }
}

/// Records a run that `kelvin eval` measured, in the history of the working directory.
pub(super) fn record_eval(report: &Report, off: bool) {
    if !off {
        warn(check::record_eval(Path::new("."), report));
    }
}

/// Tells that something could not be recorded: what was measured is as good without.
pub(super) fn warn(recorded: anyhow::Result<()>) {
    if let Err(error) = recorded {
        let text = safe::lines(&format!("{error:#}"));
        let text = match history::cure(&error) {
            Some(cure) => format!("{text}\n  help: {cure}"),
            None => text,
        };
        let _ = writeln!(
            anstream::stderr(),
            "notice: this run is not in the history: {text}"
        );
    }
}

/// Runs `kelvin history`.
pub(super) fn list(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let history = History::open(&check::folder(&args.config)?)?;
    let runs = match &history {
        Some(history) => history.runs(args.last)?,
        None => Vec::new(),
    };
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&runs)? + "\n",
        Format::Text => page(&runs, args.all),
    };
    super::say(&text);
    Ok(Exit::Passed)
}

/// A line for each run, then one for each metric: its course over the runs of each configuration.
fn page(runs: &[Listed], all: bool) -> String {
    if runs.is_empty() {
        return "no run was recorded yet; `kelvin check` records one\n".to_owned();
    }
    let mut page = String::new();
    for run in runs {
        let commit = run.commit.as_deref().unwrap_or("-");
        let dirty = if run.dirty { "+" } else { " " };
        let _ = writeln!(
            page,
            "{}  {}  {:<7}{dirty}  {:<20}  {:<12}  {}",
            safe::cut(&run.id, 12),
            safe::cut(&run.time, 20),
            safe::cut(commit.get(..7).unwrap_or(commit), 7),
            safe::cut(run.branch.as_deref().unwrap_or("-"), 20),
            safe::cut(&run.configuration, 12),
            safe::cut(&run.ending, 12),
        );
    }
    let configurations: BTreeSet<&str> = runs.iter().map(|run| &*run.configuration).collect();
    for configuration in &configurations {
        let of_it: Vec<&Listed> = runs
            .iter()
            .filter(|run| run.configuration == *configuration)
            .collect();
        let _ = writeln!(page, "\n{}", safe::line(configuration));
        let ids: BTreeSet<&str> = of_it
            .iter()
            .flat_map(|run| &run.metrics)
            .filter(|(_, figure)| all || figure.is_shown_first())
            .map(|(id, _)| id.as_str())
            .collect();
        for id in ids {
            let values: Vec<Option<f64>> = of_it
                .iter()
                .map(|run| run.metrics.get(id).and_then(|figure: &Figure| figure.value))
                .collect();
            let last = values.last().copied().flatten();
            let _ = writeln!(
                page,
                "  {:<32} {}  {}",
                safe::cut(id, 32),
                sparkline(&values),
                shown(last)
            );
        }
    }
    page
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// Runs `kelvin recompute`.
pub(super) fn recompute(args: &RecomputeArgs) -> anyhow::Result<Exit> {
    let root = check::folder(&args.config)?;
    let name = args.run.strip_prefix("run:").unwrap_or(&args.run);
    let id = check::recorded(&root, name)?;
    let stored = check::run(&root, &id)?.report;
    let again = check::recompute(&id, stored);
    if let Some(file) = &args.write {
        crate::file::write_with(file, |to| report::json::write(to, &again.report))?;
    }
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&again)? + "\n",
        Format::Text => told(&again),
    };
    super::say(&text);
    Ok(Exit::Passed)
}

fn told(again: &Recomputed) -> String {
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
        let side = |metric: &Option<crate::probe::Metric>| match metric {
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
