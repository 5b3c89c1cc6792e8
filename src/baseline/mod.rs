//! The baseline: the report of the commit with which a change is compared, or why there is no such report.
//!
//! A baseline is never read from a place to which the change itself can write: a report in the repository is read from
//! the base commit, never from the work tree.

mod ancestry;
mod anchor;
mod artifact;
mod branch;
mod checkout;
mod commit;
pub(crate) mod environments;
mod failed;
pub(crate) mod file;
mod find;
mod hint;
mod login;
mod main_line;
mod others;
mod packages;
mod releases;
mod remote;
mod rename;
mod revision;
mod search;
mod tip;
mod touched;
mod tree;
mod unknown;
mod visit;
mod withheld;

pub(crate) use ancestry::{Lineage, checked_out, lineage, short};
pub(crate) use anchor::{Anchored, anchor};
pub(crate) use artifact::Artifacts;
pub(crate) use branch::{Branch, BranchEntry, BranchWriter, Taken};
pub(crate) use checkout::{
    CheckoutForm, CommitFiles, checkout, demand_untouched, edited, first_not_kept, furnished,
};
pub(crate) use commit::{base, branch_of_clone};
pub(crate) use find::find;
pub(crate) use hint::{BaselinePull, Hint, hint_of_event};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use crate::sentence::in_a_sentence;
use kelvin_gate::provenance::{Provenance, Source, Tried};
use kelvin_gate::report::Report;
use kelvin_system::git::{AcceptedOwners, Closed, Repository};
pub(crate) use login::Login;
pub(crate) use main_line::{MainLine, main_line};
pub(crate) use others::{Others, others};
pub(crate) use packages::edited_lists;
pub(crate) use releases::{Releases, releases};
pub(crate) use remote::Remote;
pub(crate) use revision::{address, base_files, branch, of_commit, resolve};
pub(crate) use search::{Claims, Search};
pub(crate) use tip::CheckedOut;
pub(crate) use touched::{HeadFiles, Touched, TouchedBy, TouchedKind, head_files, touched};
pub(crate) use unknown::Unknown;
pub(crate) use visit::{Visited, is_base, visit, visit_commit};
pub(crate) use withheld::Withheld;

/// The baseline that was found, or why there is none.
#[derive(Debug)]
pub(crate) enum Baseline {
    /// A report, and its source.
    Found(Box<Report>, Provenance),
    /// No usable report: every source was tried, and has given the reason.
    None(Vec<Tried>),
    /// No usable report, and a source that may have one could not be asked or read.
    Unreachable(Vec<Tried>),
    /// The configuration turns the baseline off.
    Off,
}

impl Baseline {
    /// A source and the error with which it ended.
    fn tried(source: Source, error: &anyhow::Error) -> Tried {
        Tried {
            source,
            why: in_a_sentence(error),
            unknown: Unknown::is_in(error).then(|| error.root_cause().to_string()),
        }
    }

    /// The result if no source had a usable report.
    fn absent(tried: Vec<Tried>) -> Self {
        match tried.iter().any(|tried| tried.unknown.is_some()) {
            true => Self::Unreachable(tried),
            false => Self::None(tried),
        }
    }
}

/// Lists every source that was tried, and why it had no report.
pub(crate) fn sources_tried(tried: &[Tried]) -> String {
    let tried: Vec<String> = tried
        .iter()
        .map(|tried| format!("{}: {}", tried.source, tried.why))
        .collect();
    tried.join("; ")
}

/// The source of a report, without the data that only a search among several commits knows.
pub(crate) fn provenance(source: Source, place: String, commit: Option<String>) -> Provenance {
    Provenance {
        source,
        place,
        commit,
        artifact: None,
        why: None,
        behind: 0,
        days: None,
        tried: Vec::new(),
        unchecked: None,
    }
}

/// Opens the repository around a folder. Fails with advice if there is no repository or if it belongs to another user.
pub(crate) fn open(root: &Path) -> anyhow::Result<Repository> {
    let mut opened = Repository::around(root, AcceptedOwners::Checked);
    if let Err(Closed::Foreign(top)) = &opened
        && is_given(top)
    {
        opened = Repository::around(root, AcceptedOwners::Anybody);
    }
    match opened {
        Ok(repo) => Ok(repo),
        Err(Closed::Absent) => bail!(Closed::Absent),
        // This repository may have a baseline, so it must not count as a project without one.
        Err(closed) => Err(Unknown::Unreachable.mark(anyhow!(closed))),
    }
}

/// Whether a repository is in the workspace that GitHub gave the job. A container finds its checkout owned by another
/// user. Trusting that checkout adds no risk: the job runs the pipeline in it anyway, and the pipeline could do
/// everything that the check of the owner prevents.
fn is_given(top: &Path) -> bool {
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    let given = workspace.and_then(|workspace| workspace.canonicalize().ok());
    given.is_some_and(|workspace| top.starts_with(workspace))
}
