//! The blocks of a page with all untrusted text cut to a showable length, within a budget: a larger page is slow to
//! open, and nobody reads it.

use serde::Serialize;

use super::Texts;
use super::diff::{self, DiffLine};
use super::foreign::{FOREIGN, shortened};
use super::trend::TrendView;
use crate::{
    Block, Chip, Column, Detail, ItemView, Phrase, Status, Table, TableRow, brief, label, safe,
};
use kelvin_base::notice::Notice;

/// The most differences on a page, and their most bytes.
const DIFFS: usize = 1_500;
const DIFF_BYTES: usize = 3_000_000;
/// The most bytes of texts side by side on a page, and the most bytes of each text where that space is used up.
const BESIDE_BYTES: usize = 6_000_000;
const CUT_TEXT: usize = 500;
/// The number of rows of items that a page lists before it leaves out those that did as expected.
const ROWS: usize = 15_000;
/// The most notices of an item that are listed.
const NOTICES: usize = 100;

/// The space on a page.
pub(super) struct PageSpace<'a> {
    texts: &'a Texts<'a>,
    diffs: usize,
    bytes: usize,
    beside: usize,
    rows: usize,
    /// The number of differences that did not fit.
    pub(super) diffs_left_out: usize,
    /// The number of rows that did not fit; none of them went against expectation.
    pub(super) rows_left_out: usize,
}

impl<'a> PageSpace<'a> {
    /// The full budget.
    pub(super) fn new(texts: &'a Texts<'a>) -> Self {
        Self {
            texts,
            diffs: DIFFS,
            bytes: DIFF_BYTES,
            beside: BESIDE_BYTES,
            rows: ROWS,
            diffs_left_out: 0,
            rows_left_out: 0,
        }
    }
}

/// An item.
#[derive(Serialize)]
pub(super) struct ItemShown {
    name: String,
    anchor: usize,
    is_against: bool,
    is_failing: bool,
    tags: Vec<(bool, String)>,
    signals: Vec<Mini>,
    /// The details as HTML, and the pack that holds them where they do not stand here.
    inside: String,
    pack: Option<usize>,
}

/// A figure of an item.
#[derive(Serialize)]
struct Mini {
    name: &'static str,
    shown: String,
    percent: f64,
    n: usize,
}

impl ItemShown {
    /// What an item shows while it is closed; its details are added by [`Self::with_details`].
    pub(super) fn of(item: &mut ItemView<'_>, anchor: usize) -> Self {
        let signals = item.signals.iter().map(|signal| Mini {
            name: signal.name,
            shown: signal.value.map_or_else(|| "–".to_owned(), brief),
            percent: (signal.value.unwrap_or(0.0) * 1000.0).round() / 10.0,
            n: signal.n,
        });
        Self {
            name: safe::cut(item.name, 120),
            anchor,
            is_against: item.against > 0,
            is_failing: item.failed > 0,
            tags: std::mem::take(&mut item.tags),
            signals: signals.collect(),
            inside: String::new(),
            pack: None,
        }
    }

    /// The item with its details, or with the number of the pack that holds them.
    pub(super) fn with_details(mut self, placed: Result<String, usize>) -> Self {
        match placed {
            Ok(details) => self.inside = details,
            Err(pack) => self.pack = Some(pack),
        }
        self
    }
}

/// A part of a page.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum BlockView {
    Heading { text: Phrase },
    Text { sentences: Vec<Phrase> },
    Aside { text: Phrase },
    Formula { lines: &'static [&'static str] },
    Chips { chips: Vec<ChipView> },
    Table(TableView),
    Printed { intro: Phrase, text: String },
    Beside { columns: Vec<TextColumn> },
    Notices { rows: Vec<NoticeRow>, more: usize },
    Trend(TrendView),
}

/// One of several texts that stand next to each other.
#[derive(Serialize)]
pub(super) struct TextColumn {
    intro: Phrase,
    text: String,
    /// Whether the text did not fit and was cut.
    is_cut: bool,
}

impl TextColumn {
    /// As much of a text as fits on the page.
    fn of(intro: &Phrase, text: &str, budget: &mut PageSpace<'_>) -> Self {
        let mut text = safe::lines(text);
        let is_cut = text.len() > budget.beside.max(CUT_TEXT);
        if is_cut {
            let end = (0..=CUT_TEXT).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
        }
        budget.beside = budget.beside.saturating_sub(text.len());
        Self {
            intro: shortened(intro),
            text,
            is_cut,
        }
    }
}

impl BlockView {
    pub(super) fn of(block: Block<'_>, least: &'static str, budget: &mut PageSpace<'_>) -> Self {
        match block {
            Block::Heading(text) => Self::Heading {
                text: shortened(&text),
            },
            Block::Text(sentences) => Self::Text {
                sentences: sentences.iter().map(shortened).collect(),
            },
            Block::Aside(text) => Self::Aside {
                text: shortened(&text),
            },
            Block::Formula(lines) => Self::Formula { lines },
            Block::Chips(chips) => Self::Chips {
                chips: chips.iter().map(ChipView::of).collect(),
            },
            Block::Table(table) => Self::Table(TableView::of(&table, least, budget)),
            Block::Printed(intro, text) => Self::Printed {
                intro: shortened(&intro),
                text: safe::lines(text),
            },
            Block::Beside(texts) => Self::Beside {
                columns: texts
                    .iter()
                    .map(|(intro, text)| TextColumn::of(intro, text, budget))
                    .collect(),
            },
            Block::Notices(notices) => Self::Notices {
                rows: notices
                    .iter()
                    .take(NOTICES)
                    .map(|notice| NoticeRow::of(notice))
                    .collect(),
                more: notices.len().saturating_sub(NOTICES),
            },
            Block::Trend(trend) => Self::Trend(TrendView::of(&trend)),
        }
    }
}

