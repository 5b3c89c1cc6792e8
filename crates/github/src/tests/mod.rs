//! The client against a stateful GitHub on loopback.

mod calls;
mod refusals;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fake::{REPOSITORY, Server};
use super::{Access, Client};

/// A client that does not wait, and what it would have waited.
pub(crate) fn client(server: &Server, token: &str) -> (Client, Arc<Mutex<Vec<Duration>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&waits);
    let access = Access {
        api_url: server.url(),
        repository: REPOSITORY,
        token,
    };
    let client = Client::new(&access)
        .expect("it can be used")
        .pausing(move |wait| kept.lock().expect("no test panics with it").push(wait));
    (client, waits)
}

/// What the page about GitHub claims, the code does.
#[test]
fn the_documented_permissions_and_limits_are_those_of_the_code() {
    use super::error::Surface::{
        Artifact, CheckRun, Comment, PullRequest, Repository, WorkflowRun,
    };
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/action.md"));
    let (_, page) = page
        .split_once("\n## What is asked of GitHub\n")
        .expect("the section");
    for surface in [
        Comment,
        CheckRun,
        PullRequest,
        WorkflowRun,
        Artifact,
        Repository,
    ] {
        let name = surface.to_string();
        let name = name.trim_start_matches("the ");
        let permission = surface.permission().expect("it needs one");
        let documented = page.lines().any(|line| {
            line.starts_with(&format!("| {name} |"))
                && line.ends_with(&format!("| `{permission}` |"))
        });
        assert!(documented, "{name}: {permission}");
    }
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for claim in [
        format!("at most {} requests", super::MOST_REQUESTS),
        format!("at most {} MiB", super::MOST_BYTES / 1024 / 1024),
        format!("up to {} seconds", super::client::LONGEST_WAIT),
    ] {
        assert!(flat.contains(&claim), "{claim}");
    }
}
