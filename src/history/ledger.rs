//! The ledger: every answer that a judge has graded, with its cost.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use rusqlite::{Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::History;
use kelvin_base::clock::{in_utc, is_before};
use kelvin_base::stats;

/// One graded answer. A field that the ledger of llm-connect also has is named as there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LedgerEntry {
    /// When the run began, RFC 3339 in UTC.
    pub(crate) recorded_at: String,
    /// The id of the prompt.
    pub(crate) prompt: String,
    /// The digest of the prompt.
    pub(crate) prompt_digest: String,
    /// The command line or the model that answered.
    pub(crate) candidate: String,
    /// The respondent whose answer was graded together with this one; none if this answer was graded alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<String>,
    /// The score, from 0 to 1.
    pub(crate) judge_score: f64,
    /// The id of the judge.
    pub(crate) grader_id: String,
    /// The cost of the answer, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    /// How long the answer took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<f64>,
    /// Tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_in: Option<u64>,
    /// Tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_out: Option<u64>,
    /// The cost of the judge for this answer, in US dollars; not included in `cost_usd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judge_cost_usd: Option<f64>,
    /// How many tokens the judge used for this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judge_tokens: Option<u64>,
    /// Words by which prompts can be sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
}

/// The entries of one candidate and one judge together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LedgerSummary {
    /// The candidate: a command line or a model.
    pub(crate) candidate: String,
    /// The id of the judge.
    pub(crate) grader_id: String,
    /// How many entries there are.
    pub(crate) count: usize,
    /// The mean score of the entries; null if there is no entry.
    pub(crate) mean_score: Option<f64>,
    /// The cost of all entries, in US dollars; null if no entry has a known cost.
    pub(crate) cost_usd: Option<f64>,
    /// How many entries have a known cost.
    pub(crate) with_cost: usize,
    /// The cost of the judge for all entries, in US dollars; null if no entry has a known one.
    pub(crate) judge_cost_usd: Option<f64>,
    /// The mean latency of the entries, in milliseconds; null if no latency is known.
    pub(crate) mean_latency_ms: Option<f64>,
    /// The tokens of all entries; null if no entry has a known number.
    pub(crate) tokens: Option<u64>,
}

/// Which entries to select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerFilter {
    /// Only entries of this candidate.
    pub(crate) candidate: Option<String>,
    /// Only entries of this judge.
    pub(crate) grader: Option<String>,
    /// Only entries with this tag.
    pub(crate) tag: Option<String>,
    /// If set, only the last entries, this many.
    pub(crate) last: Option<usize>,
}

impl LedgerFilter {
    fn takes(&self, entry: &LedgerEntry) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let is_tagged = |tag: &String| entry.tags.contains(tag);
        is(&self.candidate, &entry.candidate)
            && is(&self.grader, &entry.grader_id)
            && self.tag.as_ref().is_none_or(is_tagged)
    }
}

impl LedgerEntry {
    /// Checks an entry from another source. Its time is converted to UTC: a time without a zone counts as UTC. The
    /// error says what is wrong with the entry, in words for a person.
    pub(crate) fn checked(mut self) -> Result<Self, String> {
        self.recorded_at = in_utc(&self.recorded_at)?;
        if !(0.0..=1.0).contains(&self.judge_score) {
            return Err(format!(
                "`judge_score` is {}, not from 0 to 1",
                self.judge_score
            ));
        }
        for (name, text) in [
            ("prompt", &self.prompt),
            ("candidate", &self.candidate),
            ("grader_id", &self.grader_id),
        ] {
            if text.trim().is_empty() {
                return Err(format!("`{name}` is blank"));
            }
        }
        for (name, value) in [
            ("cost_usd", self.cost_usd),
            ("latency_ms", self.latency_ms),
            ("judge_cost_usd", self.judge_cost_usd),
        ] {
            if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
                return Err(format!("`{name}` is no number from 0 up"));
            }
        }
        Ok(self)
    }
}

impl History {
    /// Adds all entries or none. Several processes may call this at the same time: each waits for the others. Fails if
    /// the database cannot be written.
    pub(crate) fn append(&mut self, entries: &[LedgerEntry]) -> anyhow::Result<()> {
        let change = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = change.prepare(
                "INSERT INTO ledger (time, prompt, prompt_digest, candidate, baseline, score, grader, cost_usd, \
                 latency_ms, tokens_in, tokens_out, tags, judge_cost_usd, judge_tokens) VALUES \
                 (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?;
            for entry in entries {
                let tokens = |count: Option<u64>| count.map(i64::try_from).transpose();
                insert.execute(params![
                    entry.recorded_at,
                    entry.prompt,
                    entry.prompt_digest,
                    entry.candidate,
                    entry.baseline,
                    entry.judge_score,
                    entry.grader_id,
                    entry.cost_usd,
                    entry.latency_ms,
                    tokens(entry.tokens_in)?,
                    tokens(entry.tokens_out)?,
                    serde_json::to_string(&entry.tags)?,
                    entry.judge_cost_usd,
                    tokens(entry.judge_tokens)?,
                ])?;
            }
        }
        change.commit()?;
        Ok(())
    }