/// A short name in a list of them.
#[derive(Serialize)]
pub(super) struct ChipView {
    text: String,
    title: Option<String>,
    badge: Option<String>,
}

impl ChipView {
    fn of(chip: &Chip) -> Self {
        let short = |text: &String| safe::cut(text, 80);
        Self {
            text: short(&chip.text),
            title: chip.title.as_ref().map(short),
            badge: chip.badge.as_ref().map(short),
        }
    }
}

#[derive(Serialize)]
pub(super) struct TableView {
    title: String,
    columns: Vec<Column>,
    rows: Vec<RowView>,
    noun: &'static str,
    /// Whether the rows have a status.
    has_status: bool,
    /// The number of rows that did not fit, their noun, and where they are.
    more: usize,
    least: &'static str,
    elsewhere: Option<Phrase>,
}

impl TableView {
    pub(super) fn of(table: &Table, least: &'static str, budget: &mut PageSpace<'_>) -> Self {
        let mut rows = Vec::with_capacity(table.rows.len());
        let mut more = 0;
        for row in &table.rows {
            let counts = row.status.is_some();
            if counts && budget.rows == 0 && row.status != Some(Status::Against) {
                more += 1;
                continue;
            }
            budget.rows = budget.rows.saturating_sub(usize::from(counts));
            rows.push(RowView::of(row, budget));
        }
        budget.rows_left_out += more;
        Self {
            title: shortened(&table.title).show(|_, text| text.to_owned()),
            columns: table.columns.clone(),
            has_status: table.rows.iter().any(|row| row.status.is_some()),
            rows,
            noun: table.noun,
            more,
            least,
            elsewhere: table.elsewhere.as_ref().map(shortened),
        }
    }
}

#[derive(Serialize)]
struct RowView {
    /// The first cell, which names the row.
    name: String,
    cells: Vec<(Option<Phrase>, Phrase)>,
    anchor: Option<String>,
    status: Option<Status>,
    detail: Option<DetailView>,
}

/// The details that open below a row, or why there are none.
#[derive(Serialize)]
pub(super) struct DetailView {
    title: &'static str,
    chips: Vec<ChipView>,
    diff: Vec<DiffLine>,
    more: usize,
    note: Option<&'static str>,
    file: String,
}

impl RowView {
    fn of(row: &TableRow, budget: &mut PageSpace<'_>) -> Self {
        let mut cells = row.cells.iter();
        let name = cells.next().map(|cell| shortened(&cell.text));
        Self {
            name: name.unwrap_or_default().show(|_, text| text.to_owned()),
            cells: cells
                .map(|cell| (cell.before.as_ref().map(shortened), shortened(&cell.text)))
                .collect(),
            anchor: row.anchor.clone(),
            status: row.status,
            detail: row
                .detail
                .as_ref()
                .map(|detail| DetailView::of(detail, budget)),
        }
    }
}

impl DetailView {
    pub(super) fn of(detail: &Detail, budget: &mut PageSpace<'_>) -> Self {
        match detail {
            Detail::Chips(title, chips) => Self {
                chips: chips.iter().map(ChipView::of).collect(),
                ..Self::empty(title, "")
            },
            Detail::Difference {
                title,
                item,
                part,
                file,
            } => {
                let mut view = Self::empty(title, file);
                view.compare(item, part, budget);
                view
            }
        }
    }

    fn empty(title: &'static str, file: &str) -> Self {
        Self {
            title,
            chips: Vec::new(),
            diff: Vec::new(),
            more: 0,
            note: None,
            file: safe::cut(file, FOREIGN),
        }
    }

    fn compare(&mut self, item: &str, part: &str, budget: &mut PageSpace<'_>) {
        if budget.diffs == 0 || budget.bytes == 0 {
            budget.diffs_left_out += 1;
            self.note = Some("The diff was left out to keep this page quick.");
            return;
        }
        let texts = budget.texts;
        let (Some(before), Some(after)) = (texts(item, None), texts(item, Some(part))) else {
            self.note = Some("The inputs are not at hand.");
            return;
        };
        if before.len().max(after.len()) > diff::LONGEST {
            budget.diffs_left_out += 1;
            self.note = Some("The inputs are too long to compare here.");
            return;
        }
        (self.diff, self.more) = diff::lines(&before, &after);
        budget.diffs -= 1;
        let bytes: usize = self.diff.iter().map(DiffLine::len).sum();
        budget.bytes = budget.bytes.saturating_sub(bytes);
    }
}

/// A notice.
#[derive(Serialize)]
pub(super) struct NoticeRow {
    label: String,
    place: Vec<String>,
    counts: Option<(u64, u64)>,
    text: String,
}

impl NoticeRow {
    pub(super) fn of(notice: &Notice) -> Self {
        let place = [&notice.case, &notice.kind].into_iter().flatten();
        Self {
            label: label(&notice.code).into_owned(),
            place: place.map(|part| safe::cut(part, 120)).collect(),
            counts: notice.wanted.zip(notice.got),
            text: safe::cut(&notice.text, 600),
        }
    }
}
