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
pub mod publish;
mod pulls;
mod upload;
mod wire;

pub use archive::{Archive, MOST_BYTES, TooLong};
pub use artifacts::{Artifact, Run};
pub use checks::{CheckRun, Remark};
pub use client::{Access, Client, MOST_REQUESTS};
pub use comments::Comment;
pub use error::Error;
pub use pulls::{Account, PullRequest};
pub use upload::{ARTIFACTS, REPORT_FILE, artifact_name, artifact_upload};

/// A GitHub on loopback.
#[cfg(test)]
#[path = "../../../tests/it/github/mod.rs"]
pub mod fake;

#[cfg(test)]
mod tests;
