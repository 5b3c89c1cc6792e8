//! The rule itself: from the answers of two sides to what became of each type, and what to run before that is told. It
//! knows nothing of reports, so that `benches/gate_simulation` runs it in worlds whose truth is known.

mod look;
mod looks;
mod noise;
mod numbers;
mod states;
mod suite;
#[cfg(test)]
mod worlds_tests;

pub use look::{Open, Status, TypeFigures, TypeVerdict};
pub use looks::{Asked, Looks, TypeEnding};
pub use noise::Own;
pub use suite::{Answers, Case, Item, Side, Suite};

/// The part of what the base had that a type may lose, where that is less than `max_drop`. A limit that is absolute
/// lets a type lose everything that moves few decisions.
const SHARE: f64 = 1.0 / 3.0;

/// A type is kept where the probability of a loss beyond the limit is at most this.
const PASS: f64 = 0.01;

/// A type is dropped where it is at least this.
const SURE: f64 = 0.99;

/// With fewer swaps than this that tell nothing is red.
pub const FEWEST_TELLING: usize = 5;

/// How much of a type may be lost.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The drop that is allowed.
    pub max_drop: f64,
    /// Whether that holds however little the base had, because somebody has set it for this very type.
    pub is_whole: bool,
}

impl Limit {
    /// The limit of a type of which the base had this share.
    fn of(self, had: f64) -> f64 {
        match self.is_whole {
            true => self.max_drop,
            false => self.max_drop.min(SHARE * had),
        }
    }
}

/// What a suite is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// The drop that is allowed of each type, in the order of the types; in `[0, 1]`.
    pub max_drop: &'a [Limit],
    /// The pipeline is declared deterministic, or the plain limit is asked for: one answer tells.
    pub is_exact: bool,
}
