//! The parts of a page below its headline, including plots of figures over time.

use serde::Serialize;

use super::Phrase;
use kelvin_base::notice::Notice;

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block<'a> {
    /// A heading.
    Heading(Phrase),
    /// Sentences, each of which may be on its own line.
    Text(Vec<Phrase>),
    /// A sentence that a reader may skip.
    Aside(Phrase),
    /// Lines of a formula.
    Formula(&'static [&'static str]),
    /// Short names in order.
    Chips(Vec<Chip>),
    /// A table.
    Table(Table),
    /// The printed text of an invocation, after a sentence that names the invocation.
    Printed(Phrase, &'a str),
    /// Texts side by side, each with a sentence that introduces it.
    Beside(Vec<(Phrase, &'a str)>),
    /// Notices.
    Notices(Vec<&'a Notice>),
    /// Figures over time.
    Trend(Trend),
}

/// A short name in a list of names. All of its text may be untrusted.
#[derive(Clone, Debug)]
pub struct Chip {
    /// The name.
    pub text: String,
    /// The text that is shown on demand.
    pub title: Option<String>,
    /// A remark next to the name; such a chip is highlighted.
    pub badge: Option<String>,
}

/// How many items with a problem a text lists at most.
pub const LISTED: usize = 10;

/// A table of sentences.
#[derive(Clone, Debug)]
pub struct Table {
    /// The title of the table.
    pub title: Phrase,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// The number of rows that were not made, since no page lists so many.
    pub left: usize,
    /// How many rows a text lists at most; none if that depends on the available space.
    pub most: Option<usize>,
    /// The noun for one row, for the line that says how many more there are.
    pub noun: &'static str,
    /// Where a reader finds the rows that did not fit on a page.
    pub elsewhere: Option<Phrase>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Whether it contains numbers, which are aligned to the right.
    pub is_number: bool,
}

impl Column {
    /// A column of words.
    pub const fn text(name: &'static str) -> Self {
        Self {
            name,
            is_number: false,
        }
    }

    /// A column of numbers.
    pub const fn number(name: &'static str) -> Self {
        Self {
            name,
            is_number: true,
        }
    }
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct TableRow {
    /// One cell for each column.
    pub cells: Vec<TableCell>,
    /// The status of the row's subject; the last cell says it in words.
    pub status: Option<Status>,
    /// The details that can be expanded below the row.
    pub detail: Option<Detail>,
    /// The name by which a plot on the page links to the row; it never contains external text.
    pub anchor: Option<String>,
}

impl TableRow {
    /// A row of words.
    pub fn new(cells: impl IntoIterator<Item = Phrase>) -> Self {
        Self {
            cells: cells.into_iter().map(TableCell::from).collect(),
            status: None,
            detail: None,
            anchor: None,
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCell {
    /// The earlier text, if the cell shows a change.
    pub before: Option<Phrase>,
    /// The current text.
    pub text: Phrase,
}

impl From<Phrase> for TableCell {
    fn from(text: Phrase) -> Self {
        Self { before: None, text }
    }
}

/// The result of one part of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The part did what was expected.
    Expected,
    /// The item did not behave as expected.
    Against,
    /// It is not known how the item should have behaved.
    Open,
    /// The item did not behave as expected, but counts in another figure.
    Apart,
    /// The item failed, so its behaviour is not known.
    Failed,
    /// The part was not run.
    NotRun,
}

/// The details that can be expanded below a row of a table.
#[derive(Clone, Debug)]
pub enum Detail {
    /// Names in order, under a title.
    Chips(&'static str, Vec<Chip>),
    /// The difference between the text of an item and the text of one part of it, under a title.
    Difference {
        /// The title.
        title: &'static str,
        /// The item.
        item: String,
        /// The part.
        part: String,
        /// The file with the text of the part.
        file: String,
    },
}

/// An item in its expanded form on an HTML page.
#[derive(Clone, Debug)]
pub struct ItemView<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many of its parts had an unexpected result.
    pub against: usize,
    /// How many of its invocations failed.
    pub failed: usize,
    /// Short remarks that are shown before it is expanded, each with whether it is good.
    pub tags: Vec<(bool, String)>,
    /// Its figures in `[0, 1]`.
    pub signals: Vec<ItemSignal>,
    /// The content that is shown when it is expanded.
    pub blocks: Vec<Block<'a>>,
}

/// A figure of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemSignal {
    /// Its name.
    pub name: &'static str,
    /// Its value in `[0, 1]`.
    pub value: Option<f64>,
    /// How many samples the mean covers.
    pub n: usize,
}

/// A square with the run and its items as points, by two signals in `[0, 1]`. The corner at the upper
/// right is the good one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// The signals to the right and upwards.
    pub axes: [&'static str; 2],
    /// The ids of the metrics that the axes show.
    pub metrics: [&'static str; 2],
    /// The names of the corners: upper left, upper right, lower left, lower right.
    pub corners: [&'static str; 4],
    /// The point where the four regions meet, on both axes.
    pub cut: f64,
    /// The position of the run.
    pub run: [f64; 2],
    /// The position of the run with which this run is compared.
    pub base: Option<[f64; 2]>,
    /// The interval of its position along each axis.
    pub ends: [Option<(f64, f64)>; 2],
    /// The positions of the items.
    pub points: Vec<[f64; 2]>,
    /// The noun for the items, in the plural.
    pub items: &'static str,
}

/// A grid of means; the further a mean is from its ideal value, the warmer is its colour.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatGrid {
    /// The title.
    pub title: &'static str,
    /// How to read the grid.
    pub note: &'static str,
    /// The noun for a row, and its plural.
    pub row: [&'static str; 2],
    /// Groups of columns with their titles; the names of the columns are untrusted.
    pub groups: Vec<(&'static str, Vec<String>)>,
    /// The rows.
    pub rows: Vec<HeatRow>,
}

/// A row of a [`HeatGrid`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeatRow {
    /// Its name, which is untrusted.
    pub name: String,
    /// A remark beside the name.
    pub badge: Option<&'static str>,
    /// A cell for each column of all groups; none if the cell is empty.
    pub cells: Vec<Option<HeatCell>>,
}

/// A cell of a [`HeatGrid`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// The distance of the mean from its ideal value, in `[0, 1]`; none if not known.
    pub off: Option<f64>,
    /// The mean.
    pub mean: f64,
    /// How many samples the mean covers.
    pub n: usize,
}

/// The page of one item.
#[derive(Clone, Debug)]
pub struct ItemPage<'a> {
    /// The name of the item.
    pub name: &'a str,
    /// The parts of the page.
    pub blocks: Vec<Block<'a>>,
}

/// The answers of both sides to an item, for a comment that shows which answers got worse. All texts are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswersView {
    /// The answer against which the item's answer is graded; none if there is no such answer.
    pub before: Option<String>,
    /// The answer that is graded.
    pub after: String,
    /// The remarks of the judge.
    pub said: String,
}

/// One part of an item, compared with the unchanged item, for a comment that shows what made the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct PartView {
    /// The file with the input of the item, relative to the report.
    pub before: String,
    /// The file with the input of the part.
    pub after: String,
    /// The results of both items, in a sentence.
    pub answers: Phrase,
}

/// Figures over time. The caller sets both axes, which never depend on the values, so that two plots, or the plots of
/// two weeks, can be compared.
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
    /// The step at which the period of the page begins.
    pub begin: usize,
    /// Whether a table of the same page has these values; then a text page leaves the plot out.
    pub is_tabled: bool,
    /// The lines.
    pub lines: Vec<TrendLine>,
}

/// A step of the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrendStep {
    /// Its name below the axis.
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

/// A line: a value for each step that has one, with the number of its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendLine {
    /// The name of the line.
    pub name: Phrase,
    /// A point for each step of the trend.
    pub points: Vec<Option<(f64, usize)>>,
}
