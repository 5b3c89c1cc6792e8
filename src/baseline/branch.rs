//! Reports kept on a branch of their own: one file per configuration and commit.
//!
//! The branch never has more than one commit, so old reports cost nothing; a push succeeds only
//! where the branch still is what we read, so two writers at once both end up in it.

use anyhow::Context as _;
use git2::{ErrorCode, FileMode, ObjectType, Oid, Repository, Signature, Tree};

use super::remote::{Moved, Remote};
use super::tree;

/// How often a write is tried again after another writer was first.
const ATTEMPTS: usize = 20;

/// A branch of reports.
pub(crate) struct Branch<'a> {
    repo: &'a Repository,
    remote: &'a Remote<'a>,
    name: &'a str,
}

/// A report as it is found on the branch.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The configuration it is of.
    pub(crate) configuration: String,
    /// The commit it is of.
    pub(crate) commit: Oid,
    /// Its blob.
    pub(crate) blob: Oid,
}

impl<'a> Branch<'a> {
    /// The branch of this name.
    pub(crate) const fn new(repo: &'a Repository, remote: &'a Remote<'a>, name: &'a str) -> Self {
        Self { repo, remote, name }
    }

    /// Asks the remote for the branch. A failure is told and not fatal: what an earlier fetch left
    /// is still there to be read.
    ///
    /// # Errors
    ///
    /// What git said, where the remote could not be asked or has no such branch.
    pub(crate) fn fetch(&self) -> anyhow::Result<()> {
        let refspec = format!("+refs/heads/{}:{}", self.name, self.tracking());
        self.remote.fetch(&[&refspec], Some(1))
    }

    /// Every report of every configuration, in the order of the tree.
    ///
    /// # Errors
    ///
    /// Where the branch is there and cannot be read.
    pub(crate) fn kept(&self) -> anyhow::Result<Vec<Kept>> {
        let Some(tree) = self.tree()? else {
            return Ok(Vec::new());
        };
        let mut kept = Vec::new();
        for folder in &tree {
            let (Ok(configuration), Some(ObjectType::Tree)) = (folder.name(), folder.kind()) else {
                continue;
            };
            for entry in &tree::find(self.repo, self.remote, folder.id())? {
                let commit = entry
                    .name()
                    .ok()
                    .and_then(|name| name.strip_suffix(".json"))
                    .and_then(|name| Oid::from_str(name).ok());
                if let Some(commit) = commit {
                    kept.push(Kept {
                        configuration: configuration.to_owned(),
                        commit,
                        blob: entry.id(),
                    });
                }
            }
        }
        Ok(kept)
    }

    /// Adds a report and pushes it, as often as it takes while others write too. At most `keep`
    /// reports of the configuration stay, those of the newest commits.
    ///
    /// # Errors
    ///
    /// Where it cannot be written or pushed.
    pub(crate) fn save(
        &self,
        configuration: &str,
        commit: Oid,
        report: &[u8],
        keep: usize,
    ) -> anyhow::Result<()> {
        let blob = self
            .repo
            .blob(report)
            .context("failed to store the report")?;
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            // No branch yet is no failure of a write; a remote out of reach shows at the push.
            let _ = self.fetch();
            let seen = self.seen();
            let tip = self.write(configuration, commit, blob, keep)?;
            match self.remote.push(tip, self.name, seen) {
                Ok(()) => {
                    let reference = self.tracking();
                    self.repo
                        .reference(&reference, tip, true, "kelvin: report saved")
                        .with_context(|| format!("failed to update `{reference}`"))?;
                    return Ok(());
                }
                Err(error) if error.downcast_ref::<Moved>().is_some() => last = Some(error),
                Err(error) => return Err(error),
            }
            // Writers that collided once would go on to collide in step.
            let spread = 10 * (attempt as u64 + 1) + u64::from(std::process::id() % 97);
            std::thread::sleep(std::time::Duration::from_millis(spread));
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("nothing was tried")))
            .with_context(|| format!("failed to push to `{}` {ATTEMPTS} times", self.name))
    }

    /// One commit without parents that holds what the branch holds, and this report.
    fn write(
        &self,
        configuration: &str,
        commit: Oid,
        blob: Oid,
        keep: usize,
    ) -> anyhow::Result<Oid> {
        let root = self.tree()?;
        let inner = root
            .as_ref()
            .and_then(|tree| tree.get_name(configuration))
            .filter(|entry| entry.kind() == Some(ObjectType::Tree))
            .map(|entry| tree::find(self.repo, self.remote, entry.id()))
            .transpose()?;
        let mut reports = self.repo.treebuilder(inner.as_ref())?;
        let mode = i32::from(FileMode::Blob);
        reports.insert(format!("{commit}.json"), blob, mode)?;
        for old in self.oldest(inner.as_ref(), commit, keep) {
            reports.remove(old)?;
        }
        let mut builder = self.repo.treebuilder(root.as_ref())?;
        builder.insert(configuration, reports.write()?, i32::from(FileMode::Tree))?;
        let tree = self.repo.find_tree(builder.write()?)?;
        let author = self
            .repo
            .signature()
            .or_else(|_| Signature::now("kelvin", "kelvin@users.noreply.github.com"))?;
        let message = format!("Reports, newest of {configuration} at {commit}\n");
        Ok(self
            .repo
            .commit(None, &author, &author, &message, &tree, &[])?)
    }

    /// The names of the reports beyond the newest `keep`, the one being saved counted in, by the time
    /// of their commits; a commit that is not in this clone counts as oldest.
    fn oldest(&self, reports: Option<&Tree<'_>>, saved: Oid, keep: usize) -> Vec<String> {
        let mut names: Vec<(i64, String)> = reports
            .into_iter()
            .flat_map(|tree| tree.iter())
            .filter_map(|entry| {
                let name = entry.name().ok()?.to_owned();
                let commit = Oid::from_str(name.strip_suffix(".json")?).ok()?;
                let found = self.repo.find_commit(commit);
                let time = found.map_or(i64::MIN, |commit| commit.time().seconds());
                (commit != saved).then_some((time, name))
            })
            .collect();
        names.sort();
        let surplus = (names.len() + 1).saturating_sub(keep.max(1));
        names
            .into_iter()
            .take(surplus)
            .map(|(_, name)| name)
            .collect()
    }

    fn tree(&self) -> anyhow::Result<Option<Tree<'a>>> {
        let Some(tip) = self.seen() else {
            return Ok(None);
        };
        tree::of(self.repo, self.remote, tip)
            .map(Some)
            .with_context(|| format!("failed to read the branch `{}`", self.name))
    }

    fn seen(&self) -> Option<Oid> {
        match self.repo.refname_to_id(&self.tracking()) {
            Ok(tip) => Some(tip),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(_) => None,
        }
    }

    fn tracking(&self) -> String {
        format!("refs/remotes/{}/{}", self.remote.name(), self.name)
    }
}
