//! The heat map: how far the decision moved, by the type of unit that a variant touched and the kind
//! of perturbation.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::probe::evidence::perturb::Relation;
use crate::probe::{CaseRecord, VariantRecord};
use crate::report::safe;
use crate::report::summary::{Summary, ignored_types, order};

/// The row of neutral sections: no section of the bank is a type of the cases.
const FILLER: &str = "(neutral sections)";
/// The most rows; further types are counted.
const ROWS: usize = 100;

/// A table of mean distances.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Heat {
    /// The columns: those that ought to hold first, each in the order of the registry.
    kinds: Vec<Kind>,
    /// How many columns ought to hold.
    holding: usize,
    rows: Vec<Row>,
    /// How many rows were left out.
    more: usize,
}

#[derive(Debug, PartialEq, Serialize)]
struct Kind {
    name: String,
    moves: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Row {
    unit_type: String,
    governs: bool,
    cells: Vec<Option<Cell>>,
}

/// The samples that touched one type in one kind of perturbation.
#[derive(Debug, PartialEq, Serialize)]
struct Cell {
    /// How far the mean is from what it ought to be, in `[0, 1]`; none where that is not known.
    off: Option<f64>,
    /// The mean distance, for people.
    shown: String,
    n: usize,
}

/// The map of a report.
pub(super) fn map(summary: &Summary<'_>) -> Heat {
    let report = summary.report;
    let mut cells: BTreeMap<(&str, &str), (f64, usize)> = BTreeMap::new();
    let mut kinds: BTreeSet<(bool, usize, &str)> = BTreeSet::new();
    for case in report.cases.values() {
        for variant in &case.variants {
            let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
            if distances.is_empty() {
                continue;
            }
            let moves = variant.relation == Relation::Sensitivity;
            kinds.insert((moves, order(&variant.kind), &variant.kind));
            for unit_type in touched(case, variant) {
                let (sum, n) = cells.entry((unit_type, &variant.kind)).or_default();
                *sum += distances.iter().sum::<f64>();
                *n += distances.len();
            }
        }
    }
    let ignored = ignored_types(report);
    let not_followed = |name: &str| match (summary.following.word, summary.following.value) {
        (Some(_), Some(following)) => Some(1.0 - following),
        _ => ignored.contains(name).then_some(1.0),
    };
    let governs = |name: &str| report.run.governing_types.iter().any(|one| one == name);
    let types: BTreeSet<(bool, &str)> = cells
        .keys()
        .map(|(unit_type, _)| (!governs(unit_type), *unit_type))
        .collect();
    let cell = |unit_type: &str, kind: &str, moves: bool| {
        let (sum, n) = cells.get(&(unit_type, kind))?;
        let mean = sum / *n as f64;
        let off = match moves {
            false => Some(mean),
            true => not_followed(unit_type).filter(|_| kind == "swap"),
        };
        Some(Cell {
            off: off.map(|off| (off * 1000.0).round() / 1000.0),
            shown: format!("{mean:.2}"),
            n: *n,
        })
    };
    let row = |(not, unit_type): &(bool, &str)| Row {
        unit_type: safe::cut(unit_type, 60),
        governs: !not,
        cells: kinds
            .iter()
            .map(|(moves, _, kind)| cell(unit_type, kind, *moves))
            .collect(),
    };
    Heat {
        rows: types.iter().take(ROWS).map(row).collect(),
        more: types.len().saturating_sub(ROWS),
        holding: kinds.iter().filter(|(moves, ..)| !moves).count(),
        kinds: kinds
            .iter()
            .map(|(moves, _, name)| Kind {
                name: safe::cut(name, 60),
                moves: *moves,
            })
            .collect(),
    }
}

/// The types of the units that moved, came in, went out or were rewritten.
fn touched<'a>(case: &'a CaseRecord, variant: &'a VariantRecord) -> BTreeSet<&'a str> {
    let notes = &variant.notes;
    let moved = notes
        .order
        .iter()
        .enumerate()
        .filter(|(at, from)| at != *from)
        .map(|(_, from)| from);
    moved
        .chain(&notes.removed)
        .chain(&notes.edited)
        .filter_map(|place| case.units.get(*place))
        .map(|unit| unit.unit_type.as_ref())
        .chain(notes.added.iter().map(|added| match added.from {
            Some(_) => &*added.unit_type,
            None => FILLER,
        }))
        .collect()
}
