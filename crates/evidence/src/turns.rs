//! Evaluates whether the decision uses each turn of a conversation: which turns a variant changed, how often the
//! decision moved with other evidence there, and how stable it was if the same evidence was only presented differently.

use std::collections::{BTreeMap, BTreeSet};

use super::basis::Basis;
use super::perturb::{Figure, Notes, POSITION};
use super::{CaseRecord, VariantRecord};
use kelvin_base::stats::Balanced;

/// The effect of the variants that changed one turn.
#[derive(Debug, Default)]
pub(crate) struct TurnFigures {
    /// How often the decision moved with other evidence in the turn.
    pub(crate) moved: Balanced,
    /// How far the decision moved if the same evidence was only presented differently.
    pub(crate) drift: Balanced,
}

/// The figures of each turn, by its number from 1; empty if no case has turns.
pub(crate) fn figures(
    basis: &Basis,
    cases: &BTreeMap<String, CaseRecord>,
) -> BTreeMap<usize, TurnFigures> {
    let mut all: BTreeMap<usize, TurnFigures> = BTreeMap::new();
    for case in cases.values() {
        let mut parts: BTreeMap<usize, [Vec<Vec<f64>>; 2]> = BTreeMap::new();
        for variant in &case.variants {
            let distances = variant.samples.iter().filter_map(|sample| sample.distance);
            let moved = |distance: f64| f64::from(u8::from(distance > 0.0));
            let (at, values): (usize, Vec<f64>) = match basis.figure(&variant.kind) {
                Some(Figure::Invariance) => (1, distances.collect()),
                _ if is_other_evidence(basis, case, variant) => (0, distances.map(moved).collect()),
                _ => continue,
            };
            for turn in touched(case, &variant.notes) {
                parts.entry(turn + 1).or_default()[at].push(values.clone());
            }
        }
        for (turn, [moved, drift]) in parts {
            let figures = all.entry(turn).or_default();
            figures.moved.add(moved);
            figures.drift.add(drift);
        }
    }
    all
}

/// Whether a variant has other evidence than its case. Neutral text counts as other evidence if it replaces a governing
/// unit.
fn is_other_evidence(basis: &Basis, case: &CaseRecord, variant: &VariantRecord) -> bool {
    match basis.figure(&variant.kind) {
        Some(Figure::Sensitivity | Figure::Condition | Figure::Mechanical) => true,
        Some(Figure::Position) => edits_governing(case, variant, &basis.governing_types),
        _ => false,
    }
}

fn edits_governing(case: &CaseRecord, variant: &VariantRecord, governing: &[String]) -> bool {
    let edited = variant.notes.edited.iter();
    let mut types = edited.filter_map(|unit| Some(&*case.units.get(*unit)?.unit_type));
    types.any(|name| governing.iter().any(|one| one == name))
}

/// The turns, from 0, in which a variant changed something.
fn touched(case: &CaseRecord, notes: &Notes) -> BTreeSet<usize> {
    let turn = |unit: usize| case.units.get(unit)?.turn.map(|turn| turn as usize);
    let gone = notes.removed.iter().chain(&notes.edited);
    let mut touched: BTreeSet<usize> = gone.filter_map(|unit| turn(*unit)).collect();
    let others = notes.order.windows(2).filter(|two| two[0] > two[1]);
    touched.extend(others.filter_map(|two| turn(two[0]).filter(|one| turn(two[1]) == Some(*one))));
    // A replacement is in the turn of the replaced unit. An inserted unit is in an array, so it is in the same turn as
    // its neighbours in this array.
    if !notes.removed.is_empty() {
        return touched;
    }
    let own: Vec<usize> = match notes.order.is_empty() {
        true => (0..case.units.len()).collect(),
        false => notes.order.clone(),
    };
    for (before, added) in notes.added.iter().enumerate() {
        let after = added.at.saturating_sub(before);
        let beside = [after.checked_sub(1), Some(after)];
        let beside = beside.into_iter().flatten().filter_map(|at| own.get(at));
        let best = beside.max_by_key(|unit| {
            let unit = &case.units[**unit];
            (unit.unit_type == added.unit_type, unit.list.is_some())
        });
        touched.extend(best.and_then(|unit| turn(*unit)));
    }
    touched
}

