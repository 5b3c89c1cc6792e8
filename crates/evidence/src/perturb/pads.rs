//! The common part of both kinds of padding: how many sections are inserted, and at which positions.

use std::ops::Range;

use super::{Draft, PerturbedCase, Piece, Proposal};
use kelvin_base::draw::Draw;

/// The smallest number of inserted sections.
pub(super) const FEWEST: usize = 2;

/// The largest number of inserted sections.
pub(super) const MOST: usize = 4;

/// How often a variant that equals an earlier one is drawn again.
const ATTEMPTS: usize = 8;

/// Adds a variant to a proposal; one that equals an earlier variant is drawn again. `pieces` gets the number of the
/// attempt, from 0.
pub(super) fn add_another(proposal: &mut Proposal, mut pieces: impl FnMut(usize) -> Vec<Piece>) {
    let mut drawn = pieces(0);
    for attempt in 1..ATTEMPTS {
        if proposal.drafts.iter().all(|draft| draft.pieces != drawn) {
            break;
        }
        drawn = pieces(attempt);
    }
    proposal.drafts.push(Draft::plain(drawn));
}

/// The units of a case in order, with the pieces of `added` inserted one after another at random positions of their
/// ranges. No piece is inserted after a unit that keeps its order.
pub(super) fn scatter(
    subject: &PerturbedCase<'_>,
    runs: &[Range<usize>],
    added: Vec<(usize, Piece)>,
    draw: &mut Draw,
) -> Vec<Piece> {
    let units = subject.case().units.len();
    let mut filled: Vec<Vec<Piece>> = runs
        .iter()
        .map(|run| run.clone().map(Piece::Own).collect())
        .collect();
    let count = added.len();
    for (run, piece) in added {
        let places = filled[run].len() + 1;
        filled[run].insert(draw.below(places), piece);
    }
    let mut pieces = Vec::with_capacity(units + count);
    let mut next = 0;
    for (run, filled) in runs.iter().zip(filled) {
        pieces.extend((next..run.start).map(Piece::Own));
        pieces.extend(filled);
        next = run.end;
    }
    pieces.extend((next..units).map(Piece::Own));
    pieces
}

/// Draws one of several ranges; a single range needs no random choice.
pub(super) fn one_run(candidates: &[usize], draw: &mut Draw) -> Option<usize> {
    match candidates {
        [] => None,
        [run] => Some(*run),
        several => Some(several[draw.below(several.len())]),
    }
}
