//! The report of one commit, from any place that stores reports.

use std::path::Path;

use crate::sentence::in_a_sentence;
use anyhow::{Context as _, bail};
use kelvin_system::git::Oid;

use super::branch::KeptOnBranch;
use super::remote::Remote;
use super::{Baseline, Branch, Hint, Login, commit, find, provenance, sources_tried, tree};
use crate::registry::Registry;
use kelvin_gate::provenance::{Provenance, Source, Tried};
use kelvin_gate::report::Report;
use kelvin_record::settings::BaselineSettings;

/// Reads a report from one source, and also returns a description of the place.
type Read<'a> = dyn Fn() -> anyhow::Result<(Vec<u8>, String)> + 'a;

/// The commit that a revision refers to. Fails if there is no repository, or no such revision in it.
pub(crate) fn resolve(root: &Path, revision: &str) -> anyhow::Result<Oid> {
    let repo = super::open(root)?;
    let found = repo.revparse_single(revision);
    let found = found.and_then(|object| object.peel_to_commit());
    match found {
        Ok(commit) => Ok(commit.id()),
        Err(error) => bail!("{}", error.message()),
    }
}

/// The address of the remote; none without a repository or a remote.
pub(crate) fn address(root: &Path) -> Option<String> {
    let repo = super::open(root).ok()?;
    let remote = Remote::of(&repo);
    remote.url()?;
    remote.address()
}

/// The branch that is checked out; none on a detached HEAD, or without a repository.
pub(crate) fn branch(root: &Path) -> Option<String> {
    let repo = super::open(root).ok()?;
    let head = repo.head().ok()?;
    if !head.is_branch() {
        return None;
    }
    head.shorthand().ok().map(str::to_owned)
}

/// The report of a commit, from the tree of the commit or from the branch of reports. The error lists each place that
/// was tried, and why it had no report.
pub(crate) fn of_commit(
    registry: Registry,
    root: &Path,
    settings: &BaselineSettings,
    configuration: &str,
    commit: Oid,
) -> anyhow::Result<(Report, Provenance)> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo);
    let from_tree = || -> anyhow::Result<(Vec<u8>, String)> {
        let path = find::in_repository(&repo, root, Path::new(&settings.path))?;
        match tree::read(&remote, commit, &path)? {
            Some(bytes) => Ok((bytes, path.display().to_string())),
            None => bail!("it has no `{}`", path.display()),
        }
    };
    let from_branch = || -> anyhow::Result<(Vec<u8>, String)> {
        let branch = Branch::new(&remote, &settings.branch);
        // As for a gate on a laptop, reports that only this clone has come first.
        let local = Branch::local(&remote, &settings.branch);
        let find = || -> anyhow::Result<Option<KeptOnBranch>> {
            let mut kept = local.kept()?.into_iter().chain(branch.kept()?);
            Ok(kept.find(|kept| kept.commit == commit && kept.configuration == configuration))
        };
        // A report that is already here needs no network.
        let mut found = find()?;
        let mut why = String::new();
        if found.is_none() {
            match branch.fetch() {
                Ok(()) => found = find()?,
                Err(error) => why = format!(" ({})", in_a_sentence(&error)),
            }
        }
        let name = &settings.branch;
        let kept = found.with_context(|| {
            format!("the branch `{name}` has no report of `{configuration}` for this commit{why}")
        })?;
        let place = match kept.local {
            true => format!("{name} of this clone"),
            false => name.clone(),
        };
        Ok((tree::blob(&remote, kept.blob)?, place))
    };
    let mut tried: Vec<Tried> = Vec::new();
    let sources: [(Source, &Read<'_>); 2] =
        [(Source::Tree, &from_tree), (Source::Branch, &from_branch)];
    for (source, get) in sources {
        let found = get().and_then(|(bytes, place)| Ok((registry.report(&bytes)?, place)));
        match found {
            Ok((report, place)) => {
                let provenance = Provenance {
                    tried,
                    ..provenance(source, place, Some(commit.to_string()))
                };
                return Ok((report, provenance));
            }
            Err(error) => tried.push(Baseline::tried(source, &error)),
        }
    }
    bail!("{}", sources_tried(&tried))
}

/// A file of a commit; none if the commit has no such file.
pub(crate) type BaseFile = anyhow::Result<Option<Vec<u8>>>;

/// The commit that a change starts from, and the files below the folder of the configuration at that commit. Fails if
/// there is no repository or no base. If a file exists and cannot be read, that file has its own error.
pub(crate) fn base_files(
    root: &Path,
    (login, hint): (Option<&Login>, &Hint),
    names: &[&Path],
) -> anyhow::Result<(Oid, Vec<BaseFile>)> {
    let repo = super::open(root)?;
    let remote = Remote::of(&repo).with(login, hint);
    let base = commit::base(&remote, hint)?;
    let files = names.iter().map(|name| {
        let path = find::in_repository(&repo, root, name)?;
        tree::read(&remote, base.commit, &path)
    });
    Ok((base.commit, files.collect()))
}
