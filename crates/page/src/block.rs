//! What a page is made of below its headline.

use serde::Serialize;

use super::{Phrase, Trend};
use kelvin_base::notice::Notice;

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block<'a> {
    /// A heading.
    Heading(Phrase),
    /// Sentences, each of which may stand on a line of its own.
    Text(Vec<Phrase>),
    /// A sentence that a reader may skip.
    Aside(Phrase),
    /// Lines of a formula.
    Formula(&'static [&'static str]),
    /// Short names in order.
    Chips(Vec<Chip>),
    /// A table.
    Table(Table),
    /// What an invocation printed, after a sentence that says which one it was.
    Printed(Phrase, &'a str),
    /// Texts next to each other, each with a sentence that says what it is.
    Beside(Vec<(Phrase, &'a str)>),
    /// Notices.
    Notices(Vec<&'a Notice>),
    /// Figures over time.
    Trend(Trend),
}

/// A short name in a list of them. All of its text may be untrusted.
#[derive(Clone, Debug)]
pub struct Chip {
    /// The name.
    pub text: String,
    /// What is told on demand.
    pub title: Option<String>,
    /// What is said beside it; such a chip stands out.
    pub badge: Option<String>,
}

/// How many items a text lists at most, of those in which something is wrong.
pub const LISTED: usize = 10;

/// A table of sentences.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it is about.
    pub title: Phrase,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// How many further rows there are that were not made, since no page lists so many.
    pub left: usize,
    /// How many rows a text lists at most; none where that depends on the room there is.
    pub most: Option<usize>,
    /// What one row is about, for the line that says how many more there are.
    pub noun: &'static str,
    /// Where the rows are that found no room on a page.
    pub elsewhere: Option<Phrase>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Whether it has numbers, which stand at the right.
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
    /// What became of what it is about; the last cell says so in words.
    pub status: Option<Status>,
    /// What opens below it.
    pub detail: Option<Detail>,
    /// The name by which a plot of the page leads to it; ours alone.
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
    /// What was there before, where the cell tells of a change.
    pub before: Option<Phrase>,
    /// What is there.
    pub text: Phrase,
}

impl From<Phrase> for TableCell {
    fn from(text: Phrase) -> Self {
        Self { before: None, text }
    }
}

/// What became of one part of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did what was expected.
    Expected,
    /// It did not.
    Against,
    /// Nobody can tell what was to be expected.
    Open,
    /// It did not do what was expected, and counts in a figure of its own.
    Apart,
    /// It failed, and says nothing.
    Failed,
    /// It was not run.
    NotRun,
}

/// What opens below a row of a table.
#[derive(Clone, Debug)]
pub enum Detail {
    /// Names in order, under a title.
    Chips(&'static str, Vec<Chip>),
    /// What changed between the text of an item and the text of one part of it, under a title.
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

/// An item as it opens on a page in HTML.
#[derive(Clone, Debug)]
pub struct ItemView<'a> {
    /// Its name.
    pub name: &'a str,
    /// How much of it went against expectation.
    pub against: usize,
    /// How many of its invocations failed.
    pub failed: usize,
    /// What is said of it before it opens, each with whether that is good.
    pub tags: Vec<(bool, String)>,
    /// Its figures in `[0, 1]`.
    pub signals: Vec<ItemSignal>,
    /// What it opens to.
    pub blocks: Vec<Block<'a>>,
}

/// A figure of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemSignal {
    /// Its name.
    pub name: &'static str,
    /// Its value in `[0, 1]`.
    pub value: Option<f64>,
    /// How many samples it is the mean of.
    pub n: usize,
}

/// A square with the run and its items as points, by two signals in `[0, 1]`. The corner at the upper
/// right is the good one.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// The signals to the right and upwards.
    pub axes: [&'static str; 2],
    /// The ids of the metrics that they show.
    pub metrics: [&'static str; 2],
    /// The names of the corners: upper left, upper right, lower left, lower right.
    pub corners: [&'static str; 4],
    /// Where the four regions meet, on both axes.
    pub cut: f64,
    /// The run.
    pub run: [f64; 2],
    /// Where the run was that it is compared with.
    pub base: Option<[f64; 2]>,
    /// How sure its place is, along each axis.
    pub ends: [Option<(f64, f64)>; 2],
    /// The items.
    pub points: Vec<[f64; 2]>,
    /// What the items are, in the plural.
    pub items: &'static str,
}

/// A grid of means, the warmer the further from what they ought to be.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatGrid {
    /// What it shows, as a title.
    pub title: &'static str,
    /// How it is read.
    pub note: &'static str,
    /// What a row is about, and the same in the plural.
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
    /// What is said beside the name.
    pub badge: Option<&'static str>,
    /// One for each column of all groups; none where there is nothing to show.
    pub cells: Vec<Option<HeatCell>>,
}

/// A cell of a [`HeatGrid`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// How far the mean is from what it ought to be, in `[0, 1]`; none where that is not known.
    pub off: Option<f64>,
    /// The mean.
    pub mean: f64,
    /// How many samples it is the mean of.
    pub n: usize,
}

/// The page of one item.
#[derive(Clone, Debug)]
pub struct ItemPage<'a> {
    /// The name of the item.
    pub name: &'a str,
    /// What it says.
    pub blocks: Vec<Block<'a>>,
}

/// What both sides answered to an item, for a comment that shows what got worse. All texts are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswersView {
    /// What it is graded next to; none where there is nothing.
    pub before: Option<String>,
    /// What is graded.
    pub after: String,
    /// What was said of it.
    pub said: String,
}

/// One part of an item next to the item as it is, for a comment that shows what made the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct PartView {
    /// The file with the input of the item, relative to the report.
    pub before: String,
    /// The file with the input of the part.
    pub after: String,
    /// What came of both, in a sentence.
    pub answers: Phrase,
}
