//! Figures over time.

use super::Phrase;

/// The course of figures over time. Both axes are fixed by whoever makes it and never by the values, so that
/// two plots, or the plots of two weeks, can be laid next to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// What is plotted.
    pub title: Phrase,
    /// The ends of the vertical axis.
    pub ends: (f64, f64),
    /// The steps of the horizontal axis, such as weeks.
    pub steps: Vec<TrendStep>,
    /// What one step is called.
    pub step: &'static str,
    /// The first step that belongs to what the page is about.
    pub begin: usize,
    /// Whether a table of the same page has these values; then a text leaves the plot out.
    pub is_tabled: bool,
    /// The courses.
    pub lines: Vec<TrendLine>,
}

/// One step of the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrendStep {
    /// Its name, as it stands below the axis.
    pub name: String,
    /// What happened there that the whole plot should show, such as a release; untrusted.
    pub mark: Option<String>,
    /// The row of a table of the page that says more, by its anchor.
    pub anchor: Option<String>,
    /// What is said of the values there, and whether it is bad news.
    pub word: Option<(String, bool)>,
}

impl TrendStep {
    /// Whether what is said of the values there is bad news.
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
    /// What it is the course of.
    pub name: Phrase,
    /// One for each step of the trend.
    pub points: Vec<Option<(f64, usize)>>,
}
