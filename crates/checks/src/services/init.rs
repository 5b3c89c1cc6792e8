//! The SQL that puts a database into its initial state for a scenario. Fields of the scenario may stand in it; the
//! session gets them first, as values, and the script reads them from there.

use serde_json::Value;

use crate::interpolate;
use crate::scenario::Scenario;
use crate::sql::{BoundSql, Dialect};

/// The script of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Init {
    sql: BoundSql,
}

impl Init {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// Where a field stands within quotes, or the script would give away what is expected.
    pub(super) fn of(text: &str, dialect: Dialect) -> Result<Self, (&'static str, String)> {
        let sql = BoundSql::script(text, dialect).map_err(|what| ("init", what))?;
        if sql.names.iter().any(|name| name == interpolate::EXPECTED) {
            let what = format!(
                "`${{{}}}` stands for what is expected, which the pipeline must not find in its database",
                interpolate::EXPECTED
            );
            return Err(("init", what));
        }
        Ok(Self { sql })
    }

    /// The script with expressions in place of the fields.
    pub(super) fn text(&self) -> &str {
        &self.sql.text
    }

    /// The values that the session gets first, each with the name that the script has for it.
    ///
    /// # Errors
    ///
    /// What the scenario lacks.
    pub(super) fn values(&self, scenario: &Scenario) -> Result<Vec<(String, Value)>, String> {
        let mut names: Vec<&String> = self.sql.names.iter().collect();
        names.sort();
        names.dedup();
        let values = names.into_iter();
        values
            .map(|name| Ok((name.to_lowercase(), scenario.field(name)?)))
            .collect()
    }
}
