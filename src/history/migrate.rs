//! The versions of the database, and what each version adds to the previous one.

use anyhow::{Context as _, bail};
use rusqlite::{Connection, TransactionBehavior};

/// The steps from an empty file to the current version; the version of a database is the number of applied steps. A
/// released step must never be changed.
pub(super) const STEPS: &[&str] = &[
    // A run has a number in the order of recording, and an `id` that people use. `metrics` is the JSON for a list of
    // runs; `report` is the report without its items.
    "CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        time TEXT NOT NULL,
        commit_id TEXT,
        branch TEXT,
        dirty INTEGER NOT NULL,
        configuration TEXT NOT NULL,
        config TEXT NOT NULL,
        probe TEXT NOT NULL,
        ending TEXT NOT NULL,
        metrics TEXT NOT NULL,
        report BLOB NOT NULL
    ) STRICT;
    CREATE TABLE items (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        list TEXT NOT NULL,
        name TEXT NOT NULL,
        record BLOB NOT NULL,
        PRIMARY KEY (run, list, name)
    ) STRICT;",
    // The entries of the ledger stay when runs are removed: each entry is an answer that a judge has graded. `tags` is
    // a JSON list.
    "CREATE TABLE ledger (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        time TEXT NOT NULL,
        prompt TEXT NOT NULL,
        prompt_digest TEXT NOT NULL,
        candidate TEXT NOT NULL,
        baseline TEXT,
        score REAL NOT NULL,
        grader TEXT NOT NULL,
        cost_usd REAL,
        latency_ms REAL,
        tokens_in INTEGER,
        tokens_out INTEGER,
        tags TEXT NOT NULL
    ) STRICT;",
    // The cost of the judge is not part of the cost of the answer.
    "ALTER TABLE ledger ADD COLUMN judge_cost_usd REAL;
    ALTER TABLE ledger ADD COLUMN judge_tokens INTEGER;",
    // The verdict of the gate and the cost of the run, in the JSON form of the report, because a list of runs shows
    // both.
    "ALTER TABLE runs ADD COLUMN verdict TEXT;
    ALTER TABLE runs ADD COLUMN cost TEXT;",
];

/// The version that this program writes.
pub(super) fn version() -> u32 {
    u32::try_from(STEPS.len()).expect("there are few steps")
}

/// Applies the steps that a database does not have yet, all or none of them. Fails if the database has more steps than
/// this program knows, or if a step fails.
pub(super) fn run(connection: &mut Connection, steps: &[&str]) -> anyhow::Result<()> {
    if taken(connection)? == steps.len() {
        return Ok(());
    }
    // Another process may do the same; the second process then finds the steps already applied.
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = taken(&change)?;
    if version > steps.len() {
        bail!(
            "it was written by a newer kelvin (version {version}, this one knows up to {}) and is \
             left as it is: update kelvin, or move the file away",
            steps.len()
        );
    }
    for (at, step) in steps.iter().enumerate().skip(version) {
        change
            .execute_batch(step)
            .with_context(|| format!("failed to bring it to version {}", at + 1))?;
    }
    change.pragma_update(None, "user_version", i64::try_from(steps.len())?)?;
    Ok(change.commit()?)
}

fn taken(connection: &Connection) -> anyhow::Result<usize> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    usize::try_from(version).context("its version is below zero")
}
