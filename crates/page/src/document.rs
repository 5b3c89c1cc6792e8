//! The page of a whole run: the chapters of the probes, the distribution of their values, and the facts of the run
//! itself. Also a page that does not belong to a single run.

use super::{
    Block, Estimate, FailedInvocation, HeatGrid, ItemView, NoticeCount, Opening, Phrase, Plane,
};
use super::{Statement, Table};
use kelvin_base::notice::Notice;

/// The line that is on every page.
pub(crate) const DISCLAIMER: &str = "Diagnostic signals, not truth metrics: a pipeline can do well \
                                     on all of them and still decide wrongly.";

/// The page of a whole run.
pub struct RunPage<'a> {
    /// The command that made the run: `check`.
    pub command: &'static str,
    /// The result of a comparison with another run; none if there was none.
    pub opening: Option<Opening>,
    /// The size and the cost of the measurement: `12 cases`, `4.2 s`.
    pub scope: Vec<String>,
    /// The items to which the run was restricted; empty means all.
    pub only: &'a [String],
    /// The chapters of the probes, the most important one first; there is at least one.
    pub chapters: Vec<Chapter<'a>>,
    /// Figures that belong to no chapter.
    pub others: Option<FigureTable<'a>>,
    /// Every notice of the run and of its items, counted by code.
    pub notices: Vec<NoticeCount<'a>>,
    /// Other facts on which the figures depend, by name. The values are untrusted.
    pub facts: Vec<(&'static str, String)>,
    /// The version of the program that made the run. Untrusted, since it is read from a file.
    pub version: &'a str,
    /// The version of the format of its report.
    pub schema: u32,
}

impl<'a> RunPage<'a> {
    /// The statements of all chapters that a reader should know first.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.chapters.iter().flat_map(|chapter| &chapter.statements)
    }

    /// The failed invocations of all chapters.
    pub fn failed(&self) -> Vec<&FailedInvocation<'a>> {
        let chapters = self.chapters.iter();
        chapters.flat_map(|chapter| &chapter.failed).collect()
    }

    /// The first failed invocation. A chapter that lists no failures may still have one.
    pub fn first_failure(&self) -> Option<&FailedInvocation<'a>> {
        let mut chapters = self.chapters.iter();
        chapters.find_map(|chapter| chapter.failed.first().or(chapter.first_failure.as_ref()))
    }

    /// Every table of other figures.
    pub(super) fn tables(&self) -> impl Iterator<Item = &FigureTable<'a>> {
        let chapters = self.chapters.iter().flat_map(|chapter| &chapter.tables);
        chapters.chain(&self.others)
    }

    /// The caveats that a reader has to know before the figures, in sentences without their full stops. They are
    /// external text.
    pub(super) fn caveats(&self) -> impl Iterator<Item = &str> {
        let notices = self.notices.iter().flat_map(|count| &count.notices);
        let foremost = notices.filter(|notice| notice.foremost);
        foremost.map(|notice| notice.text.as_str())
    }

    /// The headline word of the run: the headline word of its first chapter.
    pub(super) fn headword(&self) -> Headword {
        let first = self.chapters.first().map(|chapter| chapter.headword);
        first.unwrap_or(Headword::NOTHING)
    }
}

