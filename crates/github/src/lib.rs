//! GitHub's API: one client for comments, check runs, pull requests, workflow runs and artifacts.
//!
//! Requests to the API never decide a verdict: if GitHub rejects one, a message names the permission or mode that would
//! help.

mod approvals;
mod archive;
mod artifacts;
mod checks;
mod client;
mod comments;
mod error;
pub mod publish;
mod pulls;
mod upload;
mod wire;

pub use archive::{Archive, MOST_BYTES, TooLong};
pub use artifacts::{Artifact, WorkflowRun};
pub use checks::{CheckRun, Remark};
pub use client::{Access, Client, MOST_REQUESTS};
pub use comments::Comment;
pub use error::Error;
pub use pulls::{Account, PullRequest};
pub use upload::{ARTIFACTS, REPORT_FILE, artifact_name, artifact_upload};

/// A fake GitHub on the loopback interface.
#[cfg(test)]
#[path = "../../../tests/it/github/mod.rs"]
pub mod fake;

#[cfg(test)]
mod tests;
