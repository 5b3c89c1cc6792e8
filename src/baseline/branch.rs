//! Reports on a separate branch: one file per configuration and commit.
//!
//! The branch never has more than one commit, so old reports need no space. A push succeeds only if the branch has not
//! changed since it was read, so that no report is lost if two jobs write at the same time.

use std::fmt;

use anyhow::Context as _;
use git2::{ErrorCode, FileMode, ObjectType, Oid, Signature, Tree};
use kelvin_system::git;

use super::remote::{BranchMoved, Remote};
use super::tree;
use kelvin_base::exit::Misuse;

/// A job of a workflow run that stores a report. If there is another writer in the same run, for the same name and
/// commit, it is another job that was not given its own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchWriter {
    /// `GITHUB_RUN_ID`.
    pub(crate) run: String,
    /// `GITHUB_RUN_ATTEMPT`: a job that is run again overwrites its earlier report.
    pub(crate) attempt: String,
}

impl fmt::Display for BranchWriter {
    /// The form that is stored together with the report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.run, self.attempt)
    }
}

/// Another job of the same run has stored its report in the same place.
#[derive(Debug)]
pub(crate) struct Taken;

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two jobs of this run write under one name")
    }
}

/// A report to be stored.
pub(crate) struct BranchEntry<'a> {
    /// The configuration to which the report belongs.
    pub(crate) configuration: &'a str,
    /// The commit to which the report belongs.
    pub(crate) commit: Oid,
    /// The report.
    pub(crate) report: &'a [u8],
    /// How many reports of the configuration are kept, those of the newest commits.
    pub(crate) keep: usize,
    /// The job that writes the report; none outside a workflow.
    pub(crate) writer: Option<&'a BranchWriter>,
}

/// How often a write is repeated if another writer was faster.
const ATTEMPTS: usize = 20;

/// A branch of reports.
pub(crate) struct Branch<'a> {
    remote: &'a Remote<'a>,
    name: &'a str,
    /// Whether the branch exists only in this clone: no push sends it, and no fetch overwrites it.
    local: bool,
}

/// A report on the branch.
#[derive(Debug)]
pub(crate) struct KeptOnBranch {
    /// The configuration to which the report belongs.
    pub(crate) configuration: String,
    /// The commit to which the report belongs.
    pub(crate) commit: Oid,
    /// The blob of the report.
    pub(crate) blob: Oid,
    /// Whether the report exists only in this clone.
    pub(crate) local: bool,
}

impl<'a> Branch<'a> {
    /// The branch of this name.
    pub(crate) const fn new(remote: &'a Remote<'a>, name: &'a str) -> Self {
        Self {
            remote,
            name,
            local: false,
        }
    }

    /// The branch of this name that exists only in this clone.
    pub(crate) const fn local(remote: &'a Remote<'a>, name: &'a str) -> Self {
        Self {
            remote,
            name,
            local: true,
        }
    }

    /// Fetches the branch from the remote. A failure is reported and not fatal: the result of an earlier fetch can
    /// still be read. Fails with git's message if the remote could not be asked or has no such branch.
    pub(crate) fn fetch(&self) -> anyhow::Result<()> {
        if self.local {
            return Ok(());
        }
        let refspec = format!("+refs/heads/{}:{}", self.name, self.reference());
        self.remote.fetch(&[&refspec], Some(1))
    }

    /// Every report of every configuration, in the order of the tree. Fails if the branch exists and cannot be read.
    pub(crate) fn kept(&self) -> anyhow::Result<Vec<KeptOnBranch>> {
        let Some(tree) = self.tree()? else {
            return Ok(Vec::new());
        };
        let mut kept = Vec::new();
        for folder in &tree {
            let (Ok(configuration), Some(ObjectType::Tree)) = (folder.name(), folder.kind()) else {
                continue;
            };
            for entry in &tree::find(self.remote, folder.id())? {
                let commit = entry
                    .name()
                    .ok()
                    .and_then(|name| name.strip_suffix(".json"))
                    .and_then(|name| git::id(name).ok());
                if let Some(commit) = commit {
                    kept.push(KeptOnBranch {
                        configuration: configuration.to_owned(),
                        commit,
                        blob: entry.id(),
                        local: self.local,
                    });
                }
            }
        }
        Ok(kept)
    }

