//! The upper part of the page: the verdict, the signals, every figure and the map.

use std::io;

use minijinja::Environment;
use serde::Serialize;

use super::blocks::PageSpace;
use super::foot::FailureView;
use super::foreign::shortened;
use super::opening::OpeningView;
use super::plane::PlaneView;
use super::spread::SpreadView;
use super::{SCRIPT, permission};
use crate::{
    Chapter, Estimate, FigureTable, HeatGrid, Phrase, RunPage, Signal, Statement, Tone, safe,
};

/// The maximum number of rows of a map.
const HEAT_ROWS: usize = 100;
/// How many items of a restricted run are named at most.
const ONLY: usize = 50;

#[derive(Serialize)]
pub(super) struct Head {
    permission: String,
    title: String,
    opening: Option<OpeningView>,
    verdict: &'static str,
    meaning: &'static str,
    scope: String,
    only: Vec<String>,
    statements: Vec<StatementView>,
    /// The first failure, if it is the reason why the measurement failed.
    failure: Option<FailureView>,
    planes: Vec<PlaneView>,
    spreads: Vec<SpreadView>,
    cards: Vec<Card>,
    groups: Vec<GroupView>,
    tables: Vec<FigureTableView>,
    heats: Vec<HeatView>,
    items: Option<ItemsView>,
    failed: usize,
    notices: usize,
}

#[derive(Serialize)]
pub(super) struct StatementView {
    tone: Tone,
    word: &'static str,
    text: Phrase,
}

#[derive(Serialize)]
struct Card {
    name: &'static str,
    question: &'static str,
    figure: EstimateView,
    /// The length of the bar and the ends of the interval, in percent.
    percent: f64,
    interval: Option<(f64, f64)>,
    no_interval: &'static str,
    /// The marks of the scale, in percent.
    ticks: Vec<f64>,
    note: String,
}

#[derive(Serialize)]
struct EstimateView {
    name: Phrase,
    is_measured: bool,
    shown: String,
    sample: String,
    interval: Option<String>,
    word: Option<&'static str>,
    /// The index of the band, 0 for the best; none if there is no band.
    band: Option<usize>,
    reason: String,
    /// The length of a bar, in percent; none if no bar is drawn.
    bar: Option<f64>,
}

#[derive(Serialize)]
struct GroupView {
    title: &'static str,
    note: &'static str,
    rows: Vec<EstimateView>,
}

#[derive(Serialize)]
struct FigureTableView {
    title: &'static str,
    note: &'static str,
    rows: Vec<EstimateView>,
}

