//! What a scenario uses beside its workspace: databases, and servers that stand for others. A service is
//! one file or folder here and one line in the registry.
//!
//! A service is opened for every scenario before the pipeline runs, and ends after the checks. The pipeline
//! and the programs of the checks see its address as `KELVIN_SERVICE_NAME_URL`.

mod declared;
pub(super) mod http_mock;
mod running;
#[cfg(feature = "sql")]
mod server;
mod sqlite;
mod state;

use http_mock::MockRecord;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::scenario::Scenario;
use kelvin_system::signal::Interrupt;

pub(super) use declared::{DeclaredServices, open_service, variable};
pub(super) use running::{RunningServices, Secret};

/// A service as it is declared under `services`. Several scenarios may open it at the same time.
pub(super) trait Service: fmt::Debug + Send + Sync {
    /// The word under `type`.
    fn kind(&self) -> &'static str;

    /// Whether scenarios share it so that only one of them may run at a time.
    fn is_serial(&self) -> bool {
        false
    }

    /// Whether a scenario has the values that the service needs.
    ///
    /// # Errors
    ///
    /// What the scenario lacks.
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let _ = scenario;
        Ok(())
    }

    /// Starts the service for one scenario.
    ///
    /// # Errors
    ///
    /// Where the service cannot be used: the scenario is an error then, and its pipeline is not run.
    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn RunningService + 's>, Trouble>;

    /// Tries whether the service can be used, without changing anything, and tells what the service says of itself.
    /// None where there is nothing to reach.
    fn attempt(&self, name: &str, interrupt: &Arc<Interrupt>) -> Option<Result<String, Trouble>> {
        let _ = (name, interrupt);
        None
    }
}

/// What a service is opened with.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceSite<'a> {
    /// The name of the service.
    pub(super) name: &'a str,
    /// The scenario that it is opened for.
    pub(super) scenario: &'a Scenario,
    /// The folder of the configuration.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "only servers run a command")
    )]
    pub(super) root: &'a Path,
    /// The workspace of the scenario.
    pub(super) folder: &'a Path,
    /// A folder beside the workspace for files of this program.
    pub(super) private: &'a Path,
    /// Where events of the scenario are appended, as JSON lines.
    pub(super) audit_log: &'a Path,
    /// Tells when the run is to stop.
    pub(super) interrupt: &'a Arc<Interrupt>,
}

/// A service while one scenario runs. Dropping it ends it too, but then nobody learns what went wrong.
pub(super) trait RunningService {
    /// The word under `type`.
    fn kind(&self) -> &'static str;

    /// The address of the service; none where it has none.
    fn url(&self) -> Option<String>;

    /// Texts that must not be shown, because they are secret or differ from run to run, each with the text that is
    /// shown instead. The address is hidden in any case.
    fn hidden(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What the pipeline was given with the address and must not give away, each with the word for it.
    fn secrets(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Asks a read-only query, where the service is a database.
    ///
    /// # Errors
    ///
    /// Where the query is not answered.
    fn ask(&self, query: &Query<'_>) -> Result<QueryAnswer, Trouble> {
        let _ = query;
        Err(Trouble::Failed(format!(
            "a service of type `{}` answers no queries",
            self.kind()
        )))
    }

    /// What the service has recorded under a path such as `last_request.body`.
    ///
    /// # Errors
    ///
    /// Where the service has recorded no such field.
    fn field(&self, path: &str) -> Result<Value, String> {
        let _ = path;
        let kind = self.kind();
        Err(format!("a service of type `{kind}` has no fields"))
    }

    /// Notes that the pipeline has come to its end: what is recorded later is not its doing.
    ///
    /// # Errors
    ///
    /// Where the record is incomplete.
    fn settle(&self) -> Result<(), Trouble> {
        Ok(())
    }

    /// The requests that the service got, where it is a server.
    ///
    /// # Errors
    ///
    /// Where the requests are not known.
    fn record(&self) -> Result<Arc<MockRecord>, String> {
        let kind = self.kind();
        Err(format!("a service of type `{kind}` gets no requests"))
    }

    /// Ends the service.
    ///
    /// # Errors
    ///
    /// Where a part of the service stays behind.
    fn close(self: Box<Self>) -> Result<(), Trouble> {
        Ok(())
    }
}

/// A query with its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// One statement, with the placeholders of the database.
    pub(super) text: &'a str,
    /// The values that are bound to the placeholders, in order.
    pub(super) values: &'a [Value],
    /// The text between the placeholders, for a database that is told the values in another way.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "SQLite binds the values to placeholders")
    )]
    pub(super) between: &'a [String],
    /// A query that takes longer is stopped.
    pub(super) timeout: Duration,
    /// Tells when the run is to stop.
    pub(super) interrupt: &'a Arc<Interrupt>,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueryAnswer {
    /// The first column of the first row.
    Value(TypedCell),
    /// The query has brought no row.
    NoRows,
    /// There is no database, although the pipeline was to make one.
    Absent,
}

/// Why a service did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No connection could be made: nobody is there, or the server does not let this user in.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "only servers are connected to")
    )]
    Unreached(String),
    /// The service could not do it; the reason, in words.
    Failed(String),
    /// The service took too long.
    TimedOut(Duration),
    /// The run was interrupted.
    Stopped,
}

impl Trouble {
    /// Puts in front of the trouble what it is about.
    fn of(self, what: &str) -> Self {
        match self {
            Self::Failed(why) | Self::Unreached(why) => Self::Failed(format!("{what}: {why}")),
            Self::TimedOut(time) => Self::Failed(format!(
                "{what}: it was stopped after {} s",
                time.as_secs_f64()
            )),
            Self::Stopped => Self::Stopped,
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<&str> for Trouble {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

/// A value with as much of its type as a comparison needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypedCell {
    /// No value.
    Null,
    /// True or false.
    #[cfg_attr(
        not(any(feature = "sql", test)),
        expect(dead_code, reason = "SQLite has none")
    )]
    Bool(bool),
    /// A number as the database writes it, which may have more digits than any number of this program.
    Number(String),
    /// JSON.
    #[cfg_attr(
        not(any(feature = "sql", test)),
        expect(dead_code, reason = "SQLite has none")
    )]
    Json(Value),
    /// A text; dates, UUIDs and every other type have the form that the database writes.
    Text(String),
}

impl TypedCell {
    /// Bytes, in the form that PostgreSQL writes.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self::Text(format!("\\x{digits}"))
    }

    /// Text that the database calls JSON.
    #[cfg(feature = "sql")]
    pub(super) fn json(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Text(text.to_owned()),
        }
    }
}
