//! The page of a whole run: what each probe says of it, and what is about the run itself.

use super::{
    Block, Estimate, FailedInvocation, HeatGrid, ItemView, NoticeCount, Opening, Phrase, Plane,
    Spread,
};
use super::{Statement, Table};
use kelvin_base::notice::Notice;

/// The line that stands on every page.
pub const DISCLAIMER: &str = "Diagnostic signals, not truth metrics: a pipeline can do well \
                                     on all of them and still decide wrongly.";

/// The page of a whole run.
pub struct RunPage<'a> {
    /// The command that made the run: `check`.
    pub command: &'static str,
    /// What came of a comparison with another run; none where there was none.
    pub opening: Option<Opening>,
    /// What was looked at and what it took: `12 cases`, `4.2 s`.
    pub scope: Vec<String>,
    /// The items that the run was restricted to; empty means all.
    pub only: &'a [String],
    /// What each probe says, the most important one first; there is at least one.
    pub chapters: Vec<Chapter<'a>>,
    /// Figures of no chapter.
    pub others: Option<FigureTable<'a>>,
    /// Every notice of the run and of its items, counted by code.
    pub notices: Vec<NoticeCount<'a>>,
    /// What else the figures depend on, by name. The values are untrusted.
    pub facts: Vec<(&'static str, String)>,
    /// The version of the program that made the run. Untrusted, since it is read from a file.
    pub version: &'a str,
    /// The version of the format of its report.
    pub schema: u32,
}

impl<'a> RunPage<'a> {
    /// What a reader should know first, of all chapters.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.chapters.iter().flat_map(|chapter| &chapter.statements)
    }

    /// The invocations that failed, of all chapters.
    pub fn failed(&self) -> Vec<&FailedInvocation<'a>> {
        let chapters = self.chapters.iter();
        chapters.flat_map(|chapter| &chapter.failed).collect()
    }

    /// The first of them. A chapter that lists no failures has its first one all the same.
    pub fn first_failure(&self) -> Option<&FailedInvocation<'a>> {
        let mut chapters = self.chapters.iter();
        chapters.find_map(|chapter| chapter.failed.first().or(chapter.first_failure.as_ref()))
    }

    /// Every table of further figures.
    pub(super) fn tables(&self) -> impl Iterator<Item = &FigureTable<'a>> {
        let chapters = self.chapters.iter().flat_map(|chapter| &chapter.tables);
        chapters.chain(&self.others)
    }

    /// The word for the run: that of its first chapter.
    pub(super) fn headword(&self) -> Headword {
        let first = self.chapters.first().map(|chapter| chapter.headword);
        first.unwrap_or(Headword::NOTHING)
    }
}

/// What one probe says on the page of a run. A field that is left empty takes no room on the page.
pub struct Chapter<'a> {
    /// The one word for what was measured.
    pub headword: Headword,
    /// What was looked at, in short: `12 cases`.
    pub scope: Vec<String>,
    /// What a reader should know first, the most useful first.
    pub statements: Vec<Statement>,
    /// The few figures that stand at the top, with words of their own.
    pub signals: Vec<Signal<'a>>,
    /// What is said where one of them has no interval.
    pub no_interval: &'static str,
    /// Groups of figures that stand below the signals.
    pub groups: Vec<Group<'a>>,
    /// The figures that stand at the top where there are many of one sort.
    pub measures: Option<FigureTable<'a>>,
    /// Parts of a signal, for a screen.
    pub breakdowns: Vec<Breakdown<'a>>,
    /// Two signals at once, with the items as points.
    pub plane: Option<Plane>,
    /// How the values of the items lie, where no signal stands at the top.
    pub spread: Option<Spread>,
    /// What needs a look, in Markdown; the page in HTML has the items themselves.
    pub lists: Vec<Table>,
    /// Every invocation that failed.
    pub failed: Vec<FailedInvocation<'a>>,
    /// The first of them, where the failures are not listed, since each counts in a score.
    pub first_failure: Option<FailedInvocation<'a>>,
    /// Every further figure, by what it is about.
    pub tables: Vec<FigureTable<'a>>,
    /// A map of means.
    pub heat: Option<HeatGrid>,
    /// The items, for the page in HTML.
    pub items: Option<ItemList<'a>>,
    /// The notices of the items.
    pub notices: Vec<&'a Notice>,
    /// What was measured, in a clause that begins a line: `Decision X, seed 7`.
    pub settings: Option<Phrase>,
    /// How the figures are read.
    pub method: Vec<Block<'a>>,
    /// What the figures depend on, by name. The values are untrusted.
    pub facts: Vec<(&'static str, String)>,
}

