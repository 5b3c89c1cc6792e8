//! `kelvin ledger`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use super::TextOrJson;
use super::again::Again;
use crate::check::ledger as book;
use crate::history::{LedgerEntry, LedgerFilter, LedgerSummary, summaries};
use kelvin_base::clock::in_utc;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_page::{counted, safe};

/// The arguments of `kelvin ledger`.
#[derive(Debug, Args)]
pub(super) struct LedgerArgs {
    #[command(subcommand)]
    command: Option<LedgerCommand>,
    /// The configuration beside which the history with the ledger lies.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "kelvin.yaml",
        global = true
    )]
    config: PathBuf,
    /// Only entries of this candidate, as the list names it.
    #[arg(long, value_name = "NAME", global = true)]
    candidate: Option<String>,
    /// Only entries of this judge, by its id.
    #[arg(long, value_name = "ID", global = true)]
    grader: Option<String>,
    /// Only entries of prompts with this tag.
    #[arg(long, value_name = "TAG", global = true)]
    tag: Option<String>,
    /// At most this many entries, the last ones; without it a list has 50.
    #[arg(long, value_name = "N", global = true)]
    last: Option<usize>,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// Prints every entry.
    Export {
        /// The form.
        #[arg(long, value_enum, default_value_t = LedgerExportFormat::Jsonl)]
        format: LedgerExportFormat,
    },
    /// Sums the entries up by candidate and judge.
    Summary {
        /// What is printed.
        #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
        format: TextOrJson,
    },
    /// Removes the entries that were recorded before a day or a time.
    Prune {
        /// The day or the time; UTC unless it names another zone.
        #[arg(long, value_name = "DATE")]
        before: String,
    },
    /// Adds the entries of a file of JSON lines, as `export` prints them.
    Import {
        /// The file; lines that are not entries are skipped and counted.
        file: PathBuf,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LedgerExportFormat {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values, for a spreadsheet.
    Csv,
}

/// How many entries are listed unless a number is given.
const LISTED: usize = 50;
/// How many malformed lines of an import are shown.
const SKIPPED: usize = 20;

/// Runs `kelvin ledger`.
pub(super) fn main(args: LedgerArgs) -> anyhow::Result<Exit> {
    let filter = |last| LedgerFilter {
        candidate: args.candidate.clone(),
        grader: args.grader.clone(),
        tag: args.tag.clone(),
        last,
    };
    let config = &args.config;
    let text = match args.command {
        None => {
            let entries = book::read(config, &filter(args.last.or(Some(LISTED))))?;
            list(&entries) + &next(config, "ledger summary", entries.is_empty())
        }
        Some(LedgerCommand::Export { format }) => {
            let entries = book::read(config, &filter(args.last))?;
            match format {
                LedgerExportFormat::Jsonl => json_lines(&entries)?,
                LedgerExportFormat::Csv => csv(&entries),
            }
        }
        Some(LedgerCommand::Summary { format }) => {
            let summaries = summaries(&book::read(config, &filter(args.last))?);
            match format {
                TextOrJson::Json => serde_json::to_string_pretty(&summaries)? + "\n",
                TextOrJson::Text => {
                    table(&summaries) + &next(config, "ledger", summaries.is_empty())
                }
            }
        }
        Some(LedgerCommand::Prune { before }) => {
            let time = in_utc(&before).map_err(|what| {
                Misuse::new(format!("`--before`: {what}"))
                    .help("write a day, 2026-11-22, or a time, 2026-11-22T06:00:00Z")
            })?;
            let removed = book::prune(config, &time)?;
            let told = format!("{} from before {time} removed\n", counted_entries(removed));
            told + &next(config, "ledger summary", false)
        }
        Some(LedgerCommand::Import { file }) => {
            let imported = book::import(config, &file)?;
            let known = match imported.known {
                0 => String::new(),
                known => format!("{known} in the ledger already, "),
            };
            let mut text = format!(
                "{} added, {known}{} skipped\n",
                counted_entries(imported.added),
                counted(imported.skipped.len(), "malformed line")
            );
            for (line, why) in imported.skipped.iter().take(SKIPPED) {
                let _ = writeln!(text, "  line {line}: {}", safe::cut(why, 120));
            }
            if let Some(more) = imported.skipped.len().checked_sub(SKIPPED + 1) {
                let _ = writeln!(text, "  and {} more", more + 1);
            }
            text + &next(config, "ledger summary", false)
        }
    };
    super::say(&text);
    Ok(Exit::Passed)
}

/// The next step. An empty ledger gets its first entries from a check.
fn next(config: &Path, command: &str, is_empty: bool) -> String {
    let command = if is_empty { "check" } else { command };
    Again::kelvin(command).config(config).next()
}

fn counted_entries(count: usize) -> String {
    match count {
        1 => "1 entry".to_owned(),
        _ => format!("{count} entries"),
    }
}

/// A line for each entry, the oldest first.
fn list(entries: &[LedgerEntry]) -> String {
    if entries.is_empty() {
        return "the ledger has no such entry; `kelvin check` adds one for each answer that it has graded\n"
            .to_owned();
    }
    let mut page = String::new();
    for entry in entries {
        let _ = writeln!(
            page,
            "{}  {:<20}  {:.4}  {:<28}  {:<24}  {}",
            safe::cut(&entry.recorded_at, 20),
            safe::cut(&entry.prompt, 20),
            entry.judge_score,
            safe::cut(&entry.candidate, 28),
            safe::cut(&entry.grader_id, 24),
            safe::cut(&entry.tags.join(", "), 30),
        );
    }
    page
}

fn json_lines(entries: &[LedgerEntry]) -> anyhow::Result<String> {
    let mut text = String::new();
    for entry in entries {
        text.push_str(&serde_json::to_string(entry)?);
        text.push('\n');
    }
    Ok(text)
}

/// The columns of a CSV file.
const COLUMNS: [&str; 14] = [
    "recorded_at",
    "prompt",
    "prompt_digest",
    "candidate",
    "baseline",
    "judge_score",
    "grader_id",
    "cost_usd",
    "latency_ms",
    "tokens_in",
    "tokens_out",
    "judge_cost_usd",
    "judge_tokens",
    "tags",
];

/// The entries as comma-separated values (RFC 4180).
fn csv(entries: &[LedgerEntry]) -> String {
    let mut text = COLUMNS.join(",") + "\r\n";
    for entry in entries {
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        let cells = [
            safe::cell(&entry.recorded_at),
            safe::cell(&entry.prompt),
            safe::cell(&entry.prompt_digest),
            safe::cell(&entry.candidate),
            safe::cell(entry.baseline.as_deref().unwrap_or_default()),
            entry.judge_score.to_string(),
            safe::cell(&entry.grader_id),
            number(entry.cost_usd),
            number(entry.latency_ms),
            count(entry.tokens_in),
            count(entry.tokens_out),
            number(entry.judge_cost_usd),
            count(entry.judge_tokens),
            safe::cell(&entry.tags.join(" ")),
        ];
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text
}

/// A line for each candidate and judge.
fn table(summaries: &[LedgerSummary]) -> String {
    if summaries.is_empty() {
        return "the ledger has no such entry\n".to_owned();
    }
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let mut page = format!(
        "{:<32}  {:<28}  {:>7}  {:>6}  {:>9}  {:>9}  {:>10}  {:>10}\n",
        "candidate", "judge", "entries", "score", "USD", "judge USD", "latency ms", "tokens"
    );
    for summary in summaries {
        let tokens = summary
            .tokens
            .map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
        let _ = writeln!(
            page,
            "{:<32}  {:<28}  {:>7}  {:>6}  {:>9}  {:>9}  {:>10}  {:>10}",
            safe::cut(&summary.candidate, 32),
            safe::cut(&summary.grader_id, 28),
            summary.count,
            number(summary.mean_score, 4),
            number(summary.cost_usd, 4),
            number(summary.judge_cost_usd, 4),
            number(summary.mean_latency_ms, 0),
            tokens,
        );
    }
    page
}
