//! `kelvin history digest`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::check::{self, SummaryRequest};
use crate::cli::again::Again;
use crate::registry::Registry;
use crate::trend::{Summary, article, short};
use kelvin_base::exit::Exit;
use kelvin_page::{html, markdown};

/// The arguments of `kelvin history digest`.
#[derive(Clone, Debug, Args)]
pub(super) struct DigestArgs {
    /// When the period begins: a span before its end, such as `7d`, `2w` or `36h`, a date, an ISO week such
    /// as `2026-W47`, or a time; all in UTC.
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// The end of the period, which is itself not included: a date, an ISO week or a time [default: now].
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The configuration: the history lies beside it, and its branch of reports is read.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The only configuration to look at, by the name under which its reports are kept.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A metric to look at, instead of those that are shown first; may be given several times.
    #[arg(long = "metric", value_name = "ID")]
    metrics: Vec<String>,
    /// Traces of chains that another tool has recorded, as YAML or JSON, to be read in place of reports.
    #[arg(long, value_name = "PATH", conflicts_with = "name")]
    traces: Option<PathBuf>,
    /// What is written.
    #[arg(long, value_enum, default_value_t = DigestFormat::Markdown)]
    format: DigestFormat,
    /// The file it is written to, or a folder, in which the file is named after the last day of the period,
    /// as `2026-11-22.md` [default: standard output].
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DigestFormat {
    /// As Markdown.
    Markdown,
    /// As one self-contained page with plots.
    Html,
    /// As JSON, with every row.
    Json,
    /// In at most twelve lines of Markdown, for a channel of a chat or an issue.
    Short,
}

impl DigestFormat {
    const fn ending(self) -> &'static str {
        match self {
            Self::Markdown | Self::Short => "md",
            Self::Html => "html",
            Self::Json => "json",
        }
    }
}

/// Runs `kelvin history digest`; it does not fail because of a finding.
pub(super) fn main(args: DigestArgs, registry: Registry) -> anyhow::Result<Exit> {
    let summary = check::summary(&SummaryRequest {
        runs: super::asked(registry, &args.config, &args.metrics, &args.name),
        since: args.since.clone(),
        until: args.until.clone(),
        traces: args.traces.clone(),
    })?;
    let text = rendered(&summary, args.format)?;
    let file = args.out.as_ref().map(|out| match is_folder(out) {
        true => check::file_name(&summary, out, args.format.ending()),
        false => out.clone(),
    });
    super::deliver(&text, file, &next(&args, &summary))
}

/// If a metric dropped, the next step compares versions; otherwise it shows how each metric developed.
fn next(args: &DigestArgs, summary: &Summary) -> Again {
    if let Some(traces) = &args.traces {
        return Again::kelvin("rescore quality").word(traces);
    }
    let again = |command| Again::kelvin(command).config(&args.config);
    let is_empty = summary.configurations.iter().all(|one| one.runs == 0);
    match (is_empty, summary.candidates.is_empty()) {
        (true, _) => again("check"),
        (false, false) => again("history regression").given("--name", args.name.as_ref()),
        (false, true) => {
            again("history --format=html --out=history.html").given("--name", args.name.as_ref())
        }
    }
}

/// Whether a path names a folder: it is a folder, or ends with a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn rendered(summary: &Summary, format: DigestFormat) -> anyhow::Result<String> {
    Ok(match format {
        DigestFormat::Json => serde_json::to_string_pretty(summary)? + "\n",
        DigestFormat::Short => short(summary),
        DigestFormat::Markdown => markdown::render_article(&article(summary)),
        DigestFormat::Html => {
            let mut page = Vec::new();
            html::write_article(&mut page, article(summary))?;
            String::from_utf8(page)?
        }
    })
}
