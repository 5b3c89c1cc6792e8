//! A stateful GitHub on loopback, for tests of the library and of the binary.
//!
//! It keeps comments, check runs, pull requests, workflow runs, artifacts and permissions. Every
//! request and every answer is held against GitHub's own OpenAPI description
//! (`tests/fixtures/github-openapi.json`); what breaks it fails the test that made it.
//! It is a fake: what GitHub does beyond its description is written by hand.

#![allow(
    dead_code,
    unused_imports,
    reason = "two test binaries share it, and neither uses all of it"
)]

pub(crate) mod archive;
mod contract;
pub(crate) mod results;
mod routes;
mod state;
mod wire;

use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};

use contract::Contract;
pub(crate) use state::{Actor, Artifact, Comment, Fault, LabelEvent, Pull, Run, State};
pub(crate) use wire::{Request, Response, serve};

/// The token that acts as the bot of the workflow.
pub(crate) const TOKEN: &str = "ghs_the_token_of_the_job";
/// The token of a person.
pub(crate) const PERSON: &str = "ghp_the_token_of_a_person";
/// The token of an app that is not GitHub's own.
pub(crate) const APP: &str = "ghs_the_token_of_an_app";
/// The repository of the server.
pub(crate) const REPOSITORY: &str = "acme/widgets";
/// Its number.
pub(crate) const REPOSITORY_ID: u64 = 1001;
/// The pull request that is there from the start.
pub(crate) const PULL: u64 = 7;
/// Its head.
pub(crate) const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// The server; it ends with the test, and fails it where GitHub's description was broken.
pub(crate) struct Server {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// Starts a server at `http://127.0.0.1:PORT`.
    pub(crate) fn start() -> Self {
        Self::below("")
    }

    /// Starts one whose API has a prefix, as GitHub Enterprise Server has `/api/v3`.
    pub(crate) fn below(prefix: &'static str) -> Self {
        let contract = Contract::shared();
        let api = TcpListener::bind("127.0.0.1:0").expect("a port");
        let storage = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}{prefix}", api.local_addr().expect("an address"));
        let store = format!("http://{}", storage.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::new(store)));
        let shared = Arc::clone(&state);
        wire::serve(api, move |request| {
            routes::answer(&contract, &shared, prefix, request)
        });
        let shared = Arc::clone(&state);
        wire::serve(storage, move |request| routes::stored(&shared, request));
        Self { url, state }
    }

    /// `GITHUB_API_URL`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What the server knows, to read and to change.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no request panics")
    }

    /// What broke the description so far; forgotten by the call.
    pub(crate) fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let violations = self.violations();
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "{}", violations.join("\n"));
        }
    }
}
