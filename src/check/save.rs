//! Saves a finished report, so that later changes can be compared with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{configuration, named, texts};
use crate::baseline::{self, Branch, BranchEntry, BranchWriter, Hint, Login, Remote};
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_gate::report::Report;
use kelvin_github::publish::event::Variables;
use kelvin_page::safe;
use kelvin_record::{Ending, KeptTexts};
use kelvin_run::config::Config;

/// The inputs for saving a report.
pub(crate) struct SaveRequest<'a> {
    /// The configuration that was checked.
    pub(crate) config: &'a Config,
    /// The report.
    pub(crate) report: &'a Report,
    /// Saves the report although the work tree differed from the commit.
    pub(crate) allow_dirty: bool,
    /// Saves the report only in this clone.
    pub(crate) local: bool,
    /// The token of the action, which git may need.
    pub(crate) login: Option<&'a Login>,
    /// The workflow job that saves the report; none on a laptop.
    pub(crate) writer: Option<BranchWriter>,
    /// Prints.
    pub(crate) say: &'a dyn Fn(&str),
}

/// The job that the runner's variables describe; none on a laptop.
pub(crate) fn writer(variables: &Variables<'_>) -> Option<BranchWriter> {
    Some(BranchWriter {
        run: variables("GITHUB_RUN_ID")?,
        attempt: variables("GITHUB_RUN_ATTEMPT").unwrap_or_else(|| "1".to_owned()),
    })
}

/// Reads the report of a finished check: the given file, or the report in the folder of the configuration. Fails with a
/// [`Misuse`] if the file does not exist, or is no report.
pub(crate) fn finished(
    registry: Registry,
    config: &Config,
    path: Option<&Path>,
) -> anyhow::Result<Report> {
    let path = path.map_or_else(|| config.root.join("kelvin/report.json"), PathBuf::from);
    let shown = path.display();
    let bytes = std::fs::read(&path).map_err(|error| {
        Misuse::new(format!("failed to read `{shown}`: {error}")).help("run `kelvin check` first")
    })?;
    registry
        .report(&bytes)
        .map_err(|error| Misuse::new(format!("`{shown}` cannot be a baseline: {error:#}")).into())
}

/// Whether the branch of reports in this clone has a report of this configuration; the remote is not contacted.
pub(crate) fn is_one_kept(config: &Config) -> bool {
    let Ok(repo) = baseline::open(&config.root) else {
        return false;
    };
    let remote = Remote::of(&repo);
    let (branch, name) = (&config.baseline.branch, configuration(config));
    let places = [Branch::new(&remote, branch), Branch::local(&remote, branch)];
    let mut kept = places.iter().filter_map(|place| place.kept().ok());
    kept.any(|kept| kept.iter().any(|kept| kept.configuration == name))
}

