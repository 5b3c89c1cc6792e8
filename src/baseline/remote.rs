//! All network access goes through the system's `git`: it has the credentials that a checkout left, every transport and
//! every proxy setting. libgit2 has none of these here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use kelvin_system::git::{Oid, Repository};

use super::failed::Failed;
use super::unknown::Unknown;
use super::{Hint, Login};
use kelvin_system::{confine, git};

/// A remote of a repository.
pub(crate) struct Remote<'a> {
    repo: &'a Repository,
    folder: &'a Path,
    name: String,
    url: Option<String>,
    login: Option<&'a Login>,
    /// Whether a server started this run, so that a remote must exist.
    expected: bool,
    /// The address of the remote before any code of the change ran.
    pinned: Option<&'a str>,
    /// Why the server could not be reached; after such a failure no further request is made.
    lost: RefCell<Option<(Failed, bool)>>,
}

impl<'a> Remote<'a> {
    /// The remote called `origin`, or else the only remote, unless its name looks like an option. If neither exists,
    /// `origin` is used, and the first use reports that it is missing.
    pub(crate) fn of(repo: &'a Repository) -> Self {
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
            [only] if !only.starts_with('-') => only.clone(),
            _ => "origin".to_owned(),
        };
        let found = repo.find_remote(&name).ok();
        let url = found.map(|remote| remote.url().unwrap_or_default().to_owned());
        Self {
            repo,
            folder: repo.workdir().unwrap_or_else(|| repo.path()),
            url,
            name,
            login: None,
            expected: false,
            pinned: None,
            lost: RefCell::new(None),
        }
    }

    /// Adds what is known about this run: a token that git may need, and the event that started the run.
    pub(crate) fn with(mut self, login: Option<&'a Login>, hint: &'a Hint) -> Self {
        self.login = login;
        self.expected = hint.in_workflow;
        self.pinned = hint.remote.as_deref();
        self
    }

    /// The repository that the remote belongs to.
    pub(crate) const fn repo(&self) -> &'a Repository {
        self.repo
    }

    /// The address that git would contact, after all `insteadOf` rules.
    pub(crate) fn address(&self) -> Option<String> {
        let asked = ["ls-remote", "--get-url", &self.name].map(str::to_owned);
        let said = self.once(&asked, b"", None).ok()?.ok()?;
        Some(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// The address of the remote as the repository's settings give it; none if there is no remote.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// The name of the remote.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Fetches commits, branches or refspecs. `depth` limits how many commits of each are fetched into a shallow clone.
    /// The error is the message of git, in one line.
    pub(crate) fn fetch(&self, what: &[&str], depth: Option<usize>) -> anyhow::Result<()> {
        self.demand()?;
        let mut arguments = vec!["fetch".to_owned(), "--no-tags".into(), "--quiet".into()];
        // A complete clone must not become a shallow one.
        if self.repo.is_shallow() {
            arguments.push(depth.map_or("--unshallow".into(), |depth| format!("--depth={depth}")));
        }
        arguments.extend(["--end-of-options".to_owned(), self.name.clone()]);
        arguments.extend(what.iter().map(|what| (*what).to_owned()));
        self.git(&arguments).map(|_| ())
    }

    /// Pushes a commit to a branch if the branch is still at `seen`, where we saw it last. `seen` is none if the branch
    /// does not exist yet. The error has [`BranchMoved`] in its chain if somebody else pushed first; otherwise it is
    /// the message of git.
    pub(crate) fn push(&self, commit: Oid, branch: &str, seen: Option<Oid>) -> anyhow::Result<()> {
        self.demand()?;
        let seen = seen.map(|commit| commit.to_string()).unwrap_or_default();
        let arguments = [
            "push".into(),
            "--quiet".into(),
            format!("--force-with-lease=refs/heads/{branch}:{seen}"),
            self.name.clone(),
            format!("{commit}:refs/heads/{branch}"),
        ];
        let Err((failed, _)) = self.patiently(&arguments, b"")? else {
            return Ok(());
        };
        let text = failed.to_string();
        let error = anyhow!("`git {}` failed: {text}", arguments.join(" "));
        // `stale info` means that the lease failed; `cannot lock ref` and `failed to update ref` come from two pushes
        // at the same time.
        let moved = [
            "stale info",
            "cannot lock ref",
            "failed to update ref",
            "[rejected]",
        ];
        Err(match moved.iter().any(|words| text.contains(words)) {
            true => error.context(BranchMoved),
            false => error,
        })
    }

    /// Makes sure that an object is in this clone; git fetches an object that a partial clone has left out. The error
    /// is the message of git, and for a partial clone also what to do.
    pub(crate) fn want(&self, object: Oid) -> anyhow::Result<()> {
        self.demand()?;
        let asked = self.git(&["cat-file".into(), "-e".into(), object.to_string()]);
        self.left_out(asked)
    }

    /// Makes sure that many objects are in this clone, with one call. The error is the message of git, and for a
    /// partial clone also what to do.
    pub(crate) fn want_all(&self, objects: &BTreeSet<Oid>) -> anyhow::Result<()> {
        if objects.is_empty() {
            return Ok(());
        }
        self.demand()?;
        // These options are the ones that git itself uses to fetch missing objects.
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
        self.left_out(self.run_git(&arguments.map(str::to_owned), list.as_bytes()))
    }

    fn left_out(&self, asked: anyhow::Result<Vec<u8>>) -> anyhow::Result<()> {
        let partial = self
            .repo
            .config()
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

    /// The branch that the HEAD of the remote names. The error is the message of git, or says that the remote has no
    /// HEAD.
    pub(crate) fn default_branch(&self) -> anyhow::Result<String> {
        self.demand()?;
        let asked = ["ls-remote", "--symref", &self.name, "HEAD"].map(str::to_owned);
        let said = String::from_utf8(self.git(&asked)?).unwrap_or_default();
        said.strip_prefix("ref: refs/heads/")
            .and_then(|rest| rest.split('\t').next())
            .map(str::to_owned)
            .with_context(|| format!("the remote `{}` has no HEAD", self.name))
    }

    /// The tags, each with the commit that it names. The error is the message of git.
    pub(super) fn tags(&self) -> anyhow::Result<Vec<(Oid, String)>> {
        self.demand()?;
        let said = self.git(&["ls-remote", "--tags", &self.name].map(str::to_owned))?;
        let said = String::from_utf8_lossy(&said);
        let tags = said.lines().filter_map(|line| {
            let (id, name) = line.split_once('\t')?;
            let name = name.strip_prefix("refs/tags/")?;
            // The second line of an annotated tag, with `^{}`, names its commit.
            let name = name.strip_suffix("^{}").unwrap_or(name);
            Some((git::id(id).ok()?, name.to_owned()))
        });
        Ok(tags.collect())
    }

    fn demand(&self) -> anyhow::Result<()> {
        if self.url.is_some() {
            let Some(pinned) = self.pinned else {
                return Ok(());
            };
            // A program of the change could have set the address of the remote to a repository with forged reports.
            let now = self.address().unwrap_or_default();
            if now == pinned {
                return Ok(());
            }
            return Err(Unknown::Unreachable.mark(anyhow!(
                "the address of the remote `{}` was `{pinned}` when the run began and is `{now}` now",
                self.name
            )));
        }
        let missing = anyhow!(
            "this repository has no remote `{0}`; add it with `git remote add {0} URL`",
            self.name
        );
        Err(match self.expected {
            true => Unknown::Unreachable.mark(missing),
            false => missing,
        })
    }

    fn git(&self, arguments: &[String]) -> anyhow::Result<Vec<u8>> {
        self.run_git(arguments, b"")
    }

    /// Runs git with the given input. An error is marked as [`Unknown`], unless the server has answered.
    fn run_git(&self, arguments: &[String], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        let (failed, used) = match self.patiently(arguments, input)? {
            Ok(output) => return Ok(output),
            Err(failed) => failed,
        };
        let shown = format!("`git {}` failed", arguments.join(" "));
        Err(match failed.is_answer() {
            true => anyhow!("{shown}: {failed}"),
            false => Unknown::Unreachable
                .mark(anyhow!("{failed}{}", failed.help(used)))
                .context(shown),
        })
    }

    /// Runs git. Tries once more after a temporary problem of the server, and with the token of the action if the clone
    /// itself has no access. On failure, the flag says whether the token was used.
    fn patiently(
        &self,
        arguments: &[String],
        input: &[u8],
    ) -> anyhow::Result<Result<Vec<u8>, (Failed, bool)>> {
        if let Some(known) = self.lost.borrow().clone() {
            return Ok(Err(known));
        }
        let mut ended = self.once(arguments, input, None)?;
        if matches!(&ended, Err(failed) if failed.is_passing()) {
            std::thread::sleep(Duration::from_secs(1));
            ended = self.once(arguments, input, None)?;
        }
        let mut used = false;
        if matches!(&ended, Err(failed) if failed.is_denied())
            && let Some((login, url)) = self.login()
        {
            // There must still be no obstacle at the moment when the token is used.
            let lent = confine::alone(|| match self.obstacle() {
                Some(why) => Err(why),
                None => Ok(self.once(arguments, input, Some((login, url)))),
            });
            match lent.unwrap_or_else(|error| {
                Err(format!("processes of the pipeline still run: {error}"))
            }) {
                Ok(with_it) => (used, ended) = (true, with_it?),
                Err(why) => {
                    ended = ended.map_err(|failed| {
                        failed.add(format!("the token of the action was not used, since {why}"))
                    });
                }
            }
        }
        Ok(ended.map_err(|failed| {
            if failed.is_lost() && !failed.is_answer() {
                *self.lost.borrow_mut() = Some((failed.clone(), used));
            }
            (failed, used)
        }))
    }

    /// The token, if it is meant for this remote.
    fn login(&self) -> Option<(&'a Login, &str)> {
        let (login, url) = (self.login?, self.url()?);
        login.serves(url).then_some((login, url))
    }

    /// Why this repository is not trusted with a token; none if it is trusted.
    fn obstacle(&self) -> Option<String> {
        let list = ["config", "--list", "--show-scope", "--name-only"].map(str::to_owned);
        let Ok(Ok(listed)) = self.once(&list, b"", None) else {
            return Some("git could not list the repository's own configuration".to_owned());
        };
        let listed = String::from_utf8_lossy(&listed);
        let own = listed.lines().filter_map(|line| {
            let (scope, name) = line.split_once('\t')?;
            matches!(scope, "local" | "worktree").then_some(name)
        });
        let name = Login::obstacle(own)?;
        Some(format!("the repository's own configuration sets `{name}`"))
    }

    /// Runs git once. The outer error means that git cannot be run.
    fn once(
        &self,
        arguments: &[String],
        input: &[u8],
        login: Option<(&Login, &str)>,
    ) -> anyhow::Result<Result<Vec<u8>, Failed>> {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(self.folder)
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(
                self.repo
                    .trust()
                    .iter()
                    .flat_map(|trust| ["-c", trust.as_str()]),
            )
            .args(arguments)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some((login, url)) = login {
            login.lend(&mut command, url);
        }
        let mut child = git::start(command, self.folder, login.is_some())
            .context("failed to start `git`, which fetches and pushes; install it")
            .map_err(|error| Unknown::Unreachable.mark(error))?;
        if let Some(mut pipe) = child.stdin.take() {
            // If git ends before it has read everything, git itself reports the reason.
            let _ = pipe.write_all(input);
        }
        let output = child
            .wait_with_output()
            .context("failed to wait for `git`")
            .map_err(|error| Unknown::Unreachable.mark(error))?;
        Ok(match output.status.success() {
            true => Ok(output.stdout),
            false => Err(Failed::of(&output.stderr)),
        })
    }
}

/// Somebody else moved a branch after we looked at it.
#[derive(Debug)]
pub(crate) struct BranchMoved;

impl std::fmt::Display for BranchMoved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the branch was moved by another writer")
    }
}

impl std::error::Error for BranchMoved {}
