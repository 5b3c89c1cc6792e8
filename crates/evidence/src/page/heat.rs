//! The heat map: how far the decision moved, by the type of the changed unit and the kind of perturbation.

use std::collections::{BTreeMap, BTreeSet};

use super::EvidenceRun;
use super::signals::Signals;
use super::swaps::ignored_types;
use super::tables::order;
use crate::perturb::{POSITION, Relation};
use crate::{CaseRecord, VariantRecord};
use kelvin_page::{HeatCell, HeatGrid, HeatRow};

/// The row of the neutral sections: sections of the filler bank have no unit type of the cases.
const FILLER: &str = "(neutral sections)";

/// The map of a run; none if there are no comparisons.
pub(super) fn map(run: &EvidenceRun<'_>, signals: &Signals<'_>) -> Option<HeatGrid> {
    let mut sums: BTreeMap<(&str, &str), (f64, usize)> = BTreeMap::new();
    // Kinds that should not move the decision come first; within both groups the order is that of the registry.
    let mut kinds: BTreeSet<(bool, usize, &str)> = BTreeSet::new();
    for case in run.cases.values() {
        for variant in &case.variants {
            let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
            if distances.is_empty() {
                continue;
            }
            let moves = variant.relation == Relation::Sensitivity;
            kinds.insert((moves, order(&variant.kind), &variant.kind));
            for unit_type in touched(case, variant) {
                let (sum, n) = sums.entry((unit_type, &variant.kind)).or_default();
                *sum += distances.iter().sum::<f64>();
                *n += distances.len();
            }
        }
    }
    let ignored = ignored_types(run);
    let not_followed = |name: &str| match (signals.following.word, signals.following.value) {
        (Some(_), Some(following)) => Some(1.0 - following),
        _ => ignored.contains(name).then_some(1.0),
    };
    let governs = |name: &str| run.governing_types.iter().any(|one| one == name);
    let types: BTreeSet<(bool, &str)> = sums
        .keys()
        .map(|(unit_type, _)| (!governs(unit_type), *unit_type))
        .collect();
    let cell = |unit_type: &str, kind: &str, moves: bool| {
        let (sum, n) = sums.get(&(unit_type, kind))?;
        let mean = sum / *n as f64;
        let off = match moves {
            false if kind == POSITION => None,
            false => Some(mean),
            true => not_followed(unit_type).filter(|_| kind == "swap"),
        };
        Some(HeatCell { off, mean, n: *n })
    };
    let row = |(not, unit_type): &(bool, &str)| HeatRow {
        name: (*unit_type).to_owned(),
        badge: (!not).then_some("governs"),
        cells: kinds
            .iter()
            .map(|(moves, _, kind)| cell(unit_type, kind, *moves))
            .collect(),
    };
    let columns = |wanted: bool| -> Vec<String> {
        let group = kinds.iter().filter(|(moves, ..)| *moves == wanted);
        group.map(|(.., name)| (*name).to_owned()).collect()
    };
    (!types.is_empty()).then(|| HeatGrid {
        title: "Where the decision moved",
        note: "Mean distance between the decision before and after, over the variants that moved, \
               added, replaced or rewrote a unit of the type. Where it ought to hold, 0 is good, and \
               the warmer a cell, the further from it. Other evidence may rightly lead to the same \
               decision: a cell on the right is warm only where the pipeline did not follow a type.",
        row: ["unit type", "unit types"],
        groups: vec![
            ("ought to hold", columns(false)),
            ("ought to move", columns(true)),
        ],
        rows: types.iter().map(row).collect(),
    })
}

/// The types of the units that were moved, inserted, removed or rewritten.
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