/// Saves a report on the branch of reports, for the commit that is checked out. Prints the place before anything is
/// written. Fails with a [`Misuse`] if the report does not cover the whole check of that commit, or if there is no
/// remote; any other error if the branch cannot be written.
pub(crate) fn save(request: &SaveRequest<'_>) -> anyhow::Result<()> {
    let (config, report) = (request.config, request.report);
    let refuse = |what: &str, help: &str| Err(Misuse::new(what.to_owned()).help(help).into());
    if let Some(share) = report.run.shard {
        return refuse(
            &format!("the report is that of shard {}", share.shard()),
            "join all shards with `kelvin merge`, and save what it writes",
        );
    }
    if report.run.session.copied_from.is_some() {
        return refuse(
            "the report repeats the figures of another commit, since nothing was run for this one",
            "run `kelvin check`, which runs whatever a change touches, then save",
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
            "run `kelvin check` to its end, without `--only`; at least one call has to succeed",
        );
    }
    if report.lacks_figures() {
        return refuse(
            &format!(
                "the report has no figure to compare with{}",
                why_none(report)
            ),
            "mend what failed and run `kelvin check` again, then save",
        );
    }
    if let Some(what) = of_another(config, report) {
        let check = format!("kelvin check --config {}", config.file.display());
        return refuse(&what, &format!("run `{check}`, then save"));
    }
    let wanted = config.baseline.repeats.get();
    if report.run.repeats < wanted {
        return refuse(
            &format!(
                "the report has {} for each input, and `baseline.repeats` asks for {wanted}",
                match report.run.repeats {
                    1 => "1 run".to_owned(),
                    more => format!("{more} runs"),
                }
            ),
            &format!("run `kelvin check --repeats {wanted}`, then save"),
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
    if report.run.session.dirty && !request.allow_dirty {
        return refuse(
            "the files differed from the commit when the report was made",
            "commit them and run `kelvin check` again, or add `--allow-dirty`",
        );
    }
    let name = configuration(config);
    let shared = match config.baseline.texts {
        KeptTexts::Full => report.clone(),
        kept => texts::shortened(report.clone(), kept)?,
    };
    let stored = serde_json::to_vec(&shared).context("failed to write the report")?;
    let nothing = Hint::default();
    let remote = Remote::of(&repo).with(request.login, &nothing);
    let kept_on = &config.baseline.branch;
    let (branch, place) = match (request.local, remote.url()) {
        (true, _) => {
            let branch = Branch::local(&remote, kept_on);
            let place = format!("in this clone alone, under `{}`", branch.reference());
            (branch, place)
        }
        (false, Some(url)) => {
            let place = format!(
                "on the branch `{kept_on}` of the remote `{}` ({})",
                remote.name(),
                without_login(url)
            );
            (Branch::new(&remote, kept_on), place)
        }
        (false, None) => {
            return refuse(
                &format!("this repository has no remote `{}`", remote.name()),
                &format!(
                    "add it with `git remote add {} URL`, or keep the report in this clone alone \
                     with `--local`",
                    remote.name()
                ),
            );
        }
    };
    // A missing branch is not an error. If the branch cannot be reached, writing to it fails later.
    let _ = branch.fetch();
    let text = format!(
        "saving the report of {} as `{name}` {place}, {}",
        baseline::short(head),
        held(&branch, &name)?
    );
    (request.say)(&format!("{}\n", safe::line(&text)));
    branch.save(&BranchEntry {
        configuration: &name,
        commit: head,
        report: &stored,
        keep: config.baseline.keep.get(),
        writer: request.writer.as_ref(),
    })?;
    (request.say)("saved\n");
    Ok(())
}

/// Why the first gated metric of a report without figures was not measured, for the end of a sentence.
fn why_none(report: &Report) -> String {
    let gated = report.metrics.iter().filter(|(_, metric)| metric.gated);
    let mut reasons = gated.filter_map(|(id, metric)| Some((id, metric.reason.as_ref()?)));
    reasons.next().map_or_else(String::new, |(id, why)| {
        format!(": `{id}` was not measured, since {}", safe::line(why))
    })
}

/// A message if a report was measured with another configuration: all configurations in one folder write the same file.
/// A report of an older Kelvin names no configuration; then its settings are compared.
fn of_another(config: &Config, report: &Report) -> Option<String> {
    let wanted = named::file_of(config);
    if let Some(measured) = &report.run.session.configuration {
        return (*measured != wanted).then(|| {
            format!(
                "the report was measured with the configuration `{measured}`, and `{wanted}` is to be saved"
            )
        });
    }
    // Another version may describe settings differently, and a run in another tool had no configuration.
    let is_told = report.tool.version == env!("CARGO_PKG_VERSION")
        && report.run.seed == config.seed
        && !report.is_evaluation();
    (is_told && report.run.fingerprints.config != config.measured())
        .then(|| format!("the report was measured with other settings than those of `{wanted}`"))
}

/// Describes the content of a branch, in words that follow "the branch".
fn held(branch: &Branch<'_>, name: &str) -> anyhow::Result<String> {
    let kept = branch.kept()?;
    let names: BTreeSet<&str> = kept
        .iter()
        .map(|kept| kept.configuration.as_str())
        .collect();
    let own = kept.iter().filter(|kept| kept.configuration == name);
    let others = names.iter().filter(|other| **other != name).count();
    let others = match others {
        0 => String::new(),
        1 => ", and those of 1 other configuration".to_owned(),
        more => format!(", and those of {more} other configurations"),
    };
    Ok(match own.count() {
        0 if names.is_empty() => "which has no report yet".to_owned(),
        0 => format!("which has no report of it yet{others}"),
        1 => format!("which has 1 report of it{others}"),
        more => format!("which has {more} reports of it{others}"),
    })
}

/// An address without the name and the password that it may contain.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        for (url, shown) in [
            ("https://me:secret@host/a/b.git", "https://host/a/b.git"),
            ("https://host/a@b.git", "https://host/a@b.git"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("/srv/a.git", "/srv/a.git"),
        ] {
            assert_eq!(without_login(url), shown);
        }
    }
}
