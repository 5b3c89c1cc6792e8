//! Checks that a query to a database brings a value.

mod compare;

use std::time::Duration;

use serde_json::Value;

use super::text::nothing_expected;
use super::{Check, CheckFinding, CheckInterrupted, shown};
use crate::keys::{SqlKeys, limit};
use crate::scenario::Scenario;
use crate::scene::Scene;
use crate::services::{DeclaredServices, Query, QueryAnswer, Trouble};
use crate::sql::{BoundSql, Dialect, reads};

/// Asks the query.
#[derive(Debug)]
pub(super) struct Sql {
    service: String,
    query: BoundSql,
    /// The value that the query has to bring; none where the scenario's `expected` takes its place.
    equals: Option<Value>,
    /// The value of `equals` as the file has it, for messages.
    written: Option<Value>,
    coerce: bool,
    timeout: Duration,
}

impl Sql {
    pub(super) fn of(
        written: &SqlKeys,
        keys: &SqlKeys,
        services: &DeclaredServices,
    ) -> Result<Self, (&'static str, String)> {
        let kind = services.find(&keys.service, "sql", &Dialect::SERVICES);
        let kind = kind.map_err(|what| ("service", what))?;
        let dialect = Dialect::of(kind);
        let query = BoundSql::query(&keys.query, dialect).map_err(|what| ("query", what))?;
        reads(&query.text, dialect).map_err(|what| ("query", what))?;
        Ok(Self {
            service: keys.service.clone(),
            query,
            equals: keys.equals.clone(),
            written: written.equals.clone(),
            coerce: keys.coerce,
            timeout: limit(keys.timeout_s),
        })
    }
}

impl Check for Sql {
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        scenario.values(&self.query.names).map(|_| ())
    }

    fn look(&self, scene: &Scene<'_>) -> Result<CheckFinding, CheckInterrupted> {
        let Some(equals) = self.equals.as_ref().or(scene.scenario.expected.as_ref()) else {
            return Ok(nothing_expected());
        };
        let values = match scene.scenario.values(&self.query.names) {
            Ok(values) => values,
            Err(what) => return Ok(CheckFinding::error(what)),
        };
        let query = Query {
            text: &self.query.text,
            values: &values,
            between: &self.query.between,
            timeout: self.timeout,
            interrupt: scene.interrupt,
        };
        let cell = match scene.services.get(&self.service).ask(&query) {
            Ok(QueryAnswer::Value(cell)) => cell,
            Ok(QueryAnswer::NoRows) => {
                return Ok(CheckFinding::nothing("the query has brought no rows"));
            }
            Ok(QueryAnswer::Absent) => {
                return Ok(CheckFinding::nothing("the database is not there"));
            }
            Err(Trouble::Failed(why)) => {
                return Ok(CheckFinding::error(format!(
                    "the query failed: {}",
                    shown(&why)
                )));
            }
            Err(Trouble::Unreached(why)) => {
                let what = format!("the query failed: no connection: {}", shown(&why));
                return Ok(CheckFinding::error(what));
            }
            Err(Trouble::TimedOut(time)) => {
                let time = time.as_secs_f64();
                let what = format!("the query was stopped after {time} s");
                return Ok(CheckFinding::error(what));
            }
            Err(Trouble::Stopped) => return Err(CheckInterrupted),
        };
        let (found, wanted) = (
            compare::told(&cell),
            shown(&self.written.as_ref().unwrap_or(equals).to_string()),
        );
        if compare::is_equal(&cell, equals, self.coerce) {
            return Ok(CheckFinding::of(true, format!("the query brings {found}")));
        }
        let hint = match !self.coerce && compare::is_equal(&cell, equals, true) {
            true => ", which is of another type (`coerce: true` compares what is written)",
            false => "",
        };
        let reason = format!("the query brings {found}, expected {wanted}{hint}");
        Ok(CheckFinding::of(false, reason))
    }
}
