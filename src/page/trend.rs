//! Figures over time.

use super::Phrase;

/// The course of figures over time. Both axes are fixed by whoever makes it and never by the values, so that
/// two plots, or the plots of two weeks, can be laid next to each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trend {
    /// What is plotted.
    pub(crate) title: Phrase,
    /// The ends of the vertical axis.
    pub(crate) ends: (f64, f64),
    /// The steps of the horizontal axis, such as weeks.
    pub(crate) steps: Vec<String>,
    /// What one step is called.
    pub(crate) step: &'static str,
    /// The first step that belongs to what the page is about.
    pub(crate) begin: usize,
    /// The courses.
    pub(crate) lines: Vec<TrendLine>,
}

/// One course: a value for each step that has one, with the number of samples behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrendLine {
    /// What it is the course of.
    pub(crate) name: Phrase,
    /// One for each step of the trend.
    pub(crate) points: Vec<Option<(f64, usize)>>,
}
