//! The summary of a period: every mean beside that of the period before, and the candidates for a closer look.

pub(crate) use super::mean::Of;

use serde::Serialize;
use std::collections::BTreeMap;

use super::change::ConditionChange;
use super::flaky::Flaky;
use super::lasting::LastingFall;
use super::mean::Mean;
use super::past::{DecidedRun, LeftOutReason};
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_record::Nouns;

/// The reports that were read, and those that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ReadReports {
    /// How many reports each place had.
    pub(crate) places: Vec<(String, usize)>,
    /// The reports that could not be read: where each one is, and the reason.
    pub(crate) unread: Vec<(String, String)>,
    /// How many reports were left out for each reason.
    pub(crate) left: BTreeMap<LeftOutReason, usize>,
    /// How many runs were found in two places and count once.
    pub(crate) twice: usize,
    /// Notes on the places that a reader must know.
    pub(crate) notices: Vec<String>,
}

/// The inputs of a summary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryInputs<'a> {
    /// The period.
    pub(crate) period: Period,
    /// The metrics to use; if empty, those that are shown first.
    pub(crate) metrics: &'a [String],
}

/// The summary of a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The beginning of the period before.
    pub(crate) before: String,
    /// The beginning of the period.
    pub(crate) since: String,
    /// The end of the period, which is excluded.
    pub(crate) until: String,
    /// The ISO weeks that the period touches, the first and the last.
    pub(crate) weeks: (String, String),
    /// The reports that were read.
    pub(crate) read: ReadReports,
    /// The results of each configuration.
    pub(crate) configurations: Vec<OfConfiguration>,
    /// The candidates for a closer look, the worst first.
    pub(crate) candidates: Vec<Candidate>,
    /// Whether the configuration can be run today: the state of each thing, and the finding.
    pub(crate) validation: Vec<(String, String)>,
}

/// The results of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OfConfiguration {
    /// The name of the configuration.
    pub(crate) name: String,
    /// How many runs the period has.
    pub(crate) runs: usize,
    /// How many runs the period before has.
    pub(crate) runs_before: usize,
    /// The cost of all runs of the period.
    pub(crate) cost: Cost,
    /// The cost of all runs of the period before.
    pub(crate) cost_before: Cost,
    /// The words for the items of its newest run.
    #[serde(skip)]
    pub(crate) nouns: Nouns,
    /// The means of whole runs, of groups and of cases.
    pub(crate) rows: Vec<SummaryRow>,
    /// Whole runs and groups that may have fallen, with too few runs to tell that from noise.
    pub(crate) suspected: Vec<LastingFall>,
    /// The flaky cases.
    pub(crate) flaky: Vec<Flaky>,
    /// The changes of properties on which the figures depend.
    pub(crate) changes: Vec<ConditionChange>,
    /// The decisions of people about regressions that these runs found.
    pub(crate) decisions: Vec<DecidedRun>,
    /// The course of each metric, and of its candidates.
    pub(crate) courses: Vec<Course>,
}

/// A mean beside that of the period before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SummaryRow {
    /// The metric.
    pub(crate) metric: String,
    /// The subject of the mean.
    #[serde(flatten)]
    pub(crate) of: Of,
    /// The mean of the period before.
    pub(crate) before: Mean,
    /// The mean of the period.
    pub(crate) now: Mean,
    /// By how much the mean is worse, as a share of the scale; negative where it is better.
    pub(crate) worse_by: Option<f64>,
    /// The result of the comparison.
    pub(crate) word: TrendWord,
    /// Whether the mean is poor whatever it was before.
    pub(crate) is_poor: bool,
    /// The lasting fall that began in one of both periods; it may lie in the middle of a period, where the means of the
    /// periods hide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lasting: Option<LastingFall>,
}

impl SummaryRow {
    /// By how much the mean is worse, by the means of both periods or since it fell.
    pub(crate) fn fall(&self) -> f64 {
        let lasting = self.lasting.as_ref().map_or(0.0, |fall| fall.worse_by);
        self.worse_by.unwrap_or(0.0).max(lasting)
    }
}

/// The result of comparing a mean with that of the period before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrendWord {
    /// The mean is worse by more than a twentieth of its scale, over the period or since some run of both periods.
    Fell,
    /// The metric was measured before; the runs of this period have it and could not measure it.
    Unmeasured,
    /// The runs of this period do not have the metric any more.
    Gone,
    /// The mean is neither better nor worse by more than that.
    Held,
    /// The mean is better by more than that.
    Improved,
    /// There is no earlier mean to compare with.
    New,
    /// The metric counts something without a scale, so no difference can be called large.
    NoScale,
}

impl TrendWord {
    /// The text for people.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Fell => "fell",
            Self::Unmeasured => "not measured",
            Self::Gone => "not run any more",
            Self::Held => "held",
            Self::Improved => "improved",
            Self::New => "new",
            Self::NoScale => "no scale",
        }
    }
}

/// A case, a group or a metric that deserves a closer look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Candidate {
    /// The configuration.
    pub(crate) configuration: String,
    /// The row with the mean.
    pub(crate) row: SummaryRow,
    /// The first run of the last unbroken series of runs that are all this bad.
    pub(crate) since: Option<Since>,
}

/// The run since which something is as bad as now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Since {
    /// When the run started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// Whether the last run is better again.
    pub(crate) recovered: bool,
}

/// The course of a metric by week.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Course {
    /// The metric.
    pub(crate) metric: String,
    /// The ends of its scale.
    pub(crate) ends: (f64, f64),
    /// The weeks.
    pub(crate) weeks: Vec<String>,
    /// The first week of the period.
    pub(crate) begin: usize,
    /// The whole run first, then the candidates.
    pub(crate) lines: Vec<(Of, Vec<Mean>)>,
}

/// The fewest and the most weeks of a plot.
const WEEKS: (usize, usize) = (8, 26);

/// From one time up to another, which is excluded; in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// The beginning.
    pub(crate) since: i64,
    /// The end, which is excluded.
    pub(crate) until: i64,
}

impl Period {
    /// The period of the same length before this one.
    pub(crate) const fn before(self) -> Self {
        Self {
            since: self.since - (self.until - self.since),
            until: self.since,
        }
    }

    /// Whether a time lies in the period.
    pub(crate) const fn has(self, at: i64) -> bool {
        self.since <= at && at < self.until
    }

    /// The beginnings of the weeks in a plot: both periods, and at least eight weeks, so that two plots can be
    /// compared.
    pub(super) fn weeks(self) -> Vec<i64> {
        const WEEK: i64 = 7 * 24 * 60 * 60;
        let last = calendar::monday(self.until - 1);
        let first = calendar::monday(self.before().since);
        let wanted = usize::try_from((last - first) / WEEK + 1).unwrap_or(WEEKS.1);
        let count = wanted.clamp(WEEKS.0, WEEKS.1);
        let back = (0..count).rev();
        back.map(|weeks| last - weeks as i64 * WEEK).collect()
    }
}
