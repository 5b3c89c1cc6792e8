//! The source of the base's report, and the sources that had none.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a baseline comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A committed report, in the tree of the base commit.
    Tree,
    /// The branch of reports.
    Branch,
    /// The artifact of a workflow run on the base branch.
    Artifact,
    /// Measured now, on the code of the base commit.
    Compute,
    /// A file that the user named.
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

/// A source that gave no baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// Which one.
    pub source: Source,
    /// Why not.
    pub why: String,
    /// Why the source could not be asked or read, so that it may still have a baseline; missing if the source was
    /// asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Where a baseline comes from, with every detail that a reader may doubt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The source that gave the baseline.
    pub source: Source,
    /// The path, the branch or the file in which the baseline was found.
    pub place: String,
    /// The commit that the report measured; null for a file.
    pub commit: Option<String>,
    /// The artifact, if the baseline comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<KeptArtifact>,
    /// Why this commit serves as the base; null for a file.
    pub why: Option<String>,
    /// How many commits the measured commit is behind the base; 0 if it is the base itself.
    pub behind: usize,
    /// How many days before the commit of the base the report was measured; null if this is not known.
    pub days: Option<u64>,
    /// The sources that were tried before.
    pub tried: Vec<Tried>,
    /// Why it is not known whether the report belongs to its commit; missing if this was checked, or if there was
    /// nothing to check it against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
}

/// An artifact of a workflow run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptArtifact {
    /// Its name.
    pub name: String,
    /// The run.
    pub run: u64,
}

impl fmt::Display for KeptArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of run {}", self.name, self.run)
    }
}

impl fmt::Display for Provenance {
    /// The provenance in one line: "base 3f2a1c0, from branch kelvin-reports, 2 commits behind, 4 days old".
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
