//! A database server that runs already. Every scenario gets a database of its own, which is dropped after
//! it; or scenarios share one, one after the other.

mod address;
mod driver;
mod mysql;
mod postgres;
mod ready;
mod tls;

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::{Answer, Query, Running, Service, ServiceSite, Trouble};
use crate::probe::checks::keys::{Isolation, ServerKeys, limit};
use address::Address;
use driver::{Driver, Limits};
use ready::Ready;

/// So long the removal of a database may take; the run may be over by then.
const REMOVAL: Duration = Duration::from_secs(20);

/// A declared database of a server.
struct Server {
    driver: &'static dyn Driver,
    address: Address,
    isolation: Isolation,
    init: Option<String>,
    ready: Option<Ready>,
    timeout: Duration,
    /// Whether the server has become ready. A server that has not is not waited for again.
    waited: Mutex<Option<Result<(), Trouble>>>,
}

/// Without the address, which may hold a password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("kind", &self.driver.kind())
            .finish_non_exhaustive()
    }
}

/// Opens the declaration of a PostgreSQL server.
pub(super) fn postgres(
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    open(&postgres::Postgres, keys, init)
}

/// Opens the declaration of a MySQL or MariaDB server.
pub(super) fn mysql(
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    open(&mysql::Mysql, keys, init)
}

fn open(
    driver: &'static dyn Driver,
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    let address = Address::read(&keys.url, driver.schemes());
    let address = address.and_then(|address| driver.check(&address).map(|()| address));
    let ready = keys.ready.as_ref().map(Ready::of).transpose();
    Ok(Box::new(Server {
        driver,
        address: address.map_err(|what| ("url", what))?,
        isolation: keys.isolation,
        init: init.map(str::to_owned),
        ready: ready.map_err(|what| ("ready", what))?,
        timeout: limit(keys.timeout_s),
        waited: Mutex::new(None),
    }))
}

impl Server {
    fn become_ready(&self, site: &ServiceSite<'_>) -> Result<(), Trouble> {
        let Some(ready) = &self.ready else {
            return Ok(());
        };
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = || ready.wait(self.driver, &self.address, self.timeout, site);
        waited.get_or_insert_with(wait).clone()
    }
}

impl Service for Server {
    fn kind(&self) -> &'static str {
        self.driver.kind()
    }

    fn is_serial(&self) -> bool {
        self.isolation == Isolation::Serial
    }

    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn Running + 's>, Trouble> {
        self.become_ready(site)?;
        let limits = Limits {
            timeout: self.timeout,
            interrupt: Some(site.interrupt),
        };
        let mut running = Database {
            server: self,
            address: self.address.clone(),
            own: None,
        };
        if self.isolation == Isolation::Database {
            let name = fresh_name();
            let create = self.driver.create(&name);
            let created = self.driver.run(&self.address, &create, &limits);
            created.map_err(|trouble| {
                trouble.of(
                    "a database of its own could not be made for the scenario (`isolation: serial` \
                     shares the one of `url`)",
                )
            })?;
            running.address = self.address.with_database(&name);
            running.own = Some(name);
        }
        if let Some(init) = &self.init {
            let run = self.driver.run(&running.address, init, &limits);
            run.map_err(|trouble| match (trouble.of("`init`"), &running.own) {
                // Some servers put the name of the database before that of a table.
                (Trouble::Failed(why), Some(own)) => {
                    Trouble::Failed(why.replace(own, "{database}"))
                }
                (trouble, _) => trouble,
            })?;
        }
        Ok(Box::new(running))
    }
}

/// A name that no other run has given a database on the same server.
fn fresh_name() -> String {
    // The state is seeded by the system, for every process anew.
    let salt = (std::process::id(), SystemTime::now());
    format!("kelvin_{:016x}", RandomState::new().hash_one(salt))
}

/// The database of one scenario.
struct Database<'a> {
    server: &'a Server,
    address: Address,
    /// Its name, where it is of the scenario alone; none once it is dropped.
    own: Option<String>,
}

impl Database<'_> {
    fn remove(&mut self) -> Result<(), Trouble> {
        let Some(name) = self.own.take() else {
            return Ok(());
        };
        let limits = Limits {
            timeout: REMOVAL,
            interrupt: None,
        };
        let removal = self.server.driver.remove(&name);
        let removed = self
            .server
            .driver
            .run(&self.server.address, &removal, &limits);
        removed.map_err(|trouble| trouble.of(&format!("the database `{name}` stays behind")))
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A scenario that is given up has a worse reason to tell.
        let _ = self.remove();
    }
}

impl Running for Database<'_> {
    fn kind(&self) -> &'static str {
        self.server.driver.kind()
    }

    fn url(&self) -> Option<String> {
        Some(self.address.text())
    }

    fn hidden(&self) -> Vec<(String, String)> {
        let own = self.own.iter();
        let own = own.map(|name| (name.clone(), "{database}".to_owned()));
        let passwords = self.address.passwords().into_iter();
        own.chain(passwords.map(|password| (password, "{password}".to_owned())))
            .collect()
    }

    fn ask(&self, query: &Query<'_>) -> Result<Answer, Trouble> {
        self.server.driver.first(&self.address, query)
    }

    fn close(mut self: Box<Self>) -> Result<(), Trouble> {
        self.remove()
    }
}
