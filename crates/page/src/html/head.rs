//! The upper part of the page: the verdict, the signals, every figure and the map.

use std::io;

use minijinja::Environment;
use serde_json::{Value, json};

use super::blocks::PageSpace;
use super::drawings::{plane_view, spread_view};
use super::foot::failure_view;
use super::foreign::shortened;
use super::opening::opening_view;
use super::{SCRIPT, permission};
use crate::{
    Chapter, Estimate, FigureTable, HeatCell, HeatGrid, Phrase, RunPage, Signal, Statement, Tone,
    capitalized, safe,
};

/// The maximum number of rows of a map.
const HEAT_ROWS: usize = 100;
/// How many items of a restricted run are named at most.
const ONLY: usize = 50;

/// The part of the page above its items. Fails like [`opening_view`].
pub(super) fn head_view(
    page: &RunPage<'_>,
    environment: &Environment<'_>,
    budget: &mut PageSpace<'_>,
) -> io::Result<Value> {
    let opening = opening_view(page, environment, budget)?;
    let headword = page.headword();
    let first = page.chapters.first().and_then(|one| one.scope.first());
    let caveats = page.caveats().filter(|_| opening.is_none());
    let caveats = caveats.map(|text| {
        statement_view(&Statement {
            tone: Tone::Caution,
            text: Phrase::marked(text),
        })
    });
    let statements = caveats.chain(page.statements().map(statement_view));
    let cards = page.chapters.iter().flat_map(|chapter| {
        let signals = chapter.signals.iter();
        signals.map(|signal| card(signal, chapter.no_interval))
    });
    let groups = page.chapters.iter().flat_map(|one| &one.groups);
    let groups = groups.map(|group| {
        let rows = group.rows.iter();
        let rows = rows.map(|(name, estimate)| estimate_view(Phrase::text(*name), estimate, None));
        json!({ "title": group.title, "note": group.note, "rows": rows.collect::<Vec<_>>() })
    });
    let measures = page.chapters.iter().filter_map(|one| one.measures.as_ref());
    let tables = measures.chain(page.tables()).map(figure_table);
    let planes = page.chapters.iter().filter_map(|one| one.plane.as_ref());
    let spreads = page.chapters.iter().filter_map(|one| one.spread.as_ref());
    let heats = page.chapters.iter().filter_map(|one| one.heat.as_ref());
    let title = page.opening.as_ref();
    let title = title.map_or(headword.title.to_owned(), |opening| {
        capitalized(opening.word)
    });
    let only = page.only.iter().take(ONLY).map(|one| safe::cut(one, 80));
    Ok(json!({
        "permission": permission(SCRIPT),
        "title": match first {
            Some(scope) => format!("{title}: kelvin, {scope}"),
            None => format!("{title}: kelvin"),
        },
        "opening": opening,
        "verdict": headword.title,
        "meaning": headword.meaning,
        "scope": page.scope.join(", "),
        "only": only.collect::<Vec<_>>(),
        "statements": statements.collect::<Vec<_>>(),
        "failure": first_failure(page),
        "planes": planes.map(plane_view).collect::<Vec<_>>(),
        "spreads": spreads.map(spread_view).collect::<Vec<_>>(),
        "cards": cards.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
        "heats": heats.map(heat_view).collect::<Vec<_>>(),
        "items": items_view(page),
        "failed": page.failed().len(),
        "notices": page.notices.iter().map(|count| count.count).sum::<usize>(),
    }))
}

/// The first failure of a page without any measured figure: then this failure is the result. An estimate of the share
/// of failures does not count as a figure.
fn first_failure(page: &RunPage<'_>) -> Option<Value> {
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
    Some(failure_view(first, None))
}

pub(super) fn statement_view(statement: &Statement) -> Value {
    json!({
        "tone": statement.tone,
        "word": match statement.tone {
            Tone::Alarm => "Problem",
            Tone::Caution => "Note",
            Tone::Calm => "Fine",
        },
        "text": shortened(&statement.text),
    })
}

/// The items of all chapters in one list, under the title of the first chapter.
fn items_view(page: &RunPage<'_>) -> Option<Value> {
    let lists = page.chapters.iter().filter_map(|one| one.items.as_ref());
    let first = lists.clone().next()?;
    Some(json!({
        "title": first.title,
        "note": first.note,
        "all": lists.clone().map(|list| list.count).sum::<usize>(),
        "against": lists.clone().map(|list| list.against).sum::<usize>(),
        "failing": lists.map(|list| list.failing).sum::<usize>(),
    }))
}

/// A signal. Its lengths, ends and marks are in percent of its scale.
fn card(signal: &Signal<'_>, no_interval: &str) -> Value {
    let part = |value: f64| percent(value / signal.most);
    let ends = signal.estimate.ends.map(|(low, high)| {
        let (low, high) = (part(low), part(high));
        (low, (high - low).max(0.5))
    });
    json!({
        "name": signal.name,
        "question": signal.question,
        "percent": part(signal.estimate.value.unwrap_or(0.0)),
        "interval": ends,
        "no_interval": no_interval,
        "ticks": signal.marks.iter().map(|mark| part(*mark)).collect::<Vec<_>>(),
        "note": signal.note,
        "figure": estimate_view(Phrase::text(signal.name), &signal.estimate, None),
    })
}

fn figure_table(table: &FigureTable<'_>) -> Value {
    let rows = table.rows.iter().map(|(name, estimate)| {
        let bar = estimate.value.filter(|_| table.in_bars).map(percent);
        estimate_view(shortened(name), estimate, bar)
    });
    json!({ "title": table.title, "note": table.note, "rows": rows.collect::<Vec<_>>() })
}

/// A figure; `bar` is the length of its bar in percent, if one is drawn.
fn estimate_view(name: Phrase, estimate: &Estimate<'_>, bar: Option<f64>) -> Value {
    json!({
        "name": name,
        "is_measured": estimate.value.is_some(),
        "shown": estimate.shown,
        "sample": estimate.sample,
        "interval": estimate.interval,
        "word": estimate.word,
        "band": estimate.band,
        "bar": bar,
        "reason": safe::cut(estimate.reason.unwrap_or_default(), 300),
    })
}

fn heat_view(grid: &HeatGrid) -> Value {
    let groups: Vec<&(&'static str, Vec<String>)> = grid
        .groups
        .iter()
        .filter(|(_, columns)| !columns.is_empty())
        .collect();
    // Each column says whether it begins a group other than the first one.
    let columns = groups.iter().enumerate().flat_map(|(place, (_, names))| {
        let names = names.iter().enumerate();
        names.map(move |(at, name)| (safe::cut(name, 60), place > 0 && at == 0))
    });
    let cell = |cell: &HeatCell| {
        let off = cell.off.map(|off| (off * 1000.0).round() / 1000.0);
        json!({ "off": off, "shown": format!("{:.2}", cell.mean), "n": cell.n })
    };
    let rows = grid.rows.iter().take(HEAT_ROWS).map(|row| {
        let cells = row.cells.iter();
        let cells = cells.map(|one| one.as_ref().map(cell));
        json!({
            "name": safe::cut(&row.name, 60),
            "badge": row.badge,
            "cells": cells.collect::<Vec<_>>(),
        })
    });
    let titles = groups
        .iter()
        .map(|(title, columns)| (*title, columns.len()));
    json!({
        "title": grid.title,
        "note": grid.note,
        "row": grid.row,
        "groups": titles.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "more": grid.rows.len().saturating_sub(HEAT_ROWS),
    })
}

fn percent(value: f64) -> f64 {
    (value.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}
