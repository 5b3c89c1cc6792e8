//! Keeps a finished report for later changes to be compared with.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::configuration;
use crate::baseline::{self, Branch, Remote};
use crate::config::Config;
use crate::exit::Misuse;
use crate::probe::Ending;
use crate::report::{self, Report};

/// A report that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The commit it is of.
    pub(crate) commit: baseline::Oid,
    /// The configuration it is of.
    pub(crate) configuration: String,
    /// The branch it is on.
    pub(crate) branch: String,
}

/// Reads the report of a finished check: the one named, or the one beside the configuration.
///
/// # Errors
///
/// Where it is not there, or is no report.
pub(crate) fn finished(config: &Config, path: Option<&Path>) -> anyhow::Result<Report> {
    let path = path.map_or_else(|| config.root.join("kelvin/report.json"), PathBuf::from);
    let bytes = std::fs::read(&path).with_context(|| {
        format!(
            "failed to read `{}`; run `kelvin check` first",
            path.display()
        )
    })?;
    report::json::read(&bytes).with_context(|| format!("`{}` cannot be a baseline", path.display()))
}

/// Saves a report on the branch of reports, for the commit that is checked out.
///
/// # Errors
///
/// A [`Misuse`] where the report is not of the whole check of that commit; any other error where
/// the branch cannot be written.
pub(crate) fn save(config: &Config, report: &Report, allow_dirty: bool) -> anyhow::Result<Saved> {
    let refuse = |what: &str, help: &str| Err(Misuse::new(what.to_owned()).help(help).into());
    if let Some(share) = report.run.shard {
        return refuse(
            &format!("the report is that of shard {}", share.shard()),
            "join all shards with `kelvin merge`, and save what it writes",
        );
    }
    if report.run.ending == Ending::Changed {
        return refuse(
            "the code of the pipeline changed while the report was made, so it is the report of no \
             commit",
            "run `kelvin check` again, and leave the files of the pipeline alone until it ends",
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
    if report.run.session.dirty && !allow_dirty {
        return refuse(
            "the files differed from the commit when the report was made",
            "commit them and run `kelvin check` again, or add `--allow-dirty`",
        );
    }
    let name = configuration(config);
    let stored = serde_json::to_vec(report).context("failed to write the report")?;
    let remote = Remote::of(&repo);
    Branch::new(&repo, &remote, &config.baseline.branch).save(
        &name,
        head,
        &stored,
        config.baseline.keep.get(),
    )?;
    Ok(Saved {
        commit: head,
        configuration: name,
        branch: config.baseline.branch.clone(),
    })
}
