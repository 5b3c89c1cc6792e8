//! Waits until a server is ready.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use super::address::DatabaseUrl;
use super::driver::Driver;
use crate::keys::ReadyKeys;
use crate::services::{Query, ServiceSite, Trouble};
use kelvin_run::targets::{SideCommand, SideEnd, SideProgram};

/// How long to wait between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// The condition for a ready server.
#[derive(Debug)]
pub(super) enum Ready {
    Command(String),
    Port(u16),
    Query(String),
}

impl Ready {
    /// Reads the keys, of which exactly one has to be set.
    pub(super) fn of(keys: &ReadyKeys) -> Result<Self, String> {
        match (&keys.command, keys.port, &keys.query) {
            (Some(command), None, None) => Ok(Self::Command(command.clone())),
            (None, Some(port), None) => Ok(Self::Port(port)),
            (None, None, Some(query)) => Ok(Self::Query(query.clone())),
            _ => Err(
                "`ready` has one of `command`, `port` and `query`, e.g. `ready: {query: SELECT 1}`"
                    .to_owned(),
            ),
        }
    }

    /// Waits until the server is ready, but no longer than `timeout`.
    pub(super) fn wait(
        &self,
        driver: &dyn Driver,
        address: &DatabaseUrl,
        timeout: Duration,
        site: &ServiceSite<'_>,
    ) -> Result<(), Trouble> {
        let end = Instant::now() + timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let why = match self.attempt(driver, address, left, site) {
                Ok(()) => return Ok(()),
                Err(Trouble::Stopped) => return Err(Trouble::Stopped),
                Err(Trouble::Failed(why) | Trouble::Unreached(why)) => why,
                Err(Trouble::TimedOut(_)) => "it did not answer".to_owned(),
            };
            if Instant::now() + PAUSE >= end {
                let timeout = timeout.as_secs_f64();
                let what = match self {
                    Self::Command(command) => format!("the command `{command}`"),
                    Self::Port(port) => format!("port {port}"),
                    Self::Query(query) => format!("the query `{query}`"),
                };
                return Err(Trouble::Failed(format!(
                    "it was not ready within {timeout} s; waited for {what}: {why}"
                )));
            }
            if !site.interrupt.sleep(PAUSE) {
                return Err(Trouble::Stopped);
            }
        }
    }

    fn attempt(
        &self,
        driver: &dyn Driver,
        address: &DatabaseUrl,
        left: Duration,
        site: &ServiceSite<'_>,
    ) -> Result<(), Trouble> {
        match self {
            Self::Command(command) => {
                let end = SideCommand {
                    program: SideProgram::Script(command),
                    folder: site.root,
                    variables: &[],
                    input: None,
                    timeout: left,
                    most_output: 0,
                }
                .run(site.interrupt);
                match end {
                    SideEnd::Exited { code: 0, .. } => Ok(()),
                    SideEnd::Exited { code, streams, .. } => Err(Trouble::Failed(format!(
                        "it ended with exit code {code}; stderr: {}",
                        streams.stderr.trim()
                    ))),
                    SideEnd::Failed(what, _) => Err(Trouble::Failed(what)),
                    SideEnd::Interrupted => Err(Trouble::Stopped),
                }
            }
            Self::Port(port) => {
                let host = address.host().unwrap_or_else(|| "localhost".to_owned());
                listens(&host, *port, left).map_err(|error| Trouble::Failed(error.to_string()))
            }
            Self::Query(query) => {
                let query = Query {
                    values: &[],
                    between: &[],
                    text: query,
                    timeout: left,
                    interrupt: site.interrupt,
                };
                driver.first(address, &query, &BTreeMap::new()).map(|_| ())
            }
        }
    }
}

/// Whether a port of a host accepts connections.
fn listens(host: &str, port: u16, left: Duration) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the host has no address");
    for address in (host, port).to_socket_addrs()? {
        // A timeout of zero would be a different error.
        match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
