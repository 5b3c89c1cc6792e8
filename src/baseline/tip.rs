//! Checks that the checked-out commit is the change that an event is about. If the base were checked out instead, it
//! would be compared with itself and always pass.

use std::path::Path;

use kelvin_system::git::{self, Oid, Repository};

use super::ancestry::{head, parents};
use super::short;
use kelvin_base::exit::Misuse;

/// The commit that an event is about. This commit, or a merge of it, must be checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tip {
    /// The name of the event.
    pub(crate) event: String,
    /// The commit; none if the payload does not name it.
    pub(crate) commit: Option<String>,
    /// The tip of the branch that the change is merged into, if the payload names it.
    pub(crate) base: Option<String>,
}

/// The commit that is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedOut {
    /// The commit.
    pub(crate) commit: Oid,
    parents: Vec<Oid>,
}

impl CheckedOut {
    /// Reads HEAD of the repository that a folder belongs to. libgit2 finds no parents in a shallow clone, but the
    /// commit object itself names them. Fails if there is no repository, or no commit in it.
    pub(crate) fn of(root: &Path) -> anyhow::Result<Self> {
        let repo = super::open(root)?;
        let commit = head(&repo)?;
        Self::read(&repo, commit)
    }

    fn read(repo: &Repository, commit: Oid) -> anyhow::Result<Self> {
        Ok(Self {
            commit,
            parents: parents(repo, commit)?,
        })
    }

    /// Whether the checked-out commit is this commit or has it as a parent.
    pub(crate) fn has(&self, tip: &str) -> bool {
        let mut commits = self.parents.iter().chain([&self.commit]);
        commits.any(|commit| commit.to_string() == tip)
    }
}

impl Tip {
    /// Fails unless HEAD of the repository of a folder is the tip or a merge of the tip. Fails with a [`Misuse`] that
    /// says which commit is checked out, and what to write into the workflow.
    pub(crate) fn demand(&self, root: &Path) -> Result<CheckedOut, Misuse> {
        let tip = self.known()?;
        let found = CheckedOut::of(root).map_err(|error| {
            Misuse::new(format!(
                "it is not known which commit is checked out; it may be another one than \
                 `{}` is about ({}): {error:#}",
                self.event,
                abbreviated(tip)
            ))
            .help(
                "check the change out with `actions/checkout`, in a job or a container that has \
                 `git`, and run Kelvin in that folder",
            )
        })?;
        if found.has(tip) {
            return Ok(found);
        }
        Err(self.wrong(tip, &format!("HEAD is {}", self.described(&found))))
    }

    /// Like [`Self::demand`], but for the commit that a finished report names. HEAD, which was checked before, is
    /// accepted too. Fails like [`Self::demand`].
    pub(crate) fn demand_of_report(&self, root: &Path, commit: Option<&str>) -> Result<(), Misuse> {
        let tip = self.known()?;
        let head = self.demand(root)?.commit.to_string();
        let Some(commit) = commit else {
            return Err(self.wrong(tip, "the report does not say which commit it is of"));
        };
        if commit == tip || commit == head {
            return Ok(());
        }
        let found = git::id(commit).ok().and_then(|commit| {
            let repo = super::open(root).ok()?;
            CheckedOut::read(&repo, commit).ok()
        });
        match found {
            Some(found) if found.has(tip) => Ok(()),
            Some(found) => {
                Err(self.wrong(tip, &format!("the report is of {}", self.described(&found))))
            }
            None => Err(self.wrong(
                tip,
                &format!(
                    "the report is of {}, which is not the commit that this job has checked out",
                    abbreviated(commit)
                ),
            )),
        }
    }

    fn known(&self) -> Result<&str, Misuse> {
        self.commit.as_deref().ok_or_else(|| {
            Misuse::new(format!(
                "the payload of `{}` does not name the commit that the event is about",
                self.event
            ))
            .help("`GITHUB_EVENT_PATH` has to name the payload of the event in `GITHUB_EVENT_NAME`")
        })
    }

    /// Describes a commit, with everything that the reader needs to know about it.
    fn described(&self, found: &CheckedOut) -> String {
        let commit = short(found.commit);
        if self.base.as_deref() == Some(found.commit.to_string().as_str()) {
            return format!("{commit}, the tip of the branch that the change goes into");
        }
        match &*found.parents {
            [one, other] => format!(
                "{commit}, a merge of {} and {}; if `refs/pull/…/merge` was checked out, a newer \
                 push has moved it, and the run of that push measures it",
                short(*one),
                short(*other)
            ),
            _ => commit,
        }
    }

    fn wrong(&self, tip: &str, found: &str) -> Misuse {
        let event = &self.event;
        let tip = abbreviated(tip);
        Misuse::new(format!(
            "what is checked out is not the change: `{event}` is about the commit {tip}, and {found}"
        ))
        .help(self.cure())
    }

    /// What to write into the workflow.
    fn cure(&self) -> &'static str {
        match &*self.event {
            "pull_request_target" => {
                "`pull_request_target` checks out the base unless it is told otherwise. Write `ref: \
                 ${{ github.event.pull_request.head.sha }}` under `with:` of `actions/checkout`. \
                 Mind that the code of the pull request then runs beside the secrets and the token \
                 of this repository: do that only where everybody whose pull request is run may \
                 have them. `on: pull_request`, with `post/` on `workflow_run` for forks, needs no \
                 such trust"
            }
            "merge_group" => {
                "leave out `ref` of `actions/checkout`: it takes the commit of the merge group"
            }
            _ => {
                "leave out `ref` of `actions/checkout`, or write `ref: ${{ \
                 github.event.pull_request.head.sha }}` under its `with:`"
            }
        }
    }
}

/// The first digits of a text that should be a commit id; the text comes from a payload or a report.
fn abbreviated(commit: &str) -> String {
    let kept = commit.chars().filter(char::is_ascii_alphanumeric);
    kept.take(7).collect()
}