    /// The selected entries, in the order in which they were added. Fails if the database cannot be read.
    pub(crate) fn ledger(&self, filter: &LedgerFilter) -> anyhow::Result<Vec<LedgerEntry>> {
        let mut query = self.connection.prepare(
            "SELECT time, prompt, prompt_digest, candidate, baseline, score, grader, cost_usd, latency_ms, \
             tokens_in, tokens_out, tags, judge_cost_usd, judge_tokens FROM ledger ORDER BY number",
        )?;
        let mut rows = query.query([])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let entry = entry(row).context("an entry of the ledger is damaged")?;
            if filter.takes(&entry) {
                entries.push(entry);
            }
        }
        if let Some(last) = filter.last {
            entries.drain(..entries.len().saturating_sub(last));
        }
        Ok(entries)
    }

    /// Removes the entries that were recorded before a time, which is RFC 3339 in UTC. Returns how many entries were
    /// removed. Fails if the database cannot be written.
    pub(crate) fn prune_ledger(&mut self, before: &str) -> anyhow::Result<usize> {
        let change = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut old = Vec::new();
        {
            let mut query = change.prepare("SELECT number, time FROM ledger")?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let (number, time): (i64, String) = (row.get(0)?, row.get(1)?);
                if is_before(&time, before).map_err(|what| anyhow!(what))? {
                    old.push(number);
                }
            }
            let mut delete = change.prepare("DELETE FROM ledger WHERE number = ?")?;
            for number in &old {
                delete.execute([number])?;
            }
        }
        change.commit()?;
        Ok(old.len())
    }
}

fn entry(row: &Row<'_>) -> anyhow::Result<LedgerEntry> {
    let tokens = |count: Option<i64>| count.map(u64::try_from).transpose();
    let tags: String = row.get(11)?;
    Ok(LedgerEntry {
        recorded_at: row.get(0)?,
        prompt: row.get(1)?,
        prompt_digest: row.get(2)?,
        candidate: row.get(3)?,
        baseline: row.get(4)?,
        judge_score: row.get(5)?,
        grader_id: row.get(6)?,
        cost_usd: row.get(7)?,
        latency_ms: row.get(8)?,
        tokens_in: tokens(row.get(9)?)?,
        tokens_out: tokens(row.get(10)?)?,
        tags: serde_json::from_str(&tags)?,
        judge_cost_usd: row.get(12)?,
        judge_tokens: tokens(row.get(13)?)?,
    })
}

/// Summarises the entries by candidate and judge, in the order of the names. Without entries there are no summaries,
/// and a mean without values is null.
pub(crate) fn summaries(entries: &[LedgerEntry]) -> Vec<LedgerSummary> {
    let mut groups: BTreeMap<(&str, &str), Vec<&LedgerEntry>> = BTreeMap::new();
    for entry in entries {
        let key = (entry.candidate.as_str(), entry.grader_id.as_str());
        groups.entry(key).or_default().push(entry);
    }
    let groups = groups.into_iter();
    groups
        .map(|((candidate, grader), entries)| LedgerSummary {
            candidate: candidate.to_owned(),
            grader_id: grader.to_owned(),
            ..summary(&entries)
        })
        .collect()
}

/// Summarises entries of one group.
fn summary(entries: &[&LedgerEntry]) -> LedgerSummary {
    let values = |of: fn(&LedgerEntry) -> Option<f64>| -> Vec<f64> {
        entries.iter().filter_map(|entry| of(entry)).collect()
    };
    let costs = values(|entry| entry.cost_usd);
    let of_judges = values(|entry| entry.judge_cost_usd);
    let tokens: Vec<u64> = entries
        .iter()
        .filter_map(|entry| {
            let both = [entry.tokens_in, entry.tokens_out];
            both.iter()
                .any(Option::is_some)
                .then(|| both.iter().flatten().sum())
        })
        .collect();
    LedgerSummary {
        candidate: String::new(),
        grader_id: String::new(),
        count: entries.len(),
        mean_score: stats::mean(&values(|entry| Some(entry.judge_score))),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
        with_cost: costs.len(),
        judge_cost_usd: (!of_judges.is_empty()).then(|| of_judges.iter().sum()),
        mean_latency_ms: stats::mean(&values(|entry| entry.latency_ms)),
        tokens: (!tokens.is_empty()).then(|| tokens.iter().sum()),
    }
}
