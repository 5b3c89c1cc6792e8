//! GitHub's API: one client for comments, check runs, pull requests, workflow runs and artifacts.
//!
//! Everything that talks to it is best effort for its caller: a refusal says which permission or
//! mode would help, and never becomes a verdict.

mod approvals;
mod archive;
mod artifacts;
mod checks;
mod client;
mod comments;
mod error;
mod pulls;
mod upload;
mod wire;

pub(crate) use archive::{Archive, MOST_BYTES, TooLong};
pub(crate) use artifacts::{Artifact, Run};
pub(crate) use checks::{CheckRun, Remark};
pub(crate) use client::{Access, Client, MOST_REQUESTS};
pub(crate) use comments::Comment;
pub(crate) use error::Error;
pub(crate) use pulls::{Account, PullRequest};
pub(crate) use upload::{ARTIFACTS, REPORT_FILE, artifact_name, artifact_upload};

/// A GitHub on loopback, which the tests of other modules use too.
#[cfg(test)]
#[path = "../../tests/it/github/mod.rs"]
pub(crate) mod fake;

#[cfg(test)]
pub(crate) mod tests;
