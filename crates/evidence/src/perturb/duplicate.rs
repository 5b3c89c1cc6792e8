//! `duplicate`: an element of a list occurs twice, as it may after a retrieval.

use super::peers::UnitPlace;
use super::{Draft, Figure, Perturbation, PerturbedCase, Piece, Proposal};

const WANTED: usize = 3;

/// Repeats one element of a list.
pub(super) static KIND: Perturbation = Perturbation {
    name: "duplicate",
    description: "an element of an array of the record comes in a second time, at another place of it",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let case = subject.case();
    if case.record().is_none() {
        return Proposal::skipped(
            WANTED,
            "a Markdown file has no array, and `duplicate` repeats an element of one",
        );
    }
    let runs = subject.free_runs();
    let units: Vec<(usize, usize)> = (0..)
        .zip(&runs)
        .flat_map(|(run, units)| units.clone().map(move |unit| (run, unit)))
        .collect();
    if units.is_empty() {
        return Proposal::skipped(
            WANTED,
            "the case has no array of units that may change places",
        );
    }
    let mut proposal = Proposal::default();
    let mut order: Vec<usize> = (0..units.len()).collect();
    subject.draw(KIND.name, 0).shuffle(&mut order);
    for (number, at) in (1..=WANTED).zip(order) {
        let (run, unit) = units[at];
        let mut draw = subject.draw(KIND.name, number);
        let place = runs[run].start + draw.below(runs[run].len() + 1);
        let mut pieces: Vec<Piece> = (0..case.units.len()).map(Piece::Own).collect();
        pieces.insert(place, Piece::peer(UnitPlace::of(subject.at, unit), unit));
        proposal.drafts.push(Draft::plain(pieces));
    }
    let made = proposal.drafts.len();
    if made < WANTED {
        let text = format!("only {made} variant(s): the arrays of the case have no more elements");
        proposal.falls_short(WANTED, made, text);
    }
    proposal
}
