//! The summary of a period: every mean beside that of the period before, and what deserves a look.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::Change;
use super::decided::DecidedRun;
use super::flaky::Flaky;
use super::lasting::LastingFall;
use super::mean::Mean;
pub(crate) use super::mean::Of;
use super::past::Left;
use super::period::Period;
use kelvin_base::cost::Cost;

/// What was read, and what of it could not be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Read {
    /// How many reports each place had.
    pub(crate) places: Vec<(String, usize)>,
    /// The reports that could not be read: where each is, and why not.
    pub(crate) unread: Vec<(String, String)>,
    /// How many reports were left out for each reason.
    pub(crate) left: BTreeMap<Left, usize>,
    /// How many runs were found in two places and count once.
    pub(crate) twice: usize,
    /// What a reader must know of the places.
    pub(crate) notices: Vec<String>,
}

/// What a summary is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The period.
    pub(crate) period: Period,
    /// The metrics to look at; empty for those that a person is shown first.
    pub(crate) metrics: &'a [String],
}

/// The summary of a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// When the period before begins.
    pub(crate) before: String,
    /// When the period begins.
    pub(crate) since: String,
    /// When it is over; this time is no part of it.
    pub(crate) until: String,
    /// The ISO weeks that the period touches, the first and the last.
    pub(crate) weeks: (String, String),
    /// What was read.
    pub(crate) read: Read,
    /// What each configuration measured.
    pub(crate) configurations: Vec<OfConfiguration>,
    /// What to look at first, the worst first.
    pub(crate) candidates: Vec<Candidate>,
    /// Whether the configuration can be run today: how each thing stands, and what was found.
    pub(crate) validation: Vec<(String, String)>,
}

/// What one configuration measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OfConfiguration {
    /// Its name.
    pub(crate) name: String,
    /// How many runs the period has, and how many the period before.
    pub(crate) runs: usize,
    /// As above.
    pub(crate) runs_before: usize,
    /// What all runs of the period took.
    pub(crate) cost: Cost,
    /// The same of the period before.
    pub(crate) cost_before: Cost,
    /// The means of whole runs, of groups and of cases.
    pub(crate) rows: Vec<Row>,
    /// Whole runs and groups that may have fallen, where too few runs tell it from noise.
    pub(crate) suspected: Vec<LastingFall>,
    /// What is flaky.
    pub(crate) flaky: Vec<Flaky>,
    /// When something changed that the figures depend on.
    pub(crate) changes: Vec<Change>,
    /// What people decided about regressions that these runs found.
    pub(crate) decisions: Vec<DecidedRun>,
    /// The course of each metric, and of its candidates.
    pub(crate) courses: Vec<Course>,
}

/// A mean beside that of the period before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The metric.
    pub(crate) metric: String,
    /// What it is the mean of.
    #[serde(flatten)]
    pub(crate) of: Of,
    /// Of the period before.
    pub(crate) before: Mean,
    /// Of the period.
    pub(crate) now: Mean,
    /// By how much it is worse, as a share of the scale; below zero where it is better.
    pub(crate) worse_by: Option<f64>,
    /// What became of it.
    pub(crate) word: Word,
    /// Whether it is poor whatever it was before.
    pub(crate) is_poor: bool,
    /// The fall that lasts and began in one of both periods; it may be in the middle of one, where the means of the
    /// periods hide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lasting: Option<LastingFall>,
}

impl Row {
    /// By how much it is worse, by the means of both periods or since it fell.
    pub(crate) fn fall(&self) -> f64 {
        let lasting = self.lasting.as_ref().map_or(0.0, |fall| fall.worse_by);
        self.worse_by.unwrap_or(0.0).max(lasting)
    }
}

/// What became of a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// It is worse by more than a twentieth of its scale, in the mean of the period or since some run of both periods.
    Fell,
    /// It was measured before, and the runs of this period have it and could not measure it.
    Unmeasured,
    /// The runs of this period do not have it any more.
    Gone,
    /// It is neither better nor worse by so much.
    Held,
    /// It is better by so much.
    Improved,
    /// It has nothing to be compared with.
    New,
    /// It counts something that has no scale, so nothing says how much is much.
    NoScale,
}

impl Word {
    /// For people.
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

/// Something to look at: a case, a group or a metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Candidate {
    /// The configuration.
    pub(crate) configuration: String,
    /// What it was found in.
    pub(crate) row: Row,
    /// The first run of those that go on until the last one and are all as bad.
    pub(crate) since: Option<Since>,
}

/// Since when something is as bad as it is.
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