impl Chapter<'_> {
    /// A chapter with a word for what was measured, and nothing else yet.
    pub const fn new(headword: Headword) -> Self {
        Self {
            headword,
            scope: Vec::new(),
            statements: Vec::new(),
            signals: Vec::new(),
            no_interval: "no interval",
            groups: Vec::new(),
            measures: None,
            breakdowns: Vec::new(),
            plane: None,
            spread: None,
            lists: Vec::new(),
            failed: Vec::new(),
            first_failure: None,
            tables: Vec::new(),
            heat: None,
            items: None,
            notices: Vec::new(),
            settings: None,
            method: Vec::new(),
            facts: Vec::new(),
        }
    }
}

/// What became of the items of one probe between two runs.
pub struct ComparisonPage<'a> {
    /// What was compared, as a title.
    pub title: &'static str,
    /// The items, in the plural and with an article: `the queries`.
    pub items: &'static str,
    /// All of it in one line, for a screen.
    pub summary: String,
    /// The few items that a screen has room for, those that got worse first.
    pub worst: Vec<Phrase>,
    /// What a text says of it.
    pub blocks: Vec<Block<'a>>,
}

/// The one word for what a probe measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headword {
    /// Within a sentence or after a colon.
    pub word: &'static str,
    /// As a title.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Whether it judges the system under test, rather than says how much was measured.
    pub is_judgement: bool,
}

impl Headword {
    /// For a page without a chapter.
    const NOTHING: Self = Self {
        word: "nothing measured",
        title: "Nothing measured",
        meaning: "no probe was run",
        is_judgement: false,
    };
}

/// A figure that stands at the top of a page.
pub struct Signal<'a> {
    /// Its name.
    pub name: &'static str,
    /// What it says, in a clause without a subject: `holds when it should`.
    pub claim: &'static str,
    /// What it asks, in the few words for which a screen has room.
    pub ask: &'static str,
    /// What it asks, in a sentence.
    pub question: &'static str,
    /// Its value.
    pub estimate: Estimate<'a>,
    /// The largest value that it can have.
    pub most: f64,
    /// Where its scale has marks.
    pub marks: Vec<f64>,
    /// Whether a screen shows it as a bar with a line of its own for the sample.
    pub has_bar: bool,
    /// What the value is made of, for a screen; stands before the sample.
    pub made_of: String,
    /// What a screen says after the sample.
    pub aside: String,
    /// What the table of a text says in words beside the value.
    pub in_words: String,
    /// What else there is to say where there is room.
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

/// Figures that say one thing together.
pub struct Group<'a> {
    /// What it is.
    pub title: &'static str,
    /// What it means.
    pub note: &'static str,
    /// The figures with their names.
    pub rows: Vec<(&'static str, Estimate<'a>)>,
    /// The name and the text of the one line that a screen has for all of it.
    pub line: (&'static str, String),
}

/// Figures of one sort.
pub struct FigureTable<'a> {
    /// What they are, as a title.
    pub title: &'static str,
    /// What a reader should know of them.
    pub note: &'static str,
    /// The figures with their names.
    pub rows: Vec<(Phrase, Estimate<'a>)>,
}

/// Short figures in one or two lines of a screen.
pub struct Breakdown<'a> {
    /// What they are: `by kind`.
    pub label: &'static str,
    /// The figures with their names, which are untrusted.
    pub rows: Vec<(&'a str, Estimate<'a>)>,
}

/// The place of an item, by its name.
pub(crate) type PlaceOf<'a> = dyn Fn(&str) -> Option<usize> + 'a;

/// The items of a probe, each of which opens on the page in HTML. They are made one by one, so that
/// thousands of them are never held at once.
pub struct ItemList<'a> {
    /// What they are, as a title: `Cases`.
    pub title: &'static str,
    /// How they are ordered, and what they open to.
    pub note: &'static str,
    /// What is left out of an item first where there are too many: `variants that did as expected`.
    pub least: &'static str,
    /// How many items there are.
    pub count: usize,
    /// In how many of them something went against expectation.
    pub against: usize,
    /// In how many of them an invocation failed.
    pub failing: usize,
    /// The place of an item in the order of the names; a link to an item is the same whatever the
    /// order on the page.
    pub place: Box<PlaceOf<'a>>,
    /// The items in the order in which they are shown.
    pub each: Box<dyn Iterator<Item = ItemView<'a>> + 'a>,
}