/// The chapter of one probe on the page of a run. An empty field takes no space on the page.
#[derive(Default)]
pub struct Chapter<'a> {
    /// The headline word for the subject of the measurement.
    pub headword: Headword,
    /// The size of the measurement, in short: `12 cases`.
    pub scope: Vec<String>,
    /// The statements that a reader should know first, the most useful first.
    pub statements: Vec<Statement>,
    /// The few figures at the top, with their own words.
    pub signals: Vec<Signal<'a>>,
    /// The text if a signal has no interval.
    pub no_interval: &'static str,
    /// Groups of figures below the signals.
    pub groups: Vec<Group<'a>>,
    /// The figures at the top if there are many of one kind.
    pub measures: Option<FigureTable<'a>>,
    /// Parts of a signal, for a screen.
    pub breakdowns: Vec<Breakdown<'a>>,
    /// Two signals at once, with the items as points.
    pub plane: Option<Plane>,
    /// The distribution of the items' values, if there is no signal at the top.
    pub spread: Option<Spread>,
    /// The items that need attention, in Markdown; the HTML page contains the items themselves.
    pub lists: Vec<Table>,
    /// The failed invocations.
    pub failed: Vec<FailedInvocation<'a>>,
    /// The first failed invocation, if the page has no list of failures because each of them counts in a score.
    pub first_failure: Option<FailedInvocation<'a>>,
    /// The tables with all other figures, grouped by subject.
    pub tables: Vec<FigureTable<'a>>,
    /// A map of means.
    pub heat: Option<HeatGrid>,
    /// The items, for the page in HTML.
    pub items: Option<ItemList<'a>>,
    /// The notices of the items.
    pub notices: Vec<&'a Notice>,
    /// The measured settings, in a clause that begins a line: `Decision X, seed 7`.
    pub settings: Option<Phrase>,
    /// How to read the figures.
    pub method: Vec<Block<'a>>,
    /// Facts on which the figures depend, by name. The values are untrusted.
    pub facts: Vec<(&'static str, String)>,
}

impl Chapter<'_> {
    /// A chapter with only a headline word.
    pub fn new(headword: Headword) -> Self {
        Self {
            headword,
            no_interval: "no interval",
            ..Self::default()
        }
    }
}

/// The changes of the items of one probe between two runs.
pub struct ComparisonPage<'a> {
    /// The subject of the comparison, as a title.
    pub title: &'static str,
    /// The items, in the plural and with an article: `the queries`.
    pub items: &'static str,
    /// The whole comparison in one line, for a screen.
    pub summary: String,
    /// The few items for which a screen has space, those that got worse first.
    pub worst: Vec<Phrase>,
    /// The parts of the comparison in a text.
    pub blocks: Vec<Block<'a>>,
}

/// The word for the subject of a probe's measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headword {
    /// The word within a sentence or after a colon.
    pub word: &'static str,
    /// The word as a title.
    pub title: &'static str,
    /// The meaning of the word.
    pub meaning: &'static str,
    /// Whether the word is a judgement about the system under test; otherwise it describes how much was measured.
    pub is_judgement: bool,
}

impl Headword {
    /// The headline word of a page without a chapter.
    const NOTHING: Self = Self {
        word: "nothing measured",
        title: "Nothing measured",
        meaning: "no probe was run",
        is_judgement: false,
    };
}

/// A figure at the top of a page.
pub struct Signal<'a> {
    /// Its name.
    pub name: &'static str,
    /// The claim of the figure, in a clause without a subject: `holds when it should`.
    pub claim: &'static str,
    /// The question that the figure answers, in few words for a screen.
    pub ask: &'static str,
    /// The question that the figure answers, in a sentence.
    pub question: &'static str,
    /// Its value.
    pub estimate: Estimate<'a>,
    /// The largest possible value of the figure.
    pub most: f64,
    /// The positions of the marks on its scale.
    pub marks: Vec<f64>,
    /// Whether a screen shows it as a bar, with a separate line for the sample.
    pub has_bar: bool,
    /// The values from which the figure is computed, for a screen; shown before the sample.
    pub made_of: String,
    /// The text on a screen after the sample.
    pub aside: String,
    /// The words next to the value in the table of a text.
    pub in_words: String,
    /// A second note, which is shown if there is space.
    pub note: String,
}

impl<'a> Signal<'a> {
    /// A figure in `[0, 1]` that is shown as a bar.
    pub fn new(name: &'static str, claim: &'static str, estimate: Estimate<'a>) -> Self {
        Self {
            name,
            claim,
            ask: "",
            question: "",
            in_words: estimate.word.unwrap_or_default().to_owned(),
            estimate,
            most: 1.0,
            marks: Vec::new(),
            has_bar: true,
            made_of: String::new(),
            aside: String::new(),
            note: String::new(),
        }
    }
}

