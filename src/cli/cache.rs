//! `kelvin cache`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};

use super::again::Again;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_page::{counted, safe};
use kelvin_run::stored::{AnswerFolder, LARGEST, LONGEST, Removed};

const DAY: u64 = 24 * 3600;
const MEGABYTE: u64 = 1024 * 1024;
/// The condition under which answers are kept.
const CACHED: &str = "with a section `cache` in the configuration";

/// The arguments of `kelvin cache`.
#[derive(Debug, Args)]
pub(super) struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
    /// The configuration that names the folder; if it has no `cache`, the folder is `.kelvin-cache` beside it.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "kelvin.yaml",
        global = true
    )]
    config: PathBuf,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    /// Says where the cache is, and how much is in it.
    Info,
    /// Removes answers that no run has used for a long time, then the oldest ones until the rest is small
    /// enough. A run does the same once a day.
    Prune {
        /// Removes answers that were not used for more than this many days.
        #[arg(long, value_name = "DAYS", default_value_t = LONGEST.as_secs() / DAY)]
        days: u64,
        /// Keeps at most this many megabytes.
        #[arg(long, value_name = "MB", default_value_t = LARGEST / MEGABYTE)]
        megabytes: u64,
    },
    /// Removes every answer.
    Clear,
}

/// Runs `kelvin cache`.
pub(super) fn main(args: CacheArgs, registry: Registry) -> anyhow::Result<Exit> {
    let config = registry.configured_in(&args.config)?;
    let is_kept = config.cache.is_some();
    let again = |command| Again::kelvin(command).config(&args.config);
    let folder = match config.cache {
        Some(cache) => cache.dir,
        None => config.root.join(".kelvin-cache"),
    };
    let shown = safe::line(&folder.display().to_string());
    let Some(stored) = AnswerFolder::list(&folder)? else {
        super::say(&format!(
            "there is no cache at {shown}\n{}",
            match is_kept {
                true => again("check").next(),
                false => again("check").next_when(CACHED),
            }
        ));
        return Ok(Exit::Passed);
    };
    let now = SystemTime::now();
    let text = match args.command {
        CacheCommand::Info => info(&stored, now),
        CacheCommand::Prune { days, megabytes } => {
            let longest = Duration::from_secs(days.saturating_mul(DAY));
            let removed = stored.prune(now, longest, megabytes.saturating_mul(MEGABYTE))?;
            removal_text(&stored, removed)
        }
        CacheCommand::Clear => removal_text(&stored, stored.clear()?),
    };
    let next = match args.command {
        // The next run removes the old answers itself, within a day at most.
        CacheCommand::Info if stored.is_large(now) => again("cache prune").next(),
        _ if !is_kept => again("check").next_when(CACHED),
        CacheCommand::Info | CacheCommand::Prune { .. } | CacheCommand::Clear => {
            again("check").next()
        }
    };
    super::say(&format!("{shown}: {text}\n{next}"));
    Ok(Exit::Passed)
}

fn info(stored: &AnswerFolder, now: SystemTime) -> String {
    let size = size(stored.bytes());
    let answers = counted(stored.count(), "answer");
    match stored.ages(now) {
        Some((oldest, newest)) => format!(
            "{answers}, {size}; the oldest was used {} ago, the newest {} ago",
            days(oldest),
            days(newest)
        ),
        None => "no answers".to_owned(),
    }
}

fn removal_text(stored: &AnswerFolder, removed: Removed) -> String {
    format!(
        "removed {} ({}); {} stay ({})",
        counted(removed.answers, "answer"),
        size(removed.bytes),
        stored.count() - removed.answers,
        size(stored.bytes() - removed.bytes),
    )
}

fn days(age: Duration) -> String {
    match age.as_secs() / DAY {
        0 => "less than a day".to_owned(),
        days => counted(usize::try_from(days).unwrap_or(usize::MAX), "day"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..MEGABYTE => format!("{:.1} KB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MB", bytes as f64 / MEGABYTE as f64),
    }
}
