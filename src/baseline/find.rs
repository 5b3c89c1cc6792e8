//! The search for a baseline: the sources in order, and a reason for each source that could not be used.

use std::path::{Path, PathBuf};

use crate::sentence::in_a_sentence;
use anyhow::{Context as _, bail};
use kelvin_system::git::{Oid, Repository};

use super::ancestry::short;
use super::branch::KeptOnBranch;
use super::commit::{self, Distances};
use super::remote::Remote;
use super::search::{Claims, Search, SearchPosition};
use super::unknown::{Unknown, beside};
use super::{Baseline, Branch, artifact, provenance, rename, tree};
use kelvin_base::exit::Misuse;
use kelvin_gate::provenance::{Provenance, Source, Tried};
use kelvin_gate::report::Report;
use kelvin_github as github;
use kelvin_record::settings::BaselineSource;

/// Finds the baseline. Fails only if a named file does not exist: any other failure is recorded as a source that could
/// not be used.
pub(crate) fn find(search: &Search<'_>) -> anyhow::Result<Baseline> {
    if let Some(path) = &search.settings.file {
        if search.hint.pull_request.is_some() {
            let why = format!(
                "`{path}` is not read on a pull request, since the pull request could have changed it"
            );
            return Ok(Baseline::None(vec![Tried {
                source: Source::File,
                why,
                unknown: None,
            }]));
        }
        return file(search, Path::new(path));
    }
    let wanted = match search.settings.from {
        BaselineSource::Off => return Ok(Baseline::Off),
        BaselineSource::Auto => {
            let artifact = search.artifacts.map(|_| Source::Artifact);
            [
                Some(Source::Tree),
                Some(Source::Branch),
                artifact,
                Some(Source::Compute),
            ]
            .into_iter()
            .flatten()
            .collect()
        }
        BaselineSource::Tree => vec![Source::Tree],
        BaselineSource::Branch => vec![Source::Branch],
        BaselineSource::Artifact => vec![Source::Artifact],
        BaselineSource::Compute => vec![Source::Compute],
    };
    let absent =
        |error: &anyhow::Error| Ok(Baseline::absent(vec![Baseline::tried(wanted[0], error)]));
    let repo = match super::open(search.root) {
        Ok(repo) => repo,
        // A server started this workflow for a commit of a repository, so there has to be a repository.
        Err(error) if search.hint.in_workflow => {
            return absent(&Unknown::Unreachable.mark(error));
        }
        Err(error) => return absent(&error),
    };
    let remote = Remote::of(&repo).with(search.login, search.hint);
    let bases = match commit::bases(&remote, search.hint) {
        Ok(bases) => bases,
        Err(error) => return absent(&error),
    };
    let mut tried = Vec::new();
    for base in &bases {
        let place = SearchPosition {
            search,
            remote: &remote,
            base,
        };
        for source in &wanted {
            let found = match source {
                Source::Tree => place.tree(),
                Source::Branch => place.branch(),
                Source::Artifact => place.artifact(),
                _ => place.compute(),
            };
            match found {
                Ok((report, _)) if report.run.session.copied_from.is_some() => {
                    let error = anyhow::anyhow!(
                        "the report repeats the figures of another commit, for which nothing was run"
                    );
                    tried.push(Baseline::tried(*source, &Unknown::Untrue.mark(error)));
                }
                Ok((report, mut provenance)) => {
                    provenance.tried = tried;
                    return Ok(Baseline::Found(Box::new(report), provenance));
                }
                Err(error) => tried.push(Baseline::tried(*source, &error)),
            }
        }
    }
    Ok(Baseline::absent(tried))
}

fn file(search: &Search<'_>, path: &Path) -> anyhow::Result<Baseline> {
    let report =
        super::file::read_file(&search.root.join(path), search.registry).map_err(|error| {
            let what = format!("the baseline `{}` is unusable: {error:#}", path.display());
            Misuse::new(what)
        })?;
    let place = path.display().to_string();
    let provenance = provenance(Source::File, place, report.run.session.commit.clone());
    Ok(Baseline::Found(Box::new(report), provenance))
}

