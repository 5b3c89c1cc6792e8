//! GitHub's API: one client for comments, check runs, pull requests, workflow runs and artifacts.
//!
//! Everything that talks to it is best effort for its caller: a refusal says which permission or
//! mode would help, and never becomes a verdict.
