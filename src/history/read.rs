//! Finds a run and rebuilds its report.

use anyhow::Context as _;
use rusqlite::OptionalExtension as _;
use serde_json::Value;

use super::History;
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_gate::report::Report;

/// How many characters of an id are needed at least to name a run.
const SHORTEST: usize = 4;

/// How a user names a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedRun {
    /// A run by its distance from the last recorded run; 0 is the last run itself.
    Back(usize),
    /// The run whose id starts with this text.
    Id(String),
}

impl WantedRun {
    /// Reads `latest`, `previous`, or at least four characters of an id; none for anything else.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "latest" => Some(Self::Back(0)),
            "previous" => Some(Self::Back(1)),
            text if text.len() >= SHORTEST && text.bytes().all(|sign| sign.is_ascii_hexdigit()) => {
                Some(Self::Id(text.to_ascii_lowercase()))
            }
            _ => None,
        }
    }
}

impl History {
    /// The id of the named run; none if there is no such run. Fails with a [`Misuse`] if several ids start with the
    /// text.
    pub(crate) fn find(&self, wanted: &WantedRun) -> anyhow::Result<Option<String>> {
        let prefix = match wanted {
            WantedRun::Back(back) => {
                let sql = "SELECT id FROM runs ORDER BY number DESC LIMIT 1 OFFSET ?";
                let back = i64::try_from(*back)?;
                let found = self.connection.query_row(sql, [back], |row| row.get(0));
                return Ok(found.optional()?);
            }
            WantedRun::Id(prefix) => prefix,
        };
        let mut query = self
            .connection
            .prepare("SELECT id FROM runs WHERE substr(id, 1, ?) = ? ORDER BY number")?;
        let length = i64::try_from(prefix.len())?;
        let found = query.query_map((length, prefix), |row| row.get(0))?;
        let mut found: Vec<String> = found.collect::<Result<_, _>>()?;
        if found.len() > 1 {
            return Err(Misuse::new(format!(
                "`{prefix}` may be any of {} runs: {}",
                found.len(),
                found.join(", ")
            ))
            .help("give more characters of its id")
            .into());
        }
        Ok(found.pop())
    }

    /// The report of a run, as recorded. Fails if there is no such run, or its stored data are damaged.
    pub(crate) fn report(&self, id: &str, registry: Registry) -> anyhow::Result<Report> {
        let read = || -> anyhow::Result<Report> {
            let (number, frame): (i64, Vec<u8>) = self.connection.query_row(
                "SELECT number, report FROM runs WHERE id = ?",
                [id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let mut frame = super::unpack(&frame)?;
            let mut query = self
                .connection
                .prepare("SELECT list, name, record FROM items WHERE run = ?")?;
            let mut rows = query.query([number])?;
            while let Some(row) = rows.next()? {
                let (list, name): (String, String) = (row.get(0)?, row.get(1)?);
                let record: Vec<u8> = row.get(2)?;
                if let Some(Value::Object(map)) = frame.pointer_mut(&list) {
                    map.insert(name, super::unpack(&record)?);
                }
            }
            registry.report(&serde_json::to_vec(&frame)?)
        };
        read().with_context(|| format!("the run `{id}` of `{}`", self.file.display()))
    }
}
