//! The operations of a driver, and how to wait for them.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::address::DatabaseUrl;
use crate::services::state::DatabaseState;
use crate::services::{Query, QueryAnswer, Trouble};
use kelvin_system::signal::Interrupt;

/// How often a wait checks whether the run should stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// One kind of database server. Every request has its own connection, so the settings that a request makes end with it.
pub(super) trait Driver: Sync {
    /// The type of the service.
    fn kind(&self) -> &'static str;

    /// The schemes of its URLs.
    fn schemes(&self) -> &'static [&'static str];

    /// Checks whether an address can be used, without connecting to it.
    fn check(&self, address: &DatabaseUrl) -> Result<(), String>;

    /// Runs a query in a read-only session, in a transaction that is never committed. The session has these settings,
    /// if the server lets a session choose them.
    fn first(
        &self,
        address: &DatabaseUrl,
        query: &Query<'_>,
        settings: &BTreeMap<String, String>,
    ) -> Result<QueryAnswer, Trouble>;

    /// The state at the beginning of a new session, before any check. With `before`, the names are looked up under the
    /// settings with which sessions began before, if a session of this server can choose its settings.
    fn state(
        &self,
        address: &DatabaseUrl,
        before: Option<&DatabaseState>,
        limits: &RequestLimits<'_>,
    ) -> Result<DatabaseState, Trouble>;

    /// Runs several queries with two text columns, and returns the rows of each.
    fn rows(
        &self,
        address: &DatabaseUrl,
        queries: &[&str],
        limits: &RequestLimits<'_>,
    ) -> Result<Vec<BTreeMap<String, String>>, Trouble>;

    /// Whether a session can use other settings than those with which it begins.
    fn restores_settings(&self) -> bool;

    /// The query for the tables that a user has created in the database, by name, each with an empty text.
    fn tables(&self) -> &'static str;

    /// The query for the name of the database and the version of the server, both in one row.
    fn place(&self) -> &'static str;

    /// Whether a request failed because the user lacks a right.
    fn lacks_right(&self, why: &str) -> bool;

    /// Runs a script in a session that has these values, each under its name.
    fn run(
        &self,
        address: &DatabaseUrl,
        values: &[(String, Value)],
        script: &str,
        limits: &RequestLimits<'_>,
    ) -> Result<(), Trouble>;

    /// The statement that removes a database, even if a client is still connected to it.
    fn remove(&self, name: &str) -> String;
}

/// The limits of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestLimits<'a> {
    pub(super) timeout: Duration,
    /// Signals that the run should stop; none for work that must always be done.
    pub(super) interrupt: Option<&'a Arc<Interrupt>>,
}

impl<'a> RequestLimits<'a> {
    /// The limits of a query.
    pub(super) fn of(query: &Query<'a>) -> Self {
        Self {
            timeout: query.timeout,
            interrupt: Some(query.interrupt),
        }
    }

    /// The time limit of the server itself. It is longer than the limit of this program, so that this program reports
    /// the timeout in the same words for all servers.
    pub(super) fn of_the_server(&self) -> Duration {
        self.timeout + Duration::from_secs(1)
    }

    /// Waits until the work is done.
    pub(super) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Failed(format!("no connection can be made: {error}")))?;
        let end = Instant::now() + self.timeout;
        let done = runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                let left = end.saturating_duration_since(Instant::now());
                match tokio::time::timeout(left.min(LOOK_EVERY), &mut work).await {
                    Ok(done) => return done,
                    Err(_) if self.interrupt.is_some_and(|interrupt| interrupt.tripped()) => {
                        return Err(Trouble::Stopped);
                    }
                    Err(_) if left.is_zero() => return Err(Trouble::TimedOut(self.timeout)),
                    Err(_) => {}
                }
            }
        });
        // The program does not wait for a name lookup that is still running.
        runtime.shutdown_background();
        done
    }
}
