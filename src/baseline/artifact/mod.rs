//! Reports kept as artifacts of workflow runs.
//!
//! Forks use the same artifact names as the repository, and a branch of a fork may be called `main`. So three facts are
//! checked: from which repository the commit of the run came, what started the run, and which workflow it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::sentence::in_a_sentence;
use anyhow::{Context as _, ensure};
use kelvin_system::git::{self, Oid};

use super::ancestry::short;
use super::commit::Distances;
use super::tree::MAX_BYTES;
use super::unknown::{Unknown, beside};
use crate::registry::Registry;
use kelvin_gate::provenance::KeptArtifact;
use kelvin_gate::report::Report;
use kelvin_github as github;
use kelvin_github::{Archive, Artifact, Client, REPORT_FILE};
use kelvin_record::Ending;

/// How many artifacts are examined before giving up.
const MOST: usize = 5;

/// The source of artifacts, and the rules by which one is trusted.
#[derive(Clone, Debug)]
pub(crate) struct Artifacts {
    /// The client of the repository.
    pub(crate) client: Arc<Client>,
    /// The branch whose pushes save reports, without `refs/heads/`.
    pub(crate) branch: String,
    /// The file of the workflow, e.g. `.github/workflows/kelvin.yml`. Without a file, every workflow of the repository
    /// is accepted.
    pub(crate) workflow: Option<String>,
}

/// A report, the commit to which it belongs, and where it is stored.
#[derive(Debug)]
pub(super) struct ArtifactReport {
    pub(super) report: Report,
    pub(super) commit: Oid,
    pub(super) behind: usize,
    /// Where the report is stored.
    pub(super) artifact: KeptArtifact,
}

/// Finds the report of the nearest commit among the given ones, or says why no report can be used.
pub(super) fn find(
    registry: Registry,
    artifacts: &Artifacts,
    name: &str,
    ancestors: &Distances,
    fresh: &dyn Fn(Oid) -> Result<(), String>,
) -> anyhow::Result<ArtifactReport> {
    let all = artifacts
        .client
        .artifacts(name)
        .map_err(|error| Unknown::Unreachable.mark(anyhow::anyhow!("{error}")))?;
    ensure!(!all.is_empty(), "there is no artifact `{name}`");
    let distances: BTreeMap<Oid, usize> = ancestors.iter().copied().collect();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut usable = Vec::new();
    // The newest artifact of a commit comes first: a repeated run replaces what it had saved.
    for artifact in &all {
        match check(artifacts, artifact, &distances) {
            Ok((commit, behind)) => usable.push((behind, commit, artifact)),
            Err(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    usable.sort_by_key(|(behind, commit, artifact)| {
        (*behind, *commit, std::cmp::Reverse(artifact.id))
    });
    let mut tried = 0;
    let mut unknown = None;
    for (behind, commit, artifact) in usable {
        if let Err(why) = fresh(commit) {
            *reasons.entry(why).or_default() += 1;
            continue;
        }
        if tried == MOST {
            break;
        }
        tried += 1;
        match read(artifacts, artifact, registry) {
            Ok((report, run)) => {
                return Ok(ArtifactReport {
                    report,
                    commit,
                    behind,
                    artifact: KeptArtifact {
                        name: name.to_owned(),
                        run,
                    },
                });
            }
            Err(error) => {
                *reasons
                    .entry(format!("{}: {}", short(commit), in_a_sentence(&error)))
                    .or_default() += 1;
                if Unknown::is_in(&error) {
                    unknown = unknown.or(Some(error));
                }
            }
        }
    }
    let reasons: Vec<String> = reasons
        .into_iter()
        .map(|(why, count)| {
            if count > 1 {
                format!("{why} ({count} times)")
            } else {
                why
            }
        })
        .collect();
    let none = anyhow::anyhow!(
        "none of the {} artifacts `{name}` serves: {}",
        all.len(),
        reasons.join("; ")
    );
    Err(beside(none, unknown))
}

/// An error of GitHub. If a run or an artifact is gone, that is an answer; every other error is not.
fn refused(error: &github::Error) -> anyhow::Error {
    let told = anyhow::anyhow!("{error}");
    match error.status() {
        Some(404 | 410) => told,
        _ => Unknown::Unreachable.mark(told),
    }
}

/// The data about an artifact in the list itself: its commit and the distance of that commit, or why the artifact is
/// skipped.
fn check(
    artifacts: &Artifacts,
    artifact: &Artifact,
    distances: &BTreeMap<Oid, usize>,
) -> Result<(Oid, usize), String> {
    let origin = artifact.workflow_run.as_ref();
    let origin = origin.ok_or("it does not say which run made it")?;
    let known = origin.repository_id.is_some() && origin.head_repository_id == origin.repository_id;
    if !known {
        return Err("it comes from a fork".to_owned());
    }
    if origin.head_branch.as_deref() != Some(&*artifacts.branch) {
        return Err(format!("it is not of the branch `{}`", artifacts.branch));
    }
    if artifact.expired {
        return Err("it has expired".to_owned());
    }
    if usize::try_from(artifact.size_in_bytes).map_or(true, |size| size > github::MOST_BYTES) {
        return Err(format!("it is larger than {} bytes", github::MOST_BYTES));
    }
    let commit = origin.head_sha.as_deref().and_then(|sha| git::id(sha).ok());
    let commit = commit.ok_or("it does not say which commit it is of")?;
    let behind = distances.get(&commit);
    let behind =
        behind.ok_or("it is of a commit that is not before the base, or too long before")?;
    Ok((commit, *behind))
}

/// Asks GitHub for the run and reads the report from the archive.
fn read(
    artifacts: &Artifacts,
    artifact: &Artifact,
    registry: Registry,
) -> anyhow::Result<(Report, u64)> {
    let client = &artifacts.client;
    let origin = artifact.workflow_run.as_ref().context("it has no run")?;
    let id = origin.id.context("its run has no number")?;
    let run = client.run(id).map_err(|error| refused(&error))?;
    ensure!(run.event == "push", "its run was not started by a push");
    if let Some(workflow) = &artifacts.workflow {
        ensure!(
            run.workflow() == workflow,
            "its run is of another workflow than `{workflow}`"
        );
    }
    let home = run.head_repository.as_ref();
    ensure!(
        home.is_some_and(|home| home.id == run.repository.id)
            && Some(run.repository.id) == origin.repository_id,
        "its run is of a fork"
    );
    ensure!(
        Some(&run.head_sha) == origin.head_sha.as_ref()
            && run.head_branch.as_deref() == Some(&*artifacts.branch),
        "its run is not of the commit and branch that it says"
    );
    let bytes = client
        .download(artifact.id, github::MOST_BYTES)
        .map_err(|error| refused(&error))?;
    let unpacked = || -> anyhow::Result<Report> {
        let report = Archive::open(&bytes)?
            .read(REPORT_FILE, MAX_BYTES)?
            .with_context(|| format!("it has no `{REPORT_FILE}`"))?;
        registry
            .report(&report)
            .with_context(|| format!("its `{REPORT_FILE}`"))
    };
    let report = unpacked().map_err(|error| Unknown::Unreadable.mark(error))?;
    ensure!(
        report.run.ending != Ending::Changed,
        "the code of the pipeline changed while its report was made"
    );
    if let Some(commit) = &report.run.session.commit {
        ensure!(
            *commit == run.head_sha,
            "its report is of another commit than its run"
        );
    }
    Ok((report, id))
}

/// A GitHub on loopback.
#[cfg(test)]
#[path = "../../../tests/it/github/mod.rs"]
mod fake;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod search_tests;
