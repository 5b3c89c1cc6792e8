//! The contribution of each case to the error of a drop: shows where more runs would reduce it.

use super::PairedCase;
use super::paired::{CaseSide, NoisePart, Paired, pair};
use super::usual::Usual;

/// How many runs the noise of all cases counts as, besides the noise of the case itself.
const WEIGHT_OF_ALL: f64 = 1.0;

/// The part of one case in the error of a drop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorShare {
    /// The index of the case.
    pub(crate) place: usize,
    /// The square of the case's share in the drop.
    pub(crate) weight: f64,
    /// The variance of the case's mean that comes from the answer to its own input, for a single run.
    pub(crate) shared: f64,
    /// The variance that comes from the answers to its variants; 0 if `shared` contains both.
    pub(crate) own: f64,
    /// How often the input of the case and its variants were run on the base.
    pub(crate) base: (usize, usize),
    /// How often the input of the case and its variants were run on the head.
    pub(crate) head: (usize, usize),
    /// Whether the case moved, or its values varied.
    pub(crate) is_unstable: bool,
}

/// The doubts about every case that both sides measured.
pub(crate) fn doubts(cases: &[PairedCase]) -> Vec<ErrorShare> {
    let (paired, _) = pair(cases);
    let total: f64 = paired.iter().map(Paired::samples).sum();
    let usual = usual(&paired);
    let of_case = |case: &Paired| {
        let sides = case.sides();
        let crosses = cases[case.place()].crosses;
        let parts = [sides.0, sides.1].map(CaseSide::shared);
        let shared = mixed(&parts, usual.0).max(unconfirmed(case));
        let parts: Vec<NoisePart> = [sides.0, sides.1]
            .iter()
            .filter_map(|side| side.own())
            .collect();
        let own = if crosses { mixed(&parts, usual.1) } else { 0.0 };
        let runs = |side: &CaseSide| {
            let shared = side.shared().runs as usize;
            (shared, side.own().map_or(shared, |own| own.runs as usize))
        };
        ErrorShare {
            place: case.place(),
            weight: (case.samples() / total).powi(2),
            shared,
            own,
            base: runs(sides.0),
            head: runs(sides.1),
            is_unstable: case.is_unstable(),
        }
    };
    paired.iter().map(of_case).collect()
}

/// The remaining doubt about a case that moved although its repeats agree: the fewer repeats, the more doubt.
fn unconfirmed(case: &Paired) -> f64 {
    let (base, head) = case.sides();
    case.difference().powi(2) / (4.0 * (base.shared().runs + head.shared().runs))
}

/// The usual variance of both parts. Without any repeats, it is estimated from the differences between the sides: if
/// the whole difference of a case is noise, half of its square is the noise of each side.
fn usual(paired: &[Paired]) -> (f64, f64) {
    let moved: f64 = paired.iter().map(|case| case.difference().powi(2)).sum();
    let guess = moved / paired.len().max(1) as f64 / 4.0;
    let usual = Usual::of(paired);
    (
        usual.shared().unwrap_or(guess),
        usual.own().unwrap_or(guess),
    )
}

/// The variance of a case on both sides together, shrunk towards the usual one: two runs that agree do not mean that
/// the case never varies.
fn mixed(parts: &[NoisePart], usual: f64) -> f64 {
    let (mut sum, mut freedom) = (WEIGHT_OF_ALL * usual, WEIGHT_OF_ALL);
    for part in parts {
        if let Some(variance) = part.variance {
            sum += variance * (part.runs - 1.0);
            freedom += part.runs - 1.0;
        }
    }
    sum / freedom
}
