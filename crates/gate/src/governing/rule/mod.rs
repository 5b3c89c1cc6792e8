//! The rule: it decides from the answers of two sides the status of each type, and which runs are needed before. It
//! does not depend on reports, so that `benches/gate_simulation` can run it in worlds whose truth is known.

mod look;
mod looks;
mod noise;
mod numbers;
mod states;
mod suite;
#[cfg(test)]
mod worlds_tests;

pub use look::{OpenReason, Status, TypeFigures, TypeVerdict};
pub use looks::{FollowUp, SuiteLooks, TypeEnding};
pub use noise::UsualAnswers;
pub use suite::{Answers, SuiteCase, SuiteSide, SuiteSwap, SwapSuite};

/// The part of the base's share that a type may lose, where that part is less than `max_drop`. An absolute limit
/// would let a type that moves few decisions lose all of them.
const SHARE: f64 = 1.0 / 3.0;

/// A type passes if the probability of a loss beyond the limit is at most this.
const PASS: f64 = 0.01;

/// A type has dropped if that probability is at least this.
const SURE: f64 = 0.99;

/// With fewer swaps than this that can tell, no type is red.
pub const FEWEST_TELLING: usize = 5;

/// The limit for the loss of a type.
#[derive(Clone, Copy, Debug)]
pub struct LossLimit {
    /// The drop that is allowed.
    pub max_drop: f64,
    /// Whether the limit holds even if the base's share was small, because somebody has set it for this type.
    pub is_whole: bool,
}

impl LossLimit {
    /// The limit for a type with this share on the base.
    fn of(self, had: f64) -> f64 {
        match self.is_whole {
            true => self.max_drop,
            false => self.max_drop.min(SHARE * had),
        }
    }
}

/// The rules by which a suite is judged.
#[derive(Clone, Copy, Debug)]
pub struct SuiteRules<'a> {
    /// The drop that is allowed of each type, in the order of the types; in `[0, 1]`.
    pub max_drop: &'a [LossLimit],
    /// Whether the pipeline is declared deterministic, or the plain limit is asked for: then one answer tells.
    pub is_exact: bool,
}
