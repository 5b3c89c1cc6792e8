//! A database server that already runs. Every scenario gets its own database, which is dropped afterwards; or all
//! scenarios share one database, one after the other.

mod address;
mod driver;
mod mysql;
mod postgres;
mod ready;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use super::state::{DatabaseState, Init};
use super::{Query, QueryAnswer, RunningService, Service, ServiceSite, Trouble};
use crate::interpolate;
use crate::keys::{Isolation, ServerKeys, limit};
use crate::scenario::Scenario;
use crate::sql::Dialect;
use address::DatabaseUrl;
use driver::{Driver, RequestLimits};
use kelvin_page::and_more;
use kelvin_system::signal::Interrupt;
use ready::Ready;

/// The time limit for removing a database; the run may have ended by then.
const REMOVAL: Duration = Duration::from_secs(20);
/// The time limit for only testing whether a server can be used.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The table that marks a shared database, between two scenarios: then it contains only data that scenarios have left.
/// The next run finds the table and continues. Scenarios never see it.
const MARK: &str = "kelvin_between_scenarios";
/// How many tables are named at most.
const NAMED: usize = 3;

/// A declared database of a server.
struct DatabaseServer {
    driver: &'static dyn Driver,
    address: DatabaseUrl,
    /// The variables from which the address is made.
    variables: Vec<String>,
    isolation: Isolation,
    /// The database that may be used although it is not empty.
    confirm: Option<String>,
    init: Option<Init>,
    ready: Option<Ready>,
    timeout: Duration,
    /// Whether the server has become ready. A server that did not become ready is not waited for again.
    waited: Mutex<Option<Result<(), Trouble>>>,
    /// Why `init` may be run in the database that scenarios share; unset until this was checked.
    shared: OnceLock<Sharing>,
}

/// Why `init` may be run in a shared database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    /// The configuration names the database.
    Confirmed,
    /// The database contains only data that scenarios have left.
    OfScenarios,
}

/// The address is left out, since it may contain a password.
impl fmt::Debug for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("kind", &self.driver.kind())
            .finish_non_exhaustive()
    }
}

/// Opens the declaration of a PostgreSQL server.
pub(super) fn postgres(
    written: &ServerKeys,
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    open(&postgres::Postgres, written, keys, init)
}

/// Opens the declaration of a MySQL or MariaDB server.
pub(super) fn mysql(
    written: &ServerKeys,
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    open(&mysql::Mysql, written, keys, init)
}

fn open(
    driver: &'static dyn Driver,
    written: &ServerKeys,
    keys: &ServerKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    let address = DatabaseUrl::read(&keys.url, driver.schemes());
    let address = address.and_then(|address| driver.check(&address).map(|()| address));
    let ready = keys.ready.as_ref().map(Ready::of).transpose();
    if keys.confirm.is_some() && keys.isolation != Isolation::Serial {
        let what = "`confirm` says that a shared database may be used although it is not empty, and nothing is \
                    shared without `isolation: serial`: leave `confirm` out";
        return Err(("confirm", what.to_owned()));
    }
    Ok(Box::new(DatabaseServer {
        driver,
        address: address.map_err(|what| ("url", what))?,
        variables: interpolate::names(&written.url)
            .map(str::to_owned)
            .collect(),
        isolation: keys.isolation,
        confirm: keys.confirm.clone(),
        init: init
            .map(|text| Init::of(text, Dialect::of(driver.kind())))
            .transpose()?,
        ready: ready.map_err(|what| ("ready", what))?,
        timeout: limit(keys.timeout_s),
        waited: Mutex::new(None),
        shared: OnceLock::new(),
    }))
}

impl DatabaseServer {
    fn become_ready(&self, site: &ServiceSite<'_>) -> Result<(), Trouble> {
        let Some(ready) = &self.ready else {
            return Ok(());
        };
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = || ready.wait(self.driver, &self.address, self.timeout, site);
        waited.get_or_insert_with(wait).clone()
    }

    /// If there is no connection, adds the source of the address.
    fn explained(&self, trouble: Trouble, name: &str) -> Trouble {
        let Trouble::Unreached(why) = trouble else {
            return trouble;
        };
        let from: Vec<String> = self
            .variables
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let look = match &*from {
            [] => format!("look at `services.{name}.url`"),
            from => format!(
                "look at {}, which `services.{name}.url` is taken from",
                from.join(" and ")
            ),
        };
        Trouble::Failed(format!(
            "no connection to the server: {why}; {look}, and whether the server runs"
        ))
    }