/// A group of figures on one topic.
pub struct Group<'a> {
    /// The title.
    pub title: &'static str,
    /// The meaning of the group.
    pub note: &'static str,
    /// The figures with their names.
    pub rows: Vec<(&'static str, Estimate<'a>)>,
    /// The name and the text of the group's only line on a screen.
    pub line: (&'static str, String),
}

/// Figures of one kind.
pub struct FigureTable<'a> {
    /// The title.
    pub title: &'static str,
    /// A note for the reader about the figures.
    pub note: &'static str,
    /// The figures with their names.
    pub rows: Vec<(Phrase, Estimate<'a>)>,
    /// Whether the figures, which are then from 0 to 1, form a curve that is drawn with bars.
    pub in_bars: bool,
}

/// Short figures in one or two lines on a screen.
pub struct Breakdown<'a> {
    /// The label of the figures: `by kind`.
    pub label: &'static str,
    /// The figures with their names, which are untrusted.
    pub rows: Vec<(&'a str, Estimate<'a>)>,
}

/// The index of an item, by its name.
pub(crate) type PlaceOf<'a> = dyn Fn(&str) -> Option<usize> + 'a;

/// The items of a probe, each of which can be expanded on the HTML page. They are made one by one, so that thousands of
/// them are never held in memory at once.
pub struct ItemList<'a> {
    /// The title: `Cases`.
    pub title: &'static str,
    /// A note that explains the order of the items and their details.
    pub note: &'static str,
    /// The parts of an item that are left out first if there are too many: `variants that did as expected`.
    pub least: &'static str,
    /// The number of items.
    pub count: usize,
    /// The number of items with an unexpected result.
    pub against: usize,
    /// The number of items with a failed invocation.
    pub failing: usize,
    /// The index of an item in the order of the names; so a link to an item does not depend on the order on the page.
    pub place: Box<PlaceOf<'a>>,
    /// The items in the order in which they are shown.
    pub each: Box<dyn Iterator<Item = ItemView<'a>> + 'a>,
}

/// The number of parts of the scale.
const PARTS: usize = 10;

/// The values of one metric, one for each item: a mean does not show whether all are similar or some are very bad.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The name of the values: `judge_score`.
    pub metric: &'static str,
    /// The noun for the items, in the plural: `prompts`.
    pub items: &'static str,
    /// The ends of the scale.
    pub ends: (f64, f64),
    /// The values of all items that have a value.
    pub values: Vec<f64>,
}

impl Spread {
    /// How many values are in each part of the scale, from the lowest. A value on the border of two parts belongs to
    /// the upper one, and the highest possible value to the last.
    pub fn parts(&self) -> [usize; PARTS] {
        let (low, high) = self.ends;
        let mut parts = [0; PARTS];
        for value in &self.values {
            // As a floating-point number, 0.7 / 0.1 is slightly less than 7.
            let at = (value - low) / (high - low) * PARTS as f64 + 1e-9;
            parts[(at.max(0.0) as usize).min(PARTS - 1)] += 1;
        }
        parts
    }
}

/// A page of text, tables and plots.
#[derive(Clone, Debug)]
pub struct Article<'a> {
    /// Its title.
    pub title: Phrase,
    /// The contents of the page, in short.
    pub scope: Vec<String>,
    /// The most important statements for the reader.
    pub statements: Vec<Statement>,
    /// The parts of the page.
    pub blocks: Vec<Block<'a>>,
    /// The version of the program that wrote it.
    pub version: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_part_and_a_border_belongs_to_the_upper_one() {
        let tenths = (0..=10).map(|tenth| f64::from(tenth) / 10.0);
        let spread = Spread {
            metric: "score",
            items: "cases",
            ends: (0.0, 1.0),
            values: tenths.chain([-3.0, 7.0]).collect(),
        };
        assert_eq!(spread.parts(), [2, 1, 1, 1, 1, 1, 1, 1, 1, 3]);
        let wide = Spread {
            ends: (0.0, 2.0),
            values: vec![0.1, 1.0, 1.9],
            ..spread
        };
        assert_eq!(wide.parts(), [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
