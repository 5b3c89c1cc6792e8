//! Compares the current version with the previous one, over all stored runs of both.

use std::path::{Path, PathBuf};

use super::named::named;
use super::past::{self, Sources};
use super::runs::{RunsRequest, demand_metrics};
use super::{configuration, folder};
use crate::baseline;
use crate::trend::{
    Compared, PastRun, VersionSamples, compare, differing, lasting_falls, versions,
};
use kelvin_base::exit::Misuse;
use kelvin_page::listed;
use kelvin_run::trace;

/// The inputs of a comparison of versions.
#[derive(Clone, Debug)]
pub(crate) struct RegressionRequest {
    /// The runs. If they have no name, it is the one in the file of the configuration.
    pub(crate) runs: RunsRequest,
    /// The version to compare with: a tag or another revision; the previous one unless given.
    pub(crate) against: Option<String>,
    /// Traces of chains that another tool has recorded, to be read in place of reports: a file or a folder.
    pub(crate) traces: Option<PathBuf>,
    /// How many live measurements each version needs for a judgement.
    pub(crate) live_runs: usize,
}

/// A version and its runs.
type Version<'a> = (String, Vec<&'a PastRun>);

/// Lists which metrics dropped. Fails with a [`Misuse`] if there are no two versions to compare.
pub(crate) fn regression(request: &RegressionRequest) -> anyhow::Result<Compared> {
    if let Some(path) = &request.traces {
        return of_traces(path, request);
    }
    let of = &request.runs;
    let root = folder(&of.config)?;
    let config = of.registry.configured_in(&of.config);
    let name = match (&of.name, &config) {
        (Some(name), _) => name.clone(),
        (None, Ok(config)) => configuration(config),
        (None, Err(_)) => named(None, &root, &of.config),
    };
    let (runs, mut read) = past::read(&Sources {
        name: Some(&name),
        ..of.sources(&root, config.as_ref().ok())
    });
    demand_metrics(&runs, &of.metrics)?;
    let commits: Vec<&str> = runs
        .iter()
        .filter_map(|run| run.commit.as_deref())
        .collect();
    let lineage = baseline::lineage(&root, &commits);
    let mut versions = versions(&runs, &lineage);
    let current = versions.pop().ok_or_else(|| {
        let why = read.notices.join("; ");
        Misuse::new(format!("no run of `{name}` was found")).help(match why.is_empty() {
            true => "`kelvin check` records one".to_owned(),
            false => why,
        })
    })?;
    let is_before = |version: &Version<'_>| {
        let mut commits = version.1.iter().filter_map(|run| run.commit.as_ref());
        !commits.any(|commit| lineage.outside.contains(commit))
    };
    let (before, beside): (Vec<_>, Vec<_>) = versions.into_iter().partition(is_before);
    let mut versions = before;
    let prior = match &request.against {
        None if versions.is_empty() && !beside.is_empty() && is_before(&current) => {
            let what = format!(
                "no version before {} has a run; those that have one come after it or are of other branches",
                current.0
            );
            let help = "check the newest commit out to compare it with the one before, or name a version with `--against`";
            return Err(Misuse::new(what).help(help).into());
        }
        None => versions.pop().ok_or_else(|| {
            let what = format!(
                "all runs of `{name}` are of one version, {}, so there is none to compare with",
                current.0
            );
            Misuse::new(what)
                .help("run `kelvin check` on an earlier commit too, or save its report")
        })?,
        // If a version is named, it is used, whatever its position in the order.
        Some(asked) => {
            let all = beside.into_iter().chain(versions).collect();
            asked_for(asked, &root, all, &current)?
        }
    };
    let samples = |version: &Version<'_>| VersionSamples::of(&version.0, &version.1, &of.metrics);
    let mut compared = compare(&samples(&current), &samples(&prior), request.live_runs);
    if let (Some(new), Some(old)) = (current.1.last(), prior.1.last()) {
        let changed = differing(&old.made_of, &new.made_of);
        let code = "the code of the pipeline";
        let changed: Vec<&str> = changed.into_iter().filter(|what| *what != code).collect();
        if !changed.is_empty() {
            compared.notices.push(format!(
                "these differ between both versions, so a figure may differ for that reason alone: {}",
                changed.join(", ")
            ));
        }
    }
    let ordered = past::ordered(&root, runs.clone(), of.now, &mut read);
    compared.lasting = lasting_falls(&ordered, &of.metrics);
    compared.notices.extend(read.notices);
    let unread = read.unread.into_iter();
    compared
        .notices
        .extend(unread.map(|(place, why)| format!("{place} was not read: {why}")));
    Ok(compared)
}

