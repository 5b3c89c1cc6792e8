//! What crosses the network goes through the system's `git`: it has the credentials that a checkout
//! left, every transport and every proxy setting, and libgit2 has none of them here.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use git2::Oid;

/// What a hook of git sets, and what would make git work on another repository than the one at hand.
const OF_ANOTHER: [&str; 10] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// A remote of a repository.
pub(crate) struct Remote<'a> {
    folder: &'a Path,
    name: String,
    exists: bool,
}

impl<'a> Remote<'a> {
    /// The remote called `origin`, or the only one there is, or `origin` all the same: using it then
    /// says that it is missing.
    pub(crate) fn of(repo: &'a git2::Repository) -> Self {
        let names: Vec<String> = repo
            .remotes()
            .map(|names| {
                names
                    .iter()
                    .filter_map(|name| name.ok().flatten().map(str::to_owned))
                    .collect()
            })
            .unwrap_or_default();
        let name = match names.as_slice() {
            [only] => only.clone(),
            _ => "origin".to_owned(),
        };
        Self {
            folder: repo.workdir().unwrap_or_else(|| repo.path()),
            exists: names.contains(&name),
            name,
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Fetches commits, branches or refspecs; in a shallow clone, with a depth no more than that of
    /// each.
    ///
    /// # Errors
    ///
    /// What git said, in one line.
    pub(crate) fn fetch(&self, what: &[&str], depth: Option<usize>) -> anyhow::Result<()> {
        self.demand()?;
        let mut arguments = vec!["fetch".to_owned(), "--no-tags".into(), "--quiet".into()];
        // A whole clone stays whole.
        if self.is_shallow() {
            arguments.push(depth.map_or("--unshallow".into(), |depth| format!("--depth={depth}")));
        }
        arguments.push(self.name.clone());
        arguments.extend(what.iter().map(|what| (*what).to_owned()));
        self.git(&arguments).map(|_| ())
    }

    /// Pushes a commit to a branch that still is where we saw it (none: that does not exist yet).
    ///
    /// # Errors
    ///
    /// [`Moved`] in the chain where somebody else was there first; else what git said.
    pub(crate) fn push(&self, commit: Oid, branch: &str, seen: Option<Oid>) -> anyhow::Result<()> {
        self.demand()?;
        let seen = seen.map(|commit| commit.to_string()).unwrap_or_default();
        let pushed = self.git(&[
            "push".into(),
            "--quiet".into(),
            format!("--force-with-lease=refs/heads/{branch}:{seen}"),
            self.name.clone(),
            format!("{commit}:refs/heads/{branch}"),
        ]);
        pushed.map(|_| ()).map_err(|error| {
            let text = format!("{error:#}");
            // `stale info`: the lease; `cannot lock ref`, `failed to update ref`: two at once.
            let moved = [
                "stale info",
                "cannot lock ref",
                "failed to update ref",
                "[rejected]",
            ];
            if moved.iter().any(|words| text.contains(words)) {
                error.context(Moved)
            } else {
                error
            }
        })
    }

    /// Makes sure that an object is here; git fetches what a partial clone has left out.
    ///
    /// # Errors
    ///
    /// What git said, and what to do in a partial clone.
    pub(crate) fn want(&self, object: Oid) -> anyhow::Result<()> {
        let asked = self.git(&["cat-file".into(), "-e".into(), object.to_string()]);
        self.left_out(asked)
    }

    /// The same for many, at one go.
    ///
    /// # Errors
    ///
    /// What git said, and what to do in a partial clone.
    pub(crate) fn want_all(&self, objects: &BTreeSet<Oid>) -> anyhow::Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        self.demand()?;
        // As git itself fetches what it finds missing.
        let arguments = [
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--filter=blob:none",
            "--stdin",
            &self.name,
        ];
        let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
        self.left_out(self.told(&arguments.map(str::to_owned), list.as_bytes()))
    }

    fn left_out(&self, asked: anyhow::Result<Vec<u8>>) -> anyhow::Result<()> {
        let partial = git2::Repository::open(self.folder)
            .and_then(|repo| repo.config())
            .and_then(|config| config.get_bool(&format!("remote.{}.promisor", self.name)))
            .unwrap_or(false);
        asked.map(|_| ()).map_err(|error| match partial {
            true => error.context(format!(
                "this is a partial clone, and what it has left out could not be fetched; \
                 `git fetch --refetch --no-filter {}` completes it",
                self.name
            )),
            false => error,
        })
    }

    /// The branch that the remote's HEAD names; none where it cannot be asked.
    pub(crate) fn default_branch(&self) -> Option<String> {
        self.demand().ok()?;
        let asked = ["ls-remote", "--symref", &self.name, "HEAD"].map(str::to_owned);
        let said = String::from_utf8(self.git(&asked).ok()?).ok()?;
        let branch = said.strip_prefix("ref: refs/heads/")?.split('\t').next()?;
        Some(branch.to_owned())
    }

    fn demand(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.exists,
            "this repository has no remote `{0}`; add it with `git remote add {0} URL`",
            self.name
        );
        Ok(())
    }

    fn is_shallow(&self) -> bool {
        git2::Repository::open(self.folder).is_ok_and(|repo| repo.is_shallow())
    }

    /// The setting by which git, too, takes a repository of another user that was opened on purpose.
    fn trust(&self) -> Option<String> {
        let error = git2::Repository::open(self.folder).err()?;
        let folder = self.folder.canonicalize().ok()?;
        (error.code() == git2::ErrorCode::Owner)
            .then(|| format!("safe.directory={}", folder.display()))
    }

    fn git(&self, arguments: &[String]) -> anyhow::Result<Vec<u8>> {
        self.told(arguments, b"")
    }

    /// Runs git with something to read.
    fn told(&self, arguments: &[String], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(self.folder)
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(self.trust().iter().flat_map(|trust| ["-c", trust.as_str()]))
            .args(arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            // A dead connection ends after half a minute instead of never.
            .env("GIT_HTTP_LOW_SPEED_LIMIT", "1")
            .env("GIT_HTTP_LOW_SPEED_TIME", "30")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in OF_ANOTHER {
            command.env_remove(name);
        }
        let mut child = command
            .spawn()
            .context("failed to start `git`, which fetches and pushes; install it")?;
        if let Some(mut pipe) = child.stdin.take() {
            // A git that ends before it has read everything says why by itself.
            let _ = pipe.write_all(input);
        }
        let output = child
            .wait_with_output()
            .context("failed to wait for `git`")?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
            .collect();
        bail!("`git {}` failed: {}", arguments.join(" "), said.join("; "))
    }
}

/// Somebody else moved a branch between our look at it and our push.
#[derive(Debug)]
pub(crate) struct Moved;

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the branch was moved by another writer")
    }
}

impl std::error::Error for Moved {}