/// A variant that should show whether a turn is used: the turn contains a unit of another case with another answer, or
/// neutral text in place of a governing unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnTrial<'a> {
    /// The name of the case.
    pub(crate) case: &'a str,
    /// The turn, from 1.
    pub(crate) turn: usize,
    /// How many turns the case has.
    pub(crate) of: usize,
    /// Whether the decision moved.
    pub(crate) moved: bool,
}

/// Every variant that changed a turn, once for each of its answers.
pub(crate) fn trials<'a>(
    cases: &'a BTreeMap<String, CaseRecord>,
    governing: &[String],
) -> Vec<TurnTrial<'a>> {
    let mut all = Vec::new();
    for (name, case) in cases {
        let of = count(case);
        for variant in &case.variants {
            let tells = match variant.kind == POSITION {
                true => edits_governing(case, variant, governing),
                false => {
                    let swap = variant.swap.as_ref().filter(|_| variant.kind == "swap");
                    swap.is_some_and(|swap| swap.donor_differs)
                }
            };
            let turns = match tells {
                true => touched(case, &variant.notes),
                false => BTreeSet::new(),
            };
            let distances = variant.samples.iter().filter_map(|sample| sample.distance);
            for (distance, turn) in distances.flat_map(|one| turns.iter().map(move |at| (one, at)))
            {
                all.push(TurnTrial {
                    case: name,
                    turn: turn + 1,
                    of,
                    moved: distance > 0.0,
                });
            }
        }
    }
    all
}

/// How many turns a case has; 0 if it is one input.
pub(crate) fn count(case: &CaseRecord) -> usize {
    let turns = case.units.iter().filter_map(|unit| unit.turn);
    turns.max().map_or(0, |last| last as usize + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::UnitRecord;
    use crate::perturb::Added;

    /// A claim, an array of photographs, another array and a question, in three turns.
    fn case() -> CaseRecord {
        let unit = |name: &str, list, turn| UnitRecord {
            unit_type: name.into(),
            line: 1,
            list,
            turn: Some(turn),
        };
        let units = vec![
            unit("claim", None, 0),
            unit("photos", Some(0), 1),
            unit("photos", Some(0), 1),
            unit("notes", Some(1), 2),
            unit("notes", Some(1), 2),
            unit("question", None, 2),
        ];
        let case = serde_json::json!({
            "file": "a.jsonl", "folder": "a", "input": kelvin_base::digest::Digest::of(b""), "units": units,
            "baseline": [], "variants": [], "invariance": null, "invariance_n": 0, "sensitivity": null,
            "sensitivity_n": 0, "failed": 0
        });
        serde_json::from_value(case).expect("a case")
    }

    fn touched_by(notes: &Notes) -> Vec<usize> {
        touched(&case(), notes).into_iter().collect()
    }

    #[test]
    fn the_turns_that_a_variant_changes_are_those_of_its_units() {
        let edited = |edited: &[usize]| Notes {
            edited: edited.to_vec(),
            ..Notes::default()
        };
        assert_eq!(touched_by(&Notes::default()), Vec::<usize>::new());
        assert_eq!(touched_by(&edited(&[0])), [0]);
        assert_eq!(touched_by(&edited(&[1, 2, 5])), [1, 2]);
        let order = |order: &[usize]| Notes {
            order: order.to_vec(),
            ..Notes::default()
        };
        assert_eq!(touched_by(&order(&[0, 2, 1, 3, 4, 5])), [1]);
        assert_eq!(touched_by(&order(&[0, 2, 1, 4, 3, 5])), [1, 2]);
        let added = |at: usize, name: &str| Added {
            at,
            unit_type: Arc::from(name),
            from: None,
        };
        let with = |added: Vec<Added>| Notes {
            added,
            ..Notes::default()
        };
        assert_eq!(touched_by(&with(vec![added(1, "photos")])), [1]);
        assert_eq!(touched_by(&with(vec![added(3, "photos")])), [1]);
        assert_eq!(touched_by(&with(vec![added(3, "notes")])), [2]);
        assert_eq!(touched_by(&with(vec![added(1, "filler")])), [1]);
        let two = vec![added(1, "photos"), added(6, "notes")];
        assert_eq!(touched_by(&with(two)), [1, 2]);
        let swapped = Notes {
            removed: vec![0],
            added: vec![added(0, "claim")],
            ..Notes::default()
        };
        assert_eq!(touched_by(&swapped), [0]);
        assert_eq!(count(&case()), 3);
    }
}
