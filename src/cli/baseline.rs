//! `kelvin baseline`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::baseline::{self, Branch, Remote};
use crate::check;
use crate::config::{Config, Overrides};
use crate::exit::{Exit, Misuse};
use crate::probe::Ending;
use crate::report;

/// The arguments of `kelvin baseline`.
#[derive(Debug, Args)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Saves the report of a finished check on the branch of reports, for the commit at hand.
    Save(SaveArgs),
}

/// The arguments of `kelvin baseline save`.
#[derive(Debug, Args)]
struct SaveArgs {
    /// The configuration that was checked.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The report [default: `kelvin/report.json` beside the configuration].
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Saves it although the work tree differed from the commit.
    #[arg(long)]
    allow_dirty: bool,
}

/// Runs `kelvin baseline`.
pub(super) fn main(args: &BaselineArgs) -> anyhow::Result<Exit> {
    match &args.action {
        Action::Save(args) => save(args),
    }
}

fn save(args: &SaveArgs) -> anyhow::Result<Exit> {
    let config = Config::load(&Overrides {
        file: Some(args.config.clone()),
        ..Overrides::default()
    })?;
    let path = args
        .report
        .clone()
        .unwrap_or_else(|| config.root.join("kelvin/report.json"));
    let bytes = std::fs::read(&path).with_context(|| {
        format!(
            "failed to read `{}`; run `kelvin check` first",
            path.display()
        )
    })?;
    let report = report::json::read(&bytes)
        .with_context(|| format!("`{}` cannot be a baseline", path.display()))?;
    let refuse = |what: &str, help: &str| Err(Misuse::new(what.to_owned()).help(help).into());
    if let Some(share) = report.run.shard {
        return refuse(
            &format!("the report is that of shard {}", share.shard()),
            "join all shards with `kelvin merge`, and save what it writes",
        );
    }
    if report.run.ending != Ending::Complete || !report.run.only.is_empty() {
        return refuse(
            "the report is not of a whole check",
            "run `kelvin check` to its end, without `--only`",
        );
    }
    let repo = baseline::open(&config.root)?;
    let head = repo
        .head()
        .and_then(|head| head.peel_to_commit())
        .context("the repository has no commit to save a baseline for")?
        .id();
    if report.run.session.commit.as_deref() != Some(head.to_string().as_str()) {
        return refuse(
            "the report is of another commit than the one at hand",
            "run `kelvin check` again, then save",
        );
    }
    if report.run.session.dirty && !args.allow_dirty {
        return refuse(
            "the files differed from the commit when the report was made",
            "commit them and run `kelvin check` again, or add `--allow-dirty`",
        );
    }
    let name = check::configuration(&config);
    let stored = serde_json::to_vec(&report).context("failed to write the report")?;
    let remote = Remote::of(&repo);
    Branch::new(&repo, &remote, &config.baseline.branch).save(
        &name,
        head,
        &stored,
        config.baseline.keep.get(),
    )?;
    super::say(&format!(
        "saved the report of {} as `{name}` on `{}`\n",
        baseline::short(head),
        config.baseline.branch
    ));
    Ok(Exit::Passed)
}