    /// Fetches every report that a partial clone has left out at once, so that reading them one by one needs no
    /// network. Fails with git's message.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        match self.tree()? {
            Some(tree) => tree::complete(self.remote, &tree),
            None => Ok(()),
        }
    }

    /// The bytes of a report on the branch. Fails if the bytes cannot be read, or are too many.
    pub(crate) fn bytes(&self, kept: &KeptOnBranch) -> anyhow::Result<Vec<u8>> {
        tree::blob(self.remote, kept.blob)
    }

    /// Adds a report and pushes it, repeatedly if others write at the same time. The error chain contains [`Taken`] if
    /// another job of the same run was faster; any other error if the report cannot be written or pushed.
    pub(crate) fn save(&self, entry: &BranchEntry<'_>) -> anyhow::Result<()> {
        let blob = self
            .remote
            .repo()
            .blob(entry.report)
            .context("failed to store the report")?;
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            // A missing branch is not an error here. If the remote is unreachable, the push reports the error.
            let _ = self.fetch();
            let seen = self.seen();
            let tip = self.write(entry, blob)?;
            match self.publish(tip, seen) {
                Ok(()) => return Ok(()),
                Err(error) if error.downcast_ref::<BranchMoved>().is_some() => last = Some(error),
                Err(error) => return Err(error),
            }
            // Two writers that collided once would collide again if both waited the same time.
            let spread = 10 * (attempt as u64 + 1) + u64::from(std::process::id() % 97);
            std::thread::sleep(std::time::Duration::from_millis(spread));
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("nothing was tried")))
            .with_context(|| format!("failed to push to `{}` {ATTEMPTS} times", self.name))
    }

    /// Replaces the commit `seen` by a new one.
    fn publish(&self, tip: Oid, seen: Option<Oid>) -> anyhow::Result<()> {
        const WHY: &str = "kelvin: report saved";
        let reference = self.reference();
        if !self.local {
            self.remote.push(tip, self.name, seen)?;
        }
        let from = self.local.then_some(seen);
        match self.remote.repo().point(&reference, tip, from, WHY)? {
            true => Ok(()),
            false => Err(anyhow::Error::msg(BranchMoved)),
        }
    }

    /// Makes one commit without parents that contains the content of the branch, and this report.
    fn write(&self, entry: &BranchEntry<'_>, blob: Oid) -> anyhow::Result<Oid> {
        let (configuration, commit) = (entry.configuration, entry.commit);
        let root = self.tree()?;
        let inner = root
            .as_ref()
            .and_then(|tree| tree.get_name(configuration))
            .filter(|entry| entry.kind() == Some(ObjectType::Tree))
            .map(|entry| tree::find(self.remote, entry.id()))
            .transpose()?;
        let (report, writer) = (format!("{commit}.json"), format!("{commit}.run"));
        if let (Some(inner), Some(by)) = (&inner, entry.writer) {
            self.demand_own(inner, (&report, blob), (&writer, by))?;
        }
        let mut reports = self.remote.repo().treebuilder(inner.as_ref())?;
        let mode = i32::from(FileMode::Blob);
        reports.insert(report, blob, mode)?;
        match entry.writer {
            Some(by) => {
                let by = self.remote.repo().blob(by.to_string().as_bytes())?;
                reports.insert(writer, by, mode)?;
            }
            None if reports.get(&writer)?.is_some() => reports.remove(writer)?,
            None => {}
        }
        for old in self.oldest(inner.as_ref(), commit, entry.keep) {
            let beside = old.replace(".json", ".run");
            reports.remove(old)?;
            if reports.get(&beside)?.is_some() {
                reports.remove(beside)?;
            }
        }
        let mut builder = self.remote.repo().treebuilder(root.as_ref())?;
        builder.insert(configuration, reports.write()?, i32::from(FileMode::Tree))?;
        let tree = self.remote.repo().find_tree(builder.write()?)?;
        let author = self
            .remote
            .repo()
            .signature()
            .or_else(|_| Signature::now("kelvin", "kelvin@users.noreply.github.com"))?;
        let message = format!("Reports, newest of {configuration} at {commit}\n");
        Ok(self
            .remote
            .repo()
            .commit(None, &author, &author, &message, &tree, &[])?)
    }

    /// Fails instead of overwriting the report of another job of the same run. A report that is already there, byte for
    /// byte, came from this job: the answer to its push was lost.
    fn demand_own(
        &self,
        reports: &Tree<'_>,
        (report, blob): (&str, Oid),
        (writer, by): (&str, &BranchWriter),
    ) -> anyhow::Result<()> {
        let (Some(there), Some(known)) = (reports.get_name(report), reports.get_name(writer))
        else {
            return Ok(());
        };
        let known = tree::blob(self.remote, known.id())?;
        if there.id() == blob || known != by.to_string().as_bytes() {
            return Ok(());
        }
        let refused = Misuse::new("another job of this run has kept its report in this place")
            .help(
                "give each job a name of its own with the input `name`, such as `name: \
                 kelvin-${{ matrix.model }}`; with one name, each would be compared with the other",
            );
        Err(anyhow::Error::from(refused).context(Taken))
    }

    /// The names of the reports other than the newest `keep`, by the time of their commits. The report being saved
    /// counts as one of the newest; a commit that is not in this clone counts as oldest.
    fn oldest(&self, reports: Option<&Tree<'_>>, saved: Oid, keep: usize) -> Vec<String> {
        let mut names: Vec<(i64, String)> = reports
            .into_iter()
            .flat_map(|tree| tree.iter())
            .filter_map(|entry| {
                let name = entry.name().ok()?.to_owned();
                let commit = git::id(name.strip_suffix(".json")?).ok()?;
                let found = self.remote.repo().find_commit(commit);
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
        tree::tree_of_commit(self.remote, tip)
            .map(Some)
            .with_context(|| format!("failed to read the branch `{}`", self.name))
    }

    fn seen(&self) -> Option<Oid> {
        match self.remote.repo().refname_to_id(&self.reference()) {
            Ok(tip) => Some(tip),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(_) => None,
        }
    }

    /// Whether the branch exists only in this clone.
    pub(crate) const fn is_local(&self) -> bool {
        self.local
    }

    /// The name of the branch's reference in this clone.
    pub(crate) fn reference(&self) -> String {
        match self.local {
            true => format!("refs/kelvin/{}", self.name),
            false => format!("refs/remotes/{}/{}", self.remote.name(), self.name),
        }
    }
}
