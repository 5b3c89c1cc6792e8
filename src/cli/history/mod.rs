//! `kelvin history`: lists the runs of this machine, and summarises what the stored reports say about a period or a
//! version.

mod digest;
mod list;
mod regression;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::again::Again;
use crate::check::RunsRequest;
use crate::history::History;
use crate::registry::Registry;
use crate::{baseline, check, history};
use kelvin_base::calendar;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_gate::report::Report;
use kelvin_page::{html, markdown, safe};

/// The arguments of `kelvin history`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct HistoryArgs {
    #[command(subcommand)]
    what: Option<HistoryCommand>,
    #[command(flatten)]
    listed: ListArgs,
}

#[derive(Debug, Subcommand)]
enum HistoryCommand {
    /// Tells what changed over a period, from every report that was kept in that time.
    Digest(digest::DigestArgs),
    /// Lists what dropped in this version against the version before it.
    Regression(regression::RegressionArgs),
}

/// What is listed, if no other view of the history is asked for.
#[derive(Debug, Args)]
struct ListArgs {
    /// The configuration beside which the history lies.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// How many of the last runs are listed [default: 20]. A page has up to 100 of each configuration.
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Shows every metric, not only those that the gate looks at.
    #[arg(long)]
    all: bool,
    /// What is written. `text` and `json` list the runs of this machine; a page also has the runs of the branch of
    /// reports, which is fetched first.
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
    /// For a page: the only configuration to show, by the name under which its reports are kept.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// For a page: a metric to show, instead of those that are shown first; may be given several times.
    #[arg(long = "metric", value_name = "ID")]
    metrics: Vec<String>,
    /// The file it is written to [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// For a terminal.
    Text,
    /// As JSON.
    Json,
    /// As one self-contained page with plots.
    Html,
    /// As Markdown.
    Markdown,
}

/// Records a check, unless recording was turned off. If the history cannot be written, there is only a notice: the
/// check is valid without it.
pub(super) fn record(registry: Registry, config: &Path, report: &Report, off: bool) {
    if !off {
        warn(check::record(registry, config, report));
    }
}

/// Records a run that `kelvin eval` measured, in the history of the working directory.
pub(super) fn record_eval(report: &Report, off: bool) {
    if !off {
        warn(check::record_eval(Path::new("."), report));
    }
}

/// Warns that a run could not be recorded: the measurement is valid without the record.
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
pub(super) fn main(args: HistoryArgs, registry: Registry) -> anyhow::Result<Exit> {
    match args.what {
        None => list(args.listed, registry),
        Some(HistoryCommand::Digest(args)) => digest::main(args, registry),
        Some(HistoryCommand::Regression(args)) => regression::main(args, registry),
    }
}

/// Lists the runs of this machine, or writes the page of all stored runs.
fn list(args: ListArgs, registry: Registry) -> anyhow::Result<Exit> {
    let out = args.out.clone();
    let next = Again::kelvin("view").config(&args.config);
    let text = match args.format {
        ListFormat::Html | ListFormat::Markdown => page(args, registry)?,
        ListFormat::Text | ListFormat::Json => listed(&args)?,
    };
    deliver(&text, out, &next)
}

/// Prints a text, or writes it to a file and shows the next step.
fn deliver(text: &str, out: Option<PathBuf>, next: &Again) -> anyhow::Result<Exit> {
    let Some(out) = out else {
        super::say(text);
        return Ok(Exit::Passed);
    };
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    kelvin_base::file::write(&out, text.as_bytes())?;
    super::say(&format!("wrote {}\n{}", out.display(), next.next()));
    Ok(Exit::Passed)
}

/// The list of the runs of this machine.
fn listed(args: &ListArgs) -> anyhow::Result<String> {
    if args.name.is_some() || !args.metrics.is_empty() {
        return Err(
            Misuse::new("`--name` and `--metric` choose what a page shows")
                .help("add `--format html` or `--format markdown`, or leave them out")
                .into(),
        );
    }
    let root = check::folder(&args.config)?;
    let history = History::open(&root)?;
    let runs = match &history {
        Some(history) => history.runs(args.last.unwrap_or(20))?,
        None => Vec::new(),
    };
    Ok(match args.format {
        ListFormat::Json => serde_json::to_string_pretty(&runs)? + "\n",
        _ => list::page(&runs, &baseline::releases(&root), args.all, &args.config),
    })
}

/// The stored runs that a command asks for.
fn asked(
    registry: Registry,
    config: &Path,
    metrics: &[String],
    name: &Option<String>,
) -> RunsRequest {
    RunsRequest {
        registry,
        config: config.to_path_buf(),
        metrics: metrics.to_vec(),
        name: name.clone(),
        login: super::doctor::login(),
        // The end of a period is exclusive, and a run that began in this second has to count.
        now: calendar::now() + 1,
    }
}

/// The page of all stored runs, with plots.
fn page(args: ListArgs, registry: Registry) -> anyhow::Result<String> {
    if args.all || args.last.is_some() {
        return Err(Misuse::new("a page has no use for `--last` and `--all`")
            .help("leave them out; `--metric ID` shows a further metric")
            .into());
    }
    let article = check::runs(&asked(registry, &args.config, &args.metrics, &args.name))?;
    if args.format == ListFormat::Markdown {
        return Ok(markdown::render_article(&article));
    }
    let mut page = Vec::new();
    html::write_article(&mut page, article)?;
    Ok(String::from_utf8(page)?)
}