    /// Why a database could not be created, with advice.
    fn not_made(&self, trouble: Trouble) -> Trouble {
        let what = "a database of its own could not be made for the scenario";
        match trouble {
            Trouble::Failed(why) if self.driver.lacks_right(&why) => Trouble::Failed(format!(
                "{what}: {why}; give the user of `url` the right to make databases, or have scenarios share one \
                 that holds nothing of value (`isolation: serial`)"
            )),
            Trouble::Unreached(why) => Trouble::Unreached(why),
            other => other.of(what),
        }
    }

    /// Checks whether `init` may be run in the database that scenarios share: `init` changes the content, and an
    /// address may name another database than expected. Fails if the database contains tables of somebody else and its
    /// use is not confirmed.
    fn sharing(&self, name: &str, limits: &RequestLimits<'_>) -> Result<Sharing, Trouble> {
        if let Some(known) = self.shared.get() {
            return Ok(*known);
        }
        let queries = [self.driver.place(), self.driver.tables()];
        let mut rows = self.driver.rows(&self.address, &queries, limits)?;
        let mut tables = rows.pop().unwrap_or_default();
        let place = rows.pop().unwrap_or_default();
        let database = place.keys().next().map_or("", String::as_str);
        if database.is_empty() {
            return Err(Trouble::Failed(format!(
                "`services.{name}.url` names no database, so nobody can tell what `init` would be run in: \
                 add the database to it"
            )));
        }
        if self.confirm.as_deref() == Some(database) {
            return Ok(*self.shared.get_or_init(|| Sharing::Confirmed));
        }
        let all = tables.len();
        tables.retain(|table, _| table != MARK && !table.ends_with(&format!(".{MARK}")));
        if tables.is_empty() || tables.len() < all {
            return Ok(*self.shared.get_or_init(|| Sharing::OfScenarios));
        }
        let shown: Vec<String> = tables
            .keys()
            .take(NAMED)
            .map(|table| format!("`{table}`"))
            .collect();
        let more = and_more(tables.len().saturating_sub(NAMED));
        let other = match &self.confirm {
            Some(other) => format!(" (`confirm` names `{other}`, which is another one)"),
            None => String::new(),
        };
        let (has, them) = match tables.len() {
            1 => ("1 table".to_owned(), "it"),
            count => (format!("{count} tables"), "them"),
        };
        Err(Trouble::Failed(format!(
            "the database `{database}` is not empty, and `init` was not run in it: it has {has}, {}{more}{other}. \
             Name an empty database in `services.{name}.url`; or, where `init` and the pipeline may change {them}, \
             add `confirm: {database}` to `services.{name}`",
            shown.join(", ")
        )))
    }
}

impl Service for DatabaseServer {
    fn kind(&self) -> &'static str {
        self.driver.kind()
    }

    fn is_serial(&self) -> bool {
        self.isolation == Isolation::Serial
    }

    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let init = self.init.as_ref();
        init.map_or(Ok(()), |init| init.values(scenario).map(|_| ()))
    }

    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn RunningService + 's>, Trouble> {
        self.become_ready(site)?;
        let limits = RequestLimits {
            timeout: self.timeout,
            interrupt: Some(site.interrupt),
        };
        let opened = self.opened(site, &limits);
        Ok(Box::new(
            opened.map_err(|trouble| self.explained(trouble, site.name))?,
        ))
    }

    fn attempt(&self, name: &str, interrupt: &Arc<Interrupt>) -> Option<Result<String, Trouble>> {
        let limits = RequestLimits {
            timeout: self.timeout.min(ATTEMPT),
            interrupt: Some(interrupt),
        };
        let look = || -> Result<String, Trouble> {
            let rows = self
                .driver
                .rows(&self.address, &[self.driver.place()], &limits)?;
            let version = rows.iter().flat_map(BTreeMap::values).next();
            let version = version.cloned().unwrap_or_default();
            if self.isolation == Isolation::Serial && self.init.is_some() {
                self.sharing(name, &limits)?;
            }
            Ok(version)
        };
        Some(look().map_err(|trouble| self.explained(trouble, name)))
    }
}

