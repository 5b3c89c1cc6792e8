//! The baseline: the report of the commit that a change is compared with, or why there is none.
//!
//! Nothing is read from what the change itself can write: a report in the tree is taken from the
//! tree of the base commit, never from the work tree.

mod align;
mod ancestry;
mod anchor;
mod artifact;
mod branch;
mod bytes;
mod checkout;
mod claims;
mod commit;
pub(crate) mod compare;
pub(crate) mod differences;
mod edited;
pub(crate) mod event;
mod failed;
pub(crate) mod file;
mod find;
pub(crate) mod fingerprints;
mod hint;
mod kept_here;
mod login;
mod main_line;
mod open;
mod others;
mod peer;
mod releases;
mod remote;
mod rename;
mod revision;
mod search;
mod tip;
mod tree;
mod unknown;
mod view;
mod visit;
mod withheld;

pub(crate) use align::{AlignedReports, align, align_by};
pub(crate) use ancestry::{Lineage, checked_out, lineage, short};
pub(crate) use anchor::{Anchored, anchor};
pub(crate) use artifact::Artifacts;
pub(crate) use branch::{Branch, Entry, Taken, Writer};
pub(crate) use checkout::{Form, checkout};
pub(crate) use claims::Claims;
pub(crate) use commit::{base, branch_of_clone};
pub(crate) use edited::{demand_untouched, edited, furnished};
pub(crate) use find::find;
pub(crate) use git2::Oid;
pub(crate) use hint::{Hint, PullRequest};
pub(crate) use kept_here::first_not_kept;
pub(crate) use login::Login;
pub(crate) use main_line::{MainLine, main_line};
pub(crate) use open::open;
pub(crate) use others::{Others, others};
pub(crate) use releases::{Releases, releases};
pub(crate) use remote::Remote;
pub(crate) use revision::{address, base_files, branch, of_commit, resolve};
pub(crate) use search::Search;
pub(crate) use tip::{CheckedOut, Tip};
pub(crate) use unknown::Unknown;
pub(crate) use visit::{Visited, is_base, visit};
pub(crate) use withheld::Withheld;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use crate::git::Repository;
use crate::report::Report;

/// What there is to compare with.
#[derive(Debug)]
pub(crate) enum Baseline {
    /// A report, and where it is from.
    Found(Box<Report>, Provenance),
    /// No usable report: every source was asked, and says why it has none.
    None(Vec<Tried>),
    /// No usable report, and a source that may have one could not be asked or read.
    Unreachable(Vec<Tried>),
    /// The configuration asks for none.
    Off,
}

/// Where a baseline comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A committed report, in the tree of the base commit.
    Tree,
    /// The branch of reports.
    Branch,
    /// The artifact of a workflow run on the base branch.
    Artifact,
    /// Measured now, on the code of the base commit.
    Compute,
    /// A file that was named.
    File,
    /// A run of the local history.
    History,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tree => "tree",
            Self::Branch => "branch",
            Self::Artifact => "artifact",
            Self::Compute => "compute",
            Self::File => "file",
            Self::History => "history",
        })
    }
}

/// A source that did not serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tried {
    /// Which one.
    pub(crate) source: Source,
    /// Why not.
    pub(crate) why: String,
    /// What kept the source from being asked or read, so that it may have a baseline all the same;
    /// null where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<String>,
}

impl Tried {
    /// A source and the error that it ended with.
    fn of(source: Source, error: &anyhow::Error) -> Self {
        Self {
            source,
            why: format!("{error:#}"),
            unknown: Unknown::is_in(error).then(|| error.root_cause().to_string()),
        }
    }
}

impl Baseline {
    /// What there is where no source served.
    fn absent(tried: Vec<Tried>) -> Self {
        match tried.iter().any(|tried| tried.unknown.is_some()) {
            true => Self::Unreachable(tried),
            false => Self::None(tried),
        }
    }
}

/// Where a baseline is from, in every detail that a reader may doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Provenance {
    /// The source that served.
    pub(crate) source: Source,
    /// Where exactly: a path, a branch, a file.
    pub(crate) place: String,
    /// The commit whose report it is; none for a file.
    pub(crate) commit: Option<String>,
    /// The artifact, where it is from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact: Option<KeptArtifact>,
    /// Why that commit is the base; of a file, what could not be read of it.
    pub(crate) why: Option<String>,
    /// How many commits it is behind the base; 0 is the base itself.
    pub(crate) behind: usize,
    /// How many days before the base's own time it was measured; none where it is not known.
    pub(crate) days: Option<u64>,
    /// The sources that were tried before.
    pub(crate) tried: Vec<Tried>,
    /// Why nobody knows whether the report is that of its commit; missing where it was held against it,
    /// and where there was nothing to hold it against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unchecked: Option<String>,
}

/// An artifact of a workflow run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct KeptArtifact {
    /// Its name.
    pub(crate) name: String,
    /// The run.
    pub(crate) run: u64,
}

impl fmt::Display for KeptArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of run {}", self.name, self.run)
    }
}

impl fmt::Display for Provenance {
    /// One line: "base 3f2a1c0, from branch kelvin-reports, 2 commits behind, 4 days old".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.commit {
            Some(commit) => write!(f, "base {}", &commit[..commit.len().min(7)])?,
            None => f.write_str("base")?,
        }
        write!(f, ", from {} {}", self.source, self.place)?;
        match self.behind {
            0 => {}
            1 => f.write_str(", 1 commit behind")?,
            more => write!(f, ", {more} commits behind")?,
        }
        match self.days {
            None | Some(0) => Ok(()),
            Some(1) => f.write_str(", 1 day old"),
            Some(days) => write!(f, ", {days} days old"),
        }
    }
}
