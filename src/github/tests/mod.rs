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
