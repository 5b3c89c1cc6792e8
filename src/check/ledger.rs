//! The ledger of graded answers: the entries of a run, and entries that are imported from elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use super::folder;
use crate::history::{History, LedgerEntry, LedgerFilter};
use kelvin_base::clock::Clock;
use kelvin_base::exit::Misuse;
use kelvin_gate::report::Report;

/// The entries that a report adds to the ledger: every answer that has a score.
pub(super) fn entries(report: &Report) -> Vec<LedgerEntry> {
    let session = &report.run.session;
    let mut entries = Vec::new();
    for (kind, section) in report.probes.known() {
        let seconds = session
            .item_seconds
            .get(kind.name())
            .cloned()
            .unwrap_or_default();
        let pairs = kind.graded_pairs(section, &seconds).into_iter();
        entries.extend(pairs.map(|pair| LedgerEntry {
            recorded_at: session.started_at.clone(),
            prompt: pair.prompt,
            prompt_digest: pair.prompt_digest.to_string(),
            candidate: pair.candidate,
            baseline: pair.baseline,
            judge_score: pair.score,
            grader_id: pair.grader,
            cost_usd: pair.usage.and_then(|usage| usage.usd),
            latency_ms: pair.seconds.map(|seconds| seconds * 1000.0),
            tokens_in: pair.usage.map(|usage| usage.input_tokens),
            tokens_out: pair.usage.map(|usage| usage.output_tokens),
            judge_cost_usd: pair.judge_usage.and_then(|usage| usage.usd),
            judge_tokens: pair.judge_usage.map(|usage| usage.tokens()),
            tags: pair.tags,
        }));
    }
    entries
}

/// Adds regraded answers of a report to the ledger in the folder of a configuration. Fails if the database cannot be
/// written.
pub(crate) fn record(config: &Path, report: &Report) -> anyhow::Result<()> {
    // The grades are new although the answers are older.
    let now = Clock::start().started_at();
    let mut entries = entries(report);
    for entry in &mut entries {
        entry.recorded_at.clone_from(&now);
    }
    if entries.is_empty() {
        return Ok(());
    }
    History::create(&folder(config)?)?.append(&entries)
}

/// The entries of the ledger in the folder of a configuration; none if nothing was recorded yet. Fails if the database
/// cannot be read.
pub(crate) fn read(config: &Path, filter: &LedgerFilter) -> anyhow::Result<Vec<LedgerEntry>> {
    match History::open(&folder(config)?)? {
        Some(history) => history.ledger(filter),
        None => Ok(Vec::new()),
    }
}

/// Removes entries that were recorded before a time, given as RFC 3339 in UTC. Returns how many it removed. Fails if
/// the database cannot be written.
pub(crate) fn prune(config: &Path, before: &str) -> anyhow::Result<usize> {
    match History::open(&folder(config)?)? {
        Some(mut history) => history.prune_ledger(before),
        None => Ok(0),
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    /// How many entries were added.
    pub(crate) added: usize,
    /// How many were already in the ledger, e.g. when somebody imports their own export.
    pub(crate) known: usize,
    /// The lines that are not valid entries, each with the reason.
    pub(crate) skipped: Vec<(usize, String)>,
}

/// Adds the entries of a file of JSON lines; lines that are not valid entries are skipped and counted. Fails with a
/// [`Misuse`] if the file cannot be read; any other error if the database cannot be written.
pub(crate) fn import(config: &Path, file: &Path) -> anyhow::Result<Imported> {
    let bytes = std::fs::read(file)
        .map_err(|error| Misuse::new(format!("failed to read `{}`: {error}", file.display())))?;
    let mut imported = Imported::default();
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let entry = serde_json::from_slice::<LedgerEntry>(line).map_err(|error| error.to_string());
        match entry.and_then(LedgerEntry::checked) {
            Ok(entry) => entries.push(entry),
            Err(why) => imported.skipped.push((number, why)),
        }
    }
    if entries.is_empty() {
        return Ok(imported);
    }
    let mut history = History::create(&folder(config)?)?;
    let read = entries.len();
    let new = without(entries, &history.ledger(&LedgerFilter::default())?)?;
    imported.known = read - new.len();
    imported.added = new.len();
    history.append(&new)?;
    Ok(imported)
}

/// The entries that are not among the known ones. Two repeats of a run may have equal entries, so each known entry
/// cancels only one new entry.
fn without(entries: Vec<LedgerEntry>, known: &[LedgerEntry]) -> anyhow::Result<Vec<LedgerEntry>> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in known {
        *counts.entry(serde_json::to_string(entry)?).or_default() += 1;
    }
    let mut new = Vec::new();
    for entry in entries {
        match counts.get_mut(&serde_json::to_string(&entry)?) {
            Some(left) if *left > 0 => *left -= 1,
            _ => new.push(entry),
        }
    }
    Ok(new)
}
