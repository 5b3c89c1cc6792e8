//! The list of runs, with a figure of each metric.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::History;
use kelvin_base::cost::Cost;
use kelvin_gate::report::{Report, StoredVerdict};
use kelvin_record::{Direction, probe_of};

/// A metric of a run, with the data that a list needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListedMetric {
    /// The unrounded value; null if the metric was not measured.
    pub(crate) value: Option<f64>,
    /// How many samples the mean is taken over.
    pub(crate) n: usize,
    /// Whether a higher or a lower value is better.
    pub(crate) direction: Direction,
    /// Whether the gate checks the metric by default.
    pub(crate) gated: bool,
    /// Whether the metric is shown first although the gate does not check it.
    #[serde(default)]
    pub(crate) headline: bool,
    /// The lowest and the highest possible value; none if one of them is unlimited.
    #[serde(default)]
    pub(crate) ends: Option<(f64, f64)>,
}

/// A run in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ListedRun {
    /// The id of the run.
    pub(crate) id: String,
    /// When the run started, RFC 3339 in UTC.
    pub(crate) time: String,
    /// The commit that was checked out.
    pub(crate) commit: Option<String>,
    /// The branch that was checked out.
    pub(crate) branch: Option<String>,
    /// Whether the work tree differed from the commit.
    pub(crate) dirty: bool,
    /// The name of the configuration.
    pub(crate) configuration: String,
    /// The digest of the configuration.
    pub(crate) config: String,
    /// The probes that ran, separated by commas.
    pub(crate) probe: String,
    /// How the run ended.
    pub(crate) ending: String,
    /// The verdict of the gate; none if the gate was not run, and for runs of earlier versions.
    pub(crate) verdict: Option<StoredVerdict>,
    /// The cost of the run; none for runs of earlier versions.
    pub(crate) cost: Option<Cost>,
    /// The metrics, by id.
    pub(crate) metrics: BTreeMap<String, ListedMetric>,
}

/// The figures of a report.
pub(super) fn figures(report: &Report) -> BTreeMap<&str, ListedMetric> {
    let figures = report.metrics.iter().map(|(id, metric)| {
        let figure = ListedMetric {
            value: metric.value,
            n: metric.n,
            direction: metric.direction,
            gated: metric.gated,
            headline: metric.headline,
            ends: metric.ends(),
        };
        (id.as_str(), figure)
    });
    figures.collect()
}

/// The probes that have a figure in the report.
pub(super) fn probes(report: &Report) -> String {
    let ids = report.metrics.keys();
    let probes: BTreeSet<&str> = ids.map(|id| probe_of(id)).collect();
    probes.into_iter().collect::<Vec<_>>().join(",")
}

impl ListedMetric {
    /// Whether a list shows the metric even if the user did not ask for all metrics.
    pub(crate) fn is_shown_first(&self) -> bool {
        self.gated || self.headline
    }
}

impl History {
    /// The last runs, oldest first. Fails if the database cannot be read.
    pub(crate) fn runs(&self, most: usize) -> anyhow::Result<Vec<ListedRun>> {
        let mut query = self.connection.prepare(
            "SELECT id, time, commit_id, branch, dirty, configuration, config, probe, ending, \
             metrics, verdict, cost FROM runs ORDER BY number DESC LIMIT ?",
        )?;
        let rows = query.query_map([i64::try_from(most)?], |row| {
            let metrics: String = row.get(9)?;
            // If the figures cannot be read, the list is still shown without them.
            let metrics = serde_json::from_str(&metrics).unwrap_or_default();
            Ok(ListedRun {
                id: row.get(0)?,
                time: row.get(1)?,
                commit: row.get(2)?,
                branch: row.get(3)?,
                dirty: row.get(4)?,
                configuration: row.get(5)?,
                config: row.get(6)?,
                probe: row.get(7)?,
                ending: row.get(8)?,
                verdict: parsed_column(row.get(10)?),
                cost: parsed_column(row.get(11)?),
                metrics,
            })
        })?;
        let mut runs: Vec<ListedRun> = rows.collect::<Result<_, _>>()?;
        runs.reverse();
        Ok(runs)
    }
}

/// The parsed JSON of a column; none if it is not valid.
fn parsed_column<T: DeserializeOwned>(column: Option<String>) -> Option<T> {
    serde_json::from_str(&column?).ok()
}

/// Draws values as a line of characters with eight heights between two ends, and a dot for a missing value. Without
/// ends the heights are between the smallest and the largest value.
pub(crate) fn sparkline(values: &[Option<f64>], ends: Option<(f64, f64)>) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let known = || values.iter().flatten().copied();
    let (low, high) = ends.unwrap_or_else(|| {
        known().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    });
    let sign = |value: &Option<f64>| match value {
        None => '·',
        Some(_) if high - low < 1e-9 => HEIGHTS[3],
        Some(value) => {
            let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
            HEIGHTS[((share * 7.0).round() as usize).min(7)]
        }
    };
    values.iter().map(sign).collect()
}