impl SearchPosition<'_> {
    fn tree(&self) -> anyhow::Result<(Report, Provenance)> {
        let path = in_repository(
            self.remote.repo(),
            self.search.root,
            Path::new(&self.search.settings.path),
        )?;
        let commit = self.base.commit;
        let Some(bytes) = tree::read(self.remote, commit, &path)? else {
            bail!("commit {} has no `{}`", short(commit), path.display());
        };
        let report = self
            .search
            .registry
            .report(&bytes)
            .map_err(|error| Unknown::Unreadable.mark(error))
            .with_context(|| format!("`{}` in {}", path.display(), short(commit)))?;
        Ok((
            report,
            self.provenance(Source::Tree, path.display().to_string(), commit, 0),
        ))
    }

    fn branch(&self) -> anyhow::Result<(Report, Provenance)> {
        let settings = self.search.settings;
        let branch = Branch::new(self.remote, &settings.branch);
        let asked = branch.fetch().err();
        let mut kept = match (&asked, self.search.hint.in_workflow) {
            // In a workflow only the latest data of the server are trusted: the change could have written to the clone.
            (Some(_), true) => Vec::new(),
            _ => branch.kept()?,
        };
        if !self.search.hint.in_workflow {
            let local = Branch::local(self.remote, &settings.branch);
            kept.splice(0..0, local.kept()?);
        }
        if kept.is_empty() {
            let none = || anyhow::anyhow!("the branch `{}` has no report", settings.branch);
            return Err(match asked {
                None => none(),
                Some(error) if Unknown::is_in(&error) => error,
                Some(error) => error.context(format!("there is no branch `{}`", settings.branch)),
            });
        }
        // The result of an earlier fetch of the branch is enough if it has a report; if not, the server may have more.
        self.on(&kept).map_err(|error| beside(error, asked))
    }

    /// The report of the nearest commit among those on a branch.
    fn on(&self, kept: &[KeptOnBranch]) -> anyhow::Result<(Report, Provenance)> {
        let settings = self.search.settings;
        let (ancestors, cut) = self.ancestors();
        let configuration = match rename::name(self, kept, &ancestors) {
            Ok(configuration) => configuration,
            Err(error) => return Err(beside(error, cut)),
        };
        let mut unusable = Vec::new();
        let mut damaged = None;
        for (commit, behind) in ancestors {
            let Some(found) = kept
                .iter()
                .find(|kept| kept.commit == commit && kept.configuration == configuration)
            else {
                continue;
            };
            let place = match found.local {
                true => format!("{} of this clone", settings.branch),
                false => settings.branch.clone(),
            };
            let provenance = self.provenance(Source::Branch, place, commit, behind);
            if provenance
                .days
                .is_some_and(|days| days > settings.max_age_days)
            {
                unusable.push(format!("{} is too old ({provenance})", short(commit)));
                continue;
            }
            let read = tree::blob(self.remote, found.blob).and_then(|bytes| {
                self.search
                    .registry
                    .report(&bytes)
                    .map_err(|error| Unknown::Unreadable.mark(error))
            });
            match read {
                Ok(report) => return self.held(commit, report, provenance),
                Err(error) => {
                    unusable.push(format!("{}: {}", short(commit), in_a_sentence(&error)));
                    damaged = damaged.or(Some(error));
                }
            }
        }
        let reasons = match unusable.len() {
            0 => String::new(),
            _ => format!("; {}", unusable.join("; ")),
        };
        let none = anyhow::anyhow!(
            "neither {} nor the {} commits before it have a usable report on `{}`{reasons}",
            short(self.base.commit),
            settings.max_age_commits,
            settings.branch
        );
        Err(beside(none, damaged.or(cut)))
    }

    /// A report whose claims are true for its commit. A report that fails this check is not silently skipped, because
    /// somebody may want the change to be compared with an earlier one.
    fn held(
        &self,
        commit: Oid,
        report: Report,
        provenance: Provenance,
    ) -> anyhow::Result<(Report, Provenance)> {
        let unchecked = match (self.search.hold)(self.remote.repo(), commit, &report) {
            Claims::Hold => None,
            Claims::Unknown(why) => Some(why),
            Claims::Differ(why) => {
                let error = anyhow::anyhow!(
                    "the report of {} on `{}` {why}",
                    short(commit),
                    self.search.settings.branch
                );
                return Err(Unknown::Untrue.mark(error));
            }
        };
        let provenance = Provenance {
            unchecked,
            ..provenance
        };
        Ok((report, provenance))
    }

    /// The base and the commits before it, nearest first, up to the maximum age of a report; and the error because of
    /// which the list is incomplete. A commit that cannot be fetched, and so has no known ancestors, may still have a
    /// report.
    pub(super) fn ancestors(&self) -> (Distances, Option<anyhow::Error>) {
        let (base, most) = (self.base.commit, self.search.settings.max_age_commits);
        let fetch = |depth| self.remote.fetch(&[&base.to_string()], Some(depth));
        let mut deepened = 0;
        let mut cut = None;
        let mut deepen = |reached: usize| {
            deepened += 1;
            if deepened > 6 {
                return false;
            }
            cut = fetch((reached + 2) * 4).err();
            cut.is_none()
        };
        let found = commit::ancestors(self.remote.repo(), base, most, &mut deepen).or_else(|_| {
            fetch(1)?;
            commit::ancestors(self.remote.repo(), base, most, &mut |_| false)
        });
        match found {
            Ok(found) => (found, cut),
            Err(error) => (vec![(base, 0)], Some(error)),
        }
    }

    fn artifact(&self) -> anyhow::Result<(Report, Provenance)> {
        let Some(artifacts) = self.search.artifacts else {
            bail!("artifacts can be read only in a workflow of GitHub, with a token");
        };
        let name = github::artifact_name(self.search.configuration);
        let (ancestors, cut) = self.ancestors();
        let most = self.search.settings.max_age_days;
        let kept = artifact::find(
            self.search.registry,
            artifacts,
            &name,
            &ancestors,
            &|commit| {
                let provenance = self.provenance(Source::Artifact, String::new(), commit, 0);
                match provenance.days {
                    Some(days) if days > most => Err(format!("it is over {most} days old")),
                    _ => Ok(()),
                }
            },
        )
        .map_err(|error| beside(error, cut))?;
        let place = kept.artifact.to_string();
        let provenance = Provenance {
            artifact: Some(kept.artifact),
            ..self.provenance(Source::Artifact, place, kept.commit, kept.behind)
        };
        Ok((kept.report, provenance))
    }

    fn compute(&self) -> anyhow::Result<(Report, Provenance)> {
        let Some(compute) = self.search.compute else {
            bail!("measuring the base commit is off; `baseline.compute: true` turns it on");
        };
        let commit = self.base.commit;
        let report = compute(self.remote.repo(), commit)?;
        Ok((
            report,
            self.provenance(Source::Compute, "the base commit".to_owned(), commit, 0),
        ))
    }

    /// The source of a report, and how far its commit is from the base in time, by the dates of the commits.
    pub(super) fn provenance(
        &self,
        source: Source,
        place: String,
        commit: Oid,
        behind: usize,
    ) -> Provenance {
        let time = |commit: Oid| {
            let found = self.remote.repo().find_commit(commit).ok()?;
            Some(found.time().seconds())
        };
        let days = time(self.base.commit)
            .zip(time(commit))
            .map(|(base, report)| u64::try_from((base - report) / 86_400).unwrap_or(0));
        Provenance {
            why: Some(self.base.why.clone()),
            behind,
            days,
            ..provenance(source, place, Some(commit.to_string()))
        }
    }
}

/// A path below the configuration's folder, as a path in the repository. Fails if there is no work tree, or if the
/// folder is outside the work tree.
pub(super) fn in_repository(
    repo: &Repository,
    root: &Path,
    path: &Path,
) -> anyhow::Result<PathBuf> {
    let top = repo
        .workdir()
        .context("the repository has no work tree")?
        .canonicalize()
        .context("failed to resolve the repository")?;
    let root = root
        .canonicalize()
        .context("failed to resolve the folder")?;
    let below = root
        .strip_prefix(&top)
        .context("the configuration is outside the repository")?;
    let mut found = below.to_path_buf();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                found.pop();
            }
            part => found.push(part),
        }
    }
    Ok(found)
}
