//! The part that both kinds of padding share: how many sections come in, and where.

use super::{PerturbedCase, Piece};
use kelvin_base::draw::Draw;

/// The least number of sections that come in.
pub(super) const FEWEST: usize = 2;

/// The largest number of sections that come in.
pub(super) const MOST: usize = 4;

/// How often a variant that came out like an earlier one is drawn again.
pub(super) const ATTEMPTS: usize = 8;

/// The units of a case in their order, with the pieces of `added` put in one after another at random places. None of
/// these places is behind a unit that keeps its order.
pub(super) fn scatter(
    subject: &PerturbedCase<'_>,
    added: Vec<Piece>,
    draw: &mut Draw,
) -> Vec<Piece> {
    let units = subject.case().units.len();
    let mut pieces = Vec::with_capacity(units + added.len());
    pieces.extend((0..units).map(Piece::Own));
    for (last_place, piece) in (subject.free_units()..).zip(added) {
        pieces.insert(draw.below(last_place + 1), piece);
    }
    pieces
}