#[derive(Serialize)]
struct HeatView {
    title: &'static str,
    note: &'static str,
    /// The noun for a row, and its plural.
    row: [&'static str; 2],
    groups: Vec<(&'static str, usize)>,
    /// The columns, each with whether it begins a group other than the first one.
    columns: Vec<(String, bool)>,
    rows: Vec<HeatRowView>,
    more: usize,
}

#[derive(Serialize)]
struct HeatRowView {
    name: String,
    badge: Option<&'static str>,
    cells: Vec<Option<HeatCellView>>,
}

#[derive(Serialize)]
struct HeatCellView {
    off: Option<f64>,
    shown: String,
    n: usize,
}

#[derive(Serialize)]
struct ItemsView {
    title: &'static str,
    note: &'static str,
    all: usize,
    against: usize,
    failing: usize,
}

impl Head {
    /// The part of the page above its items.
    ///
    /// # Errors
    ///
    /// Fails like [`OpeningView::of`].
    pub(super) fn of(
        page: &RunPage<'_>,
        environment: &Environment<'_>,
        budget: &mut PageSpace<'_>,
    ) -> io::Result<Self> {
        let opening = OpeningView::of(page, environment, budget)?;
        let headword = page.headword();
        let first = page.chapters.first().and_then(|one| one.scope.first());
        let caveats = page.caveats().filter(|_| opening.is_none());
        let caveats = caveats.map(|text| {
            StatementView::of(&Statement {
                tone: Tone::Caution,
                text: Phrase::marked(text),
            })
        });
        let caveats: Vec<StatementView> = caveats.collect();
        let statements = page.statements().map(StatementView::of);
        let statements = caveats.into_iter().chain(statements);
        let cards = page.chapters.iter().flat_map(|chapter| {
            let signals = chapter.signals.iter();
            signals.map(|signal| Card::of(signal, chapter.no_interval))
        });
        let groups = page.chapters.iter().flat_map(|one| &one.groups);
        let groups = groups.map(|group| GroupView {
            title: group.title,
            note: group.note,
            rows: group
                .rows
                .iter()
                .map(|(name, estimate)| EstimateView::of(Phrase::text(*name), estimate))
                .collect(),
        });
        let measures = page.chapters.iter().filter_map(|one| one.measures.as_ref());
        let tables = measures.chain(page.tables()).map(FigureTableView::of);
        let planes = page.chapters.iter().filter_map(|one| one.plane.as_ref());
        let spreads = page.chapters.iter().filter_map(|one| one.spread.as_ref());
        let heats = page.chapters.iter().filter_map(|one| one.heat.as_ref());
        Ok(Self {
            permission: permission(SCRIPT),
            title: {
                let title = opening.as_ref().map_or(headword.title, OpeningView::title);
                match first {
                    Some(scope) => format!("{title}: kelvin, {scope}"),
                    None => format!("{title}: kelvin"),
                }
            },
            opening,
            verdict: headword.title,
            meaning: headword.meaning,
            scope: page.scope.join(", "),
            only: page
                .only
                .iter()
                .take(ONLY)
                .map(|one| safe::cut(one, 80))
                .collect(),
            statements: statements.collect(),
            failure: first_failure(page),
            planes: planes.map(PlaneView::of).collect(),
            spreads: spreads.map(SpreadView::of).collect(),
            cards: cards.collect(),
            groups: groups.collect(),
            tables: tables.collect(),
            heats: heats.map(HeatView::of).collect(),
            items: ItemsView::of(page),
            failed: page.failed().len(),
            notices: page.notices.iter().map(|count| count.count).sum(),
        })
    }
}

/// The first failure of a page without any measured figure: then this failure is the result. An estimate of the share
/// of failures does not count as a figure.
fn first_failure(page: &RunPage<'_>) -> Option<FailureView> {
    let figures = |chapter: &Chapter<'_>| {
        let measures = chapter.measures.iter().flat_map(|table| &table.rows);
        let signals = chapter.signals.iter().map(|one| one.estimate.value);
        signals
            .chain(measures.map(|(_, estimate)| estimate.value))
            .any(|value| value.is_some())
    };
    let failed = page.failed();
    let first = failed
        .first()
        .filter(|_| !page.chapters.iter().any(figures))?;
    Some(FailureView::of(first, None))
}

impl StatementView {
    pub(super) fn of(statement: &Statement) -> Self {
        Self {
            tone: statement.tone,
            word: match statement.tone {
                Tone::Alarm => "Problem",
                Tone::Caution => "Note",
                Tone::Calm => "Fine",
            },
            text: shortened(&statement.text),
        }
    }
}

impl ItemsView {
    /// The items of all chapters in one list, under the title of the first chapter.
    fn of(page: &RunPage<'_>) -> Option<Self> {
        let lists = page.chapters.iter().filter_map(|one| one.items.as_ref());
        let add = |all: Self, one: Self| Self {
            all: all.all + one.all,
            against: all.against + one.against,
            failing: all.failing + one.failing,
            ..all
        };
        let views = lists.map(|list| Self {
            title: list.title,
            note: list.note,
            all: list.count,
            against: list.against,
            failing: list.failing,
        });
        views.reduce(add)
    }
}

impl Card {
    fn of(signal: &Signal<'_>, no_interval: &'static str) -> Self {
        let part = |value: f64| percent(value / signal.most);
        let ends = signal.estimate.ends.map(|(low, high)| {
            let (low, high) = (part(low), part(high));
            (low, (high - low).max(0.5))
        });
        Self {
            name: signal.name,
            question: signal.question,
            percent: part(signal.estimate.value.unwrap_or(0.0)),
            interval: ends,
            no_interval,
            ticks: signal.marks.iter().map(|mark| part(*mark)).collect(),
            note: signal.note.clone(),
            figure: EstimateView::of(Phrase::text(signal.name), &signal.estimate),
        }
    }
}

impl FigureTableView {
    fn of(table: &FigureTable<'_>) -> Self {
        let rows = table.rows.iter();
        Self {
            title: table.title,
            note: table.note,
            rows: rows
                .map(|(name, estimate)| EstimateView {
                    bar: estimate.value.filter(|_| table.in_bars).map(percent),
                    ..EstimateView::of(shortened(name), estimate)
                })
                .collect(),
        }
    }
}

impl EstimateView {
    fn of(name: Phrase, estimate: &Estimate<'_>) -> Self {
        Self {
            name,
            is_measured: estimate.value.is_some(),
            shown: estimate.shown.clone(),
            sample: estimate.sample.clone(),
            interval: estimate.interval.clone(),
            word: estimate.word,
            band: estimate.band,
            bar: None,
            reason: safe::cut(estimate.reason.unwrap_or_default(), 300),
        }
    }
}

impl HeatView {
    fn of(grid: &HeatGrid) -> Self {
        let groups: Vec<&(&'static str, Vec<String>)> = grid
            .groups
            .iter()
            .filter(|(_, columns)| !columns.is_empty())
            .collect();
        let columns = groups.iter().enumerate().flat_map(|(place, (_, names))| {
            let names = names.iter().enumerate();
            names.map(move |(at, name)| (safe::cut(name, 60), place > 0 && at == 0))
        });
        let rows = grid.rows.iter().take(HEAT_ROWS).map(|row| HeatRowView {
            name: safe::cut(&row.name, 60),
            badge: row.badge,
            cells: row
                .cells
                .iter()
                .map(|cell| {
                    cell.map(|cell| HeatCellView {
                        off: cell.off.map(|off| (off * 1000.0).round() / 1000.0),
                        shown: format!("{:.2}", cell.mean),
                        n: cell.n,
                    })
                })
                .collect(),
        });
        Self {
            title: grid.title,
            note: grid.note,
            row: grid.row,
            columns: columns.collect(),
            rows: rows.collect(),
            more: grid.rows.len().saturating_sub(HEAT_ROWS),
            groups: groups
                .iter()
                .map(|(title, columns)| (*title, columns.len()))
                .collect(),
        }
    }
}

fn percent(value: f64) -> f64 {
    (value.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}