/// How many traces of a version are used at most, the newest ones.
const NEWEST: usize = 20;

/// Compares the newest version of each chain with the previous one, in the order of semantic versions.
fn of_traces(path: &Path, request: &RegressionRequest) -> anyhow::Result<Compared> {
    let traces = trace::read(path)?;
    let chains = trace::chains(&traces.traces);
    let mut notices = chains.warnings.clone();
    let malformed = traces.malformed.iter();
    notices
        .extend(malformed.map(|one| format!("`{}` was not read: {}", one.file.display(), one.why)));
    let (mut current, mut prior) = (VersionSamples::default(), VersionSamples::default());
    for (name, chain) in &chains.by_name {
        let Some(newest) = chain.versions.last() else {
            continue;
        };
        let before = match &request.against {
            Some(asked) => {
                let plain = |version: &str| version.trim_start_matches('v').to_owned();
                let mut earlier = chain.versions.iter().rev().skip(1);
                earlier.find(|version| plain(version.name) == plain(asked))
            }
            None => chain.with_prior(newest.name).and_then(|(_, prior)| prior),
        };
        let Some(before) = before else {
            notices.push(match &request.against {
                Some(asked) => format!(
                    "the chain `{name}` has no version `{asked}` before `{}` to compare it with",
                    newest.name
                ),
                None => format!(
                    "the chain `{name}` has no version before `{}` to compare it with",
                    newest.name
                ),
            });
            continue;
        };
        notices.push(format!(
            "the chain `{name}`: `{}` against `{}`",
            newest.name, before.name
        ));
        for (side, version) in [(&mut current, newest), (&mut prior, before)] {
            let mut runs = Vec::new();
            for one in version.newest(NEWEST) {
                match PastRun::of_trace_of_any_time(one) {
                    Ok(run) => runs.push(run),
                    Err(why) => notices.push(format!("`{}` is not counted: {why}", one.trace_id)),
                }
            }
            let runs: Vec<&PastRun> = runs.iter().collect();
            side.join(VersionSamples::of("", &runs, &[]).with_chains_of_their_own());
        }
    }
    if current.each.is_empty() && prior.each.is_empty() {
        let what = format!(
            "no chain in `{}` has two versions to compare",
            path.display()
        );
        return Err(Misuse::new(what).help(notices.join("; ")).into());
    }
    current.version = "the newest version of each chain".to_owned();
    prior.version = match &request.against {
        Some(version) => format!("version {version}"),
        None => "the version before it".to_owned(),
    };
    let mut compared = compare(&current, &prior, request.live_runs);
    compared.notices = notices;
    Ok(compared)
}

/// The version that a person has named.
fn asked_for<'a>(
    asked: &str,
    root: &Path,
    versions: Vec<Version<'a>>,
    current: &Version<'_>,
) -> Result<Version<'a>, Misuse> {
    // A commit that this clone does not have may still have a report.
    let commit = match baseline::resolve(root, asked) {
        Ok(commit) => commit.to_string(),
        Err(_) if asked.len() >= 7 => asked.to_owned(),
        Err(error) => {
            return Err(Misuse::new(format!("`{asked}` is no revision: {error:#}"))
                .help("name a tag or a commit; a shallow clone has no tags of other commits"));
        }
    };
    if current.0.starts_with(&commit) {
        return Err(Misuse::new(format!(
            "`{asked}` is the version at hand, which would be compared with itself"
        ))
        .help("name an earlier one, or leave `--against` out"));
    }
    let known: Vec<String> = versions.iter().map(|(name, _)| name.clone()).collect();
    let mut found = versions.into_iter().rev();
    found
        .find(|(name, _)| name.starts_with(&commit))
        .ok_or_else(|| {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Misuse::new(format!(
                "no run of the version `{asked}` ({commit}) was found"
            ))
            .help(match known.is_empty() {
                true => "no other version has a run at all".to_owned(),
                false => format!("there are runs of: {}", listed(&known)),
            })
        })
}
