//! The inputs of the second half of a run.

use std::sync::Arc;

use crate::baseline::Login;
use crate::registry::Registry;
use kelvin_github::Client;
use kelvin_github::publish::event::Variables;

/// The inputs of the second half of a run.
#[derive(Clone)]
pub(crate) struct PostRequest<'a> {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The client.
    pub(crate) client: &'a Arc<Client>,
    /// The run whose bundle is published.
    pub(crate) run: u64,
    /// The name of the configuration among several; unless given, that of the file on the base branch.
    pub(crate) configuration: Option<String>,
    /// A key that distinguishes the comment from others; made of workflow and configuration unless given.
    pub(crate) comment_key: Option<String>,
    /// The server whose pages people read, e.g. `https://github.com`.
    pub(crate) server_url: String,
    /// Looks up a variable of the runner; empty is unset.
    pub(crate) variables: &'a Variables<'a>,
    /// The configuration, as the repository names it: its rules on the base branch count.
    pub(crate) config: String,
    /// The token, for git and for this repository alone.
    pub(crate) login: Option<Login>,
}
