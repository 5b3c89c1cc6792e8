//! The services that a scenario uses besides its workspace: databases, and servers that replace real ones. A service is
//! one file or folder here and one line in the registry.
//!
//! A service is opened for every scenario before the pipeline runs, and ends after the checks. The pipeline and the
//! programs of the checks get its address as `KELVIN_SERVICE_NAME_URL`.

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

/// A service that is declared under `services`. Several scenarios may open it at the same time.
pub(super) trait Service: fmt::Debug + Send + Sync {
    /// The word under `type`.
    fn kind(&self) -> &'static str;

    /// Whether scenarios share it so that only one of them may run at a time.
    fn is_serial(&self) -> bool {
        false
    }

    /// Whether a scenario has the values that the service needs. Fails with what the scenario lacks.
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let _ = scenario;
        Ok(())
    }

    /// Starts the service for one scenario. Fails if the service cannot be used: then the scenario is an error, and its
    /// pipeline is not run.
    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn RunningService + 's>, Trouble>;

    /// Tests whether the service can be used, without changing its data, and returns its description of itself. None if
    /// there is no service to reach.
    fn attempt(&self, name: &str, interrupt: &Arc<Interrupt>) -> Option<Result<String, Trouble>> {
        let _ = (name, interrupt);
        None
    }
}

/// The data with which a service is opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceSite<'a> {
    /// The name of the service.
    pub(super) name: &'a str,
    /// The scenario for which the service is opened.
    pub(super) scenario: &'a Scenario,
    /// The folder of the configuration.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "only servers run a command")
    )]
    pub(super) root: &'a Path,
    /// The workspace of the scenario.
    pub(super) folder: &'a Path,
    /// A folder outside the workspace for files of this program.
    pub(super) private: &'a Path,
    /// The file to which events of the scenario are appended, as JSON lines.
    pub(super) audit_log: &'a Path,
    /// Signals that the run should stop.
    pub(super) interrupt: &'a Arc<Interrupt>,
}

/// A service while one scenario runs. Dropping it ends it too, but then errors are not reported.
pub(super) trait RunningService {
    /// The word under `type`.
    fn kind(&self) -> &'static str;

    /// The address of the service; none if the service has no address.
    fn url(&self) -> Option<String>;

    /// Texts that must not be shown, because they are secret or differ from run to run, each with its replacement. The
    /// address is always hidden.
    fn hidden(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Secrets that the pipeline got with the address and must not reveal, each with a word for it.
    fn secrets(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Runs a read-only query, if the service is a database. Fails if the query is not answered.
    fn ask(&self, query: &Query<'_>) -> Result<QueryAnswer, Trouble> {
        let _ = query;
        Err(Trouble::Failed(format!(
            "a service of type `{}` answers no queries",
            self.kind()
        )))
    }

    /// The data that the service has recorded under a path such as `last_request.body`. Fails if the service has
    /// recorded no such field.
    fn field(&self, path: &str) -> Result<Value, String> {
        let _ = path;
        let kind = self.kind();
        Err(format!("a service of type `{kind}` has no fields"))
    }

    /// Records that the pipeline has ended: later records do not come from it. Fails if the record is incomplete.
    fn settle(&self) -> Result<(), Trouble> {
        Ok(())
    }

    /// The requests that the service received, if it is a server. Fails if the requests are not known.
    fn record(&self) -> Result<Arc<MockRecord>, String> {
        let kind = self.kind();
        Err(format!("a service of type `{kind}` gets no requests"))
    }

    /// Ends the service. Fails if a part of the service could not be removed.
    fn close(self: Box<Self>) -> Result<(), Trouble> {
        Ok(())
    }
}

/// A query with its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// A statement, with the placeholders of the database.
    pub(super) text: &'a str,
    /// The values that are bound to the placeholders, in order.
    pub(super) values: &'a [Value],
    /// The text between the placeholders, for a database that gets the values in another way.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "SQLite binds the values to placeholders")
    )]
    pub(super) between: &'a [String],
    /// The time limit of the query.
    pub(super) timeout: Duration,
    /// Signals that the run should stop.
    pub(super) interrupt: &'a Arc<Interrupt>,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QueryAnswer {
    /// The value in the first column of the first row.
    Value(TypedCell),
    /// The query has returned no row.
    NoRows,
    /// The database is missing, although the pipeline should have made one.
    Absent,
}

/// Why a service could not do what was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No connection could be made: there is no server, or it rejects this user.
    #[cfg_attr(
        not(feature = "sql"),
        expect(dead_code, reason = "only servers are connected to")
    )]
    Unreached(String),
    /// The service failed; the reason, in words.
    Failed(String),
    /// The service took too long.
    TimedOut(Duration),
    /// The run was interrupted.
    Stopped,
}

impl Trouble {
    /// Adds the subject to the beginning of the message.
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

/// A value with the type information that a comparison needs.
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
    /// A number as the database writes it, which may have more digits than a number type of this program.
    Number(String),
    /// JSON.
    #[cfg_attr(
        not(any(feature = "sql", test)),
        expect(dead_code, reason = "SQLite has none")
    )]
    Json(Value),
    /// A text; dates, UUIDs and every other type are in the text form of the database.
    Text(String),
}

impl TypedCell {
    /// Bytes, in the text form of PostgreSQL.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self::Text(format!("\\x{digits}"))
    }

    /// A text that the database declares as JSON.
    #[cfg(feature = "sql")]
    pub(super) fn json(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Text(text.to_owned()),
        }
    }
}
