//! `drop`: one unit of a non-governing type is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Draft, Figure, Perturbation, PerturbedCase, Piece, Proposal};

/// The maximum number of variants per unit type.
const WANTED: usize = 3;

/// Leaves out one unit at a time; the results are reported per unit type.
pub(super) static KIND: Perturbation = Perturbation {
    name: "drop",
    description: "one unit that does not govern is left out",
    figure: Figure::Drop,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let case = subject.case();
    if case.units.len() < 2 {
        return Proposal::skipped(WANTED, "the case has 1 unit, and one has to stay");
    }
    let mut types: BTreeMap<&Arc<str>, Vec<usize>> = BTreeMap::new();
    for (at, unit) in case.units.iter().enumerate() {
        if !subject.governs(&unit.unit_type) && !unit.fixed {
            types.entry(&unit.unit_type).or_default().push(at);
        }
    }
    if types.is_empty() {
        let reason = match case.record() {
            None => "every unit of the case governs",
            Some(_) => {
                "every unit of the case governs, or is a field: without it the record would have another form"
            }
        };
        return Proposal::skipped(WANTED, reason);
    }
    let mut proposal = Proposal::default();
    for (unit_type, mut units) in types {
        let there = units.len();
        if there > WANTED {
            let stream = format!("{} {unit_type}", KIND.name);
            subject.draw(&stream, 0).shuffle(&mut units);
            units.truncate(WANTED);
            let text = format!(
                "only {WANTED} of the {there} units of type `{unit_type}` are left out, one by one"
            );
            proposal.falls_short(there, WANTED, text);
        }
        proposal.drafts.extend(units.into_iter().map(|left_out| {
            Draft {
                unit_type: Some(Arc::clone(unit_type)),
                pieces: (0..case.units.len())
                    .filter(|at| *at != left_out)
                    .map(Piece::Own)
                    .collect(),
                detail: Vec::new(),
            }
        }));
    }
    proposal
}