impl DatabaseServer {
    fn opened(
        &self,
        site: &ServiceSite<'_>,
        limits: &RequestLimits<'_>,
    ) -> Result<Database<'_>, Trouble> {
        let name = site.name;
        let mut running = Database {
            server: self,
            address: self.address.clone(),
            own: None,
            is_marked_after: false,
            before: Err(Trouble::Stopped),
            after: OnceLock::new(),
        };
        if self.isolation == Isolation::Database {
            let name = fresh_name();
            let create = format!("CREATE DATABASE {name}");
            let created = self.driver.run(&self.address, &[], &create, limits);
            created.map_err(|trouble| self.not_made(trouble))?;
            running.address = self.address.with_database(&name);
            running.own = Some(name);
        }
        if let Some(init) = &self.init {
            if running.own.is_none() && self.sharing(name, limits)? == Sharing::OfScenarios {
                let unmark = format!("DROP TABLE IF EXISTS {MARK}");
                self.driver.run(&self.address, &[], &unmark, limits)?;
                // From here on, the database contains data that scenarios have left, even if this scenario fails.
                running.is_marked_after = true;
            }
            let values = init.values(site.scenario).map_err(Trouble::Failed)?;
            let address = &running.address;
            let run = self.driver.run(address, &values, init.text(), limits);
            run.map_err(|trouble| match (trouble, &running.own) {
                (Trouble::Unreached(why), _) => Trouble::Unreached(why),
                // Some servers write the name of the database before the name of a table.
                (trouble, Some(own)) => match trouble.of("`init`") {
                    Trouble::Failed(why) => Trouble::Failed(why.replace(own, "{database}")),
                    other => other,
                },
                (trouble, None) => trouble.of("`init`"),
            })?;
        }
        // A server that no check uses may be unavailable.
        running.before = self.driver.state(&running.address, None, limits);
        match running.before {
            Err(Trouble::Stopped) => Err(Trouble::Stopped),
            _ => Ok(running),
        }
    }
}

/// A database name that no other run uses on the same server.
fn fresh_name() -> String {
    // The system seeds this state anew for every process.
    let salt = (std::process::id(), SystemTime::now());
    format!("kelvin_{:016x}", RandomState::new().hash_one(salt))
}

/// The database of one scenario.
struct Database<'a> {
    server: &'a DatabaseServer,
    address: DatabaseUrl,
    /// The name of the database, if the scenario has its own; none once it is dropped.
    own: Option<String>,
    /// Whether the database is shared, and has to be marked as a scenario database when this scenario ends.
    is_marked_after: bool,
    /// The state of the database before the pipeline ran.
    before: Result<DatabaseState, Trouble>,
    /// The state of the database after the pipeline ran, which is read once, for the first check that needs it.
    after: OnceLock<DatabaseState>,
}

impl Database<'_> {
    fn remove(&mut self) -> Result<(), Trouble> {
        let driver = self.server.driver;
        let limits = RequestLimits {
            timeout: REMOVAL,
            interrupt: None,
        };
        if std::mem::take(&mut self.is_marked_after) {
            let mark = format!("CREATE TABLE IF NOT EXISTS {MARK} (scenarios INTEGER)");
            let marked = driver.run(&self.address, &[], &mark, &limits);
            return marked.map_err(|trouble| {
                trouble.of(
                    "what the scenario has left in the shared database could not be marked as its own, so the \
                     next run will ask whether it may be used",
                )
            });
        }
        let Some(name) = self.own.take() else {
            return Ok(());
        };
        let removed = driver.run(&self.server.address, &[], &driver.remove(&name), &limits);
        removed.map_err(|trouble| trouble.of(&format!("the database `{name}` stays behind")))
    }

    /// The settings for running a query, if its names still refer to the same objects as before the pipeline ran. Fails
    /// if the names refer to other objects, or if nobody can tell.
    fn trusted(&self, query: &Query<'_>) -> Result<BTreeMap<String, String>, Trouble> {
        if query.interrupt.tripped() {
            return Err(Trouble::Stopped);
        }
        let driver = self.server.driver;
        let before = self
            .before
            .as_ref()
            .map_err(|trouble| match trouble.clone() {
                Trouble::TimedOut(time) => Trouble::Failed(format!(
                    "before the pipeline ran the server did not answer within {} s",
                    time.as_secs_f64()
                )),
                other => other,
            })?;
        let limits = RequestLimits::of(query);
        let look = || driver.state(&self.address, Some(before), &limits);
        let after = match self.after.get() {
            Some(after) => after,
            None => {
                let after = look()?;
                self.after.get_or_init(|| after)
            }
        };
        let restoring = after.restoring(before);
        if let Some((name, was)) = restoring.first_key_value()
            && !driver.restores_settings()
        {
            let is = after.settings.get(name).map_or("", String::as_str);
            return Err(Trouble::Failed(format!(
                "since before the pipeline ran the server begins a session with another `{name}`, `{is}` in \
                 place of `{was}`, so nobody can tell what the query means"
            )));
        }
        match after.replaced(before, query.text) {
            Some(what) => Err(Trouble::Failed(what)),
            None => Ok(restoring),
        }
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A scenario that is abandoned has a more important error to report.
        let _ = self.remove();
    }
}

impl RunningService for Database<'_> {
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

    fn secrets(&self) -> Vec<(&'static str, String)> {
        self.address.secrets()
    }

    fn ask(&self, query: &Query<'_>) -> Result<QueryAnswer, Trouble> {
        let settings = self.trusted(query)?;
        self.server.driver.first(&self.address, query, &settings)
    }

    fn close(mut self: Box<Self>) -> Result<(), Trouble> {
        self.remove()
    }
}
