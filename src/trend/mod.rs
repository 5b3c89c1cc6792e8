//! Results over many reports: the means of a period compared with those of the previous period, lasting falls with
//! their start, flaky cases, and a version compared with the previous version.
//!
//! This module reads no reports from disk and does not know the probes: it uses only the direction, the range and the
//! values by case of a metric.

mod course;
mod fall;
mod flaky;
mod lasting;
mod mean;
mod page;
mod past;
mod regression;
mod split;
mod summary;
#[cfg(test)]
mod tests;
mod traced;

pub(crate) use course::placed;
pub(crate) use page::{article, fell, history, short};
pub(crate) use past::{MadeOf, PastRun, Place, differing};
pub(crate) use regression::{
    Compared, RegressionRow, RegressionStanding, VersionSamples, compare, lasting_falls, versions,
};
pub(crate) use summary::{Period, ReadReports, Summary, SummaryInputs, summarize};
