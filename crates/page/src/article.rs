//! A page that is about no single run: sentences, tables and courses over time.

use super::{Block, Phrase, Statement};

/// A page of text, tables and plots.
#[derive(Clone, Debug)]
pub struct Article<'a> {
    /// Its title.
    pub title: Phrase,
    /// The contents of the page, in short.
    pub scope: Vec<String>,
    /// What a reader should know first.
    pub statements: Vec<Statement>,
    /// The parts of the page.
    pub blocks: Vec<Block<'a>>,
    /// The version of the program that wrote it.
    pub version: &'a str,
}

/// The course of figures over time. The caller sets both axes, which never depend on the values, so that two plots, or
/// the plots of two weeks, can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The title of the plot.
    pub title: Phrase,
    /// The ends of the vertical axis.
    pub ends: (f64, f64),
    /// The steps of the horizontal axis, such as weeks.
    pub steps: Vec<TrendStep>,
    /// The noun for a step.
    pub step: &'static str,
    /// The first step of the period that the page is about.
    pub begin: usize,
    /// Whether a table of the same page has these values; then a text page leaves the plot out.
    pub is_tabled: bool,
    /// The courses.
    pub lines: Vec<TrendLine>,
}

/// One step of the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrendStep {
    /// Its name, as it stands below the axis.
    pub name: String,
    /// An event at this step that the whole plot should show, such as a release; untrusted.
    pub mark: Option<String>,
    /// The row with more details in a table of the page, by its anchor.
    pub anchor: Option<String>,
    /// A remark on the values of the step, and whether it is bad news.
    pub word: Option<(String, bool)>,
}

impl TrendStep {
    /// Whether the remark on the values is bad news.
    pub fn is_bad(&self) -> bool {
        self.word.as_ref().is_some_and(|(_, is_bad)| *is_bad)
    }
}

impl From<String> for TrendStep {
    fn from(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

/// One course: a value for each step that has one, with the number of samples behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendLine {
    /// The name of the course.
    pub name: Phrase,
    /// One point for each step of the trend.
    pub points: Vec<Option<(f64, usize)>>,
}
