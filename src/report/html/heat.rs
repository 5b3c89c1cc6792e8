//! The heat map: how far the decision moved, by the type of unit that a variant touched and the kind
//! of perturbation.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::perturb::Relation;
use crate::probe::{CaseRecord, VariantRecord};
use crate::report::{Report, safe};

/// The row of neutral sections.
const FILLER: &str = "(neutral sections)";

/// A table of mean distances.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Heat {
    /// The columns: kinds, with what the decision ought to do.
    kinds: Vec<(String, bool)>,
    /// The rows: a unit type, and a cell for each kind.
    rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// The samples that touched one type in one kind of perturbation.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Cell {
    /// How far the mean is from what it ought to be, in `[0, 1]`.
    off: f64,
    /// For people.
    shown: String,
    /// How many samples.
    n: usize,
}

/// The map of a report.
pub(super) fn map(report: &Report) -> Heat {
    let mut cells: BTreeMap<(&str, &str), (f64, usize)> = BTreeMap::new();
    let mut kinds: BTreeMap<&str, bool> = BTreeMap::new();
    for case in report.cases.values() {
        for variant in &case.variants {
            kinds.insert(&variant.kind, variant.relation == Relation::Sensitivity);
            for unit_type in touched(case, variant) {
                for distance in variant.samples.iter().filter_map(|sample| sample.distance) {
                    let (sum, n) = cells.entry((unit_type, &variant.kind)).or_default();
                    *sum += distance;
                    *n += 1;
                }
            }
        }
    }
    let types: BTreeSet<&str> = cells.keys().map(|(unit_type, _)| *unit_type).collect();
    let cell = |unit_type, kind, moves: bool| {
        let (sum, n) = cells.get(&(unit_type, kind))?;
        let mean = sum / *n as f64;
        Some(Cell {
            off: if moves { 1.0 - mean } else { mean },
            shown: format!("{mean:.2}"),
            n: *n,
        })
    };
    Heat {
        rows: types
            .iter()
            .map(|unit_type| {
                let cells = kinds
                    .iter()
                    .map(|(kind, moves)| cell(*unit_type, *kind, *moves));
                (safe::cut(unit_type, 80), cells.collect())
            })
            .collect(),
        kinds: kinds
            .into_iter()
            .map(|(kind, moves)| (kind.to_owned(), moves))
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
        .map(|unit| unit.unit_type.as_str())
        .chain(notes.added.iter().map(|added| match added.from {
            Some(_) => added.unit_type.as_str(),
            // One row for the whole bank: no section of it is a type of the cases.
            None => FILLER,
        }))
        .collect()
}
