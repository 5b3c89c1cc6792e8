//! Records a run.

use std::time::SystemTime;

use anyhow::anyhow;
use rusqlite::{Connection, TransactionBehavior, params};

use super::{History, KEPT, list};
use kelvin_base::digest::Fields;
use kelvin_base::threads;
use kelvin_gate::report::Report;
use kelvin_record::Sections;

/// The JSON pointer to the map in a report that has a record for each item of a probe; the rest of the report is stored
/// with the run.
fn list(probe: &str) -> String {
    format!("/probes/{probe}/items")
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunScene {
    /// The name of the configuration.
    pub(crate) configuration: String,
    /// The branch that was checked out, if known.
    pub(crate) branch: Option<String>,
}

impl History {
    /// Records a run, removes the oldest runs beyond [`KEPT`], and returns the id of the new run. Fails if the database
    /// cannot be written.
    pub(crate) fn record(&mut self, report: &Report, scene: &RunScene) -> anyhow::Result<String> {
        self.record_within(report, scene, KEPT)
    }

    pub(super) fn record_within(
        &mut self,
        report: &Report,
        scene: &RunScene,
        keep: usize,
    ) -> anyhow::Result<String> {
        let frame = super::pack(&frame(report))?;
        let items = items(report)?;
        let session = &report.run.session;
        let metrics = serde_json::to_string(&list::figures(report))?;
        let verdict = session.verdict.as_ref().map(serde_json::to_string);
        let verdict = verdict.transpose()?;
        let cost = serde_json::to_string(&session.cost)?;
        let ending = serde_json::to_value(report.run.ending)?;
        let change = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id = unused(&change, &frame)?;
        change.execute(
            "INSERT INTO runs (id, time, commit_id, branch, dirty, configuration, config, probe, \
             ending, metrics, report, verdict, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                id,
                session.started_at,
                session.commit,
                scene.branch,
                session.dirty,
                scene.configuration,
                report.run.fingerprints.config.to_string(),
                list::probes(report),
                ending.as_str(),
                metrics,
                frame,
                verdict,
                cost,
            ],
        )?;
        let number = change.last_insert_rowid();
        {
            let mut insert = change
                .prepare("INSERT INTO items (run, list, name, record) VALUES (?, ?, ?, ?)")?;
            for (list, name, record) in items {
                insert.execute(params![number, list, name, record])?;
            }
        }
        change.execute(
            "DELETE FROM runs WHERE number <= (SELECT number FROM runs ORDER BY number DESC LIMIT \
             1 OFFSET ?)",
            [i64::try_from(keep.max(1))?],
        )?;
        change.commit()?;
        Ok(id)
    }
}

/// Switches to a journal mode in which readers can continue during a write. The switch itself does not wait for other
/// processes, so it is repeated until it succeeds.
pub(super) fn ahead(connection: &Connection) -> anyhow::Result<()> {
    let mut times = 0;
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            // Some file systems have no shared memory; the history works there without this mode.
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) && super::wait_once_more(times) => times += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

/// An id that no other run has.
fn unused(connection: &Connection, frame: &[u8]) -> anyhow::Result<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    for attempt in 0..1000_u32 {
        let digest = Fields::of("kelvin/run/v1")
            .field("report", frame)
            .field("time", now.to_be_bytes())
            .field("process", std::process::id().to_be_bytes())
            .field("attempt", attempt.to_be_bytes())
            .digest();
        let id = digest.short(10);
        // An id with only digits looks like a number, and digits with an `e` look like a large number.
        let known: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?)",
            [&id],
            |row| row.get(0),
        )?;
        if !known && id.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(id);
        }
    }
    Err(anyhow!("no id is left for another run"))
}

/// An item in its stored form: the list that it belongs to, its name and its compressed record.
type Stored<'a> = (String, &'a str, Vec<u8>);

/// The report without its items.
fn frame(report: &Report) -> Report {
    let mut probes = Sections::new(report.probes.kinds().clone());
    for (name, section) in report.probes.iter() {
        probes.put(name, section.without_items());
    }
    Report {
        schema_version: report.schema_version,
        tool: report.tool.clone(),
        run: report.run.clone(),
        probes,
        metrics: report.metrics.clone(),
        notices: report.notices.clone(),
    }
}

/// The items, each compressed separately, so that a large report is never in memory twice.
fn items(report: &Report) -> anyhow::Result<Vec<Stored<'_>>> {
    let mut all = Vec::new();
    for (name, section) in report.probes.iter() {
        let packed = threads::map(&section.records(), |(id, record)| {
            Ok((list(name), *id, super::pack(record)?))
        });
        all.extend(packed.into_iter().collect::<anyhow::Result<Vec<_>>>()?);
    }
    Ok(all)
}
