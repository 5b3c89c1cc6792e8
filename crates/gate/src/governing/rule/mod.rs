//! The rule: it decides the status of each type from the answers of two sides, and which runs are needed first. It does
//! not depend on reports, so that `benches/gate_simulation` can run it on simulated suites whose truth is known.

mod look;
mod looks;
mod noise;
mod numbers;
mod states;
#[cfg(test)]
mod worlds_tests;

pub use look::{OpenReason, Status, TypeFigures, TypeVerdict};
pub use looks::{FollowUp, SuiteLooks, TypeEnding};
pub use noise::{E_MIN, UsualAnswers};

/// The share of its influence on the base that a type may lose, if this is less than `max_drop`. With an absolute
/// limit, a type that moves few decisions could lose all of them.
const SHARE: f64 = 1.0 / 3.0;

/// A type passes if the probability of a loss beyond the limit is at most this.
const PASS: f64 = 0.01;

/// A type has dropped if the probability of a loss beyond the limit is at least this.
const SURE: f64 = 0.99;

/// If fewer swaps than this are informative, no type fails.
pub const FEWEST_TELLING: usize = 5;

/// The limit for the loss of a type.
#[derive(Clone, Copy, Debug)]
pub struct LossLimit {
    /// The drop that is allowed.
    pub max_drop: f64,
    /// Whether the limit applies even if the base's share was small, because the configuration sets it for this type.
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
    /// The allowed drop of each type, in the order of the types; in `[0, 1]`.
    pub max_drop: &'a [LossLimit],
    /// Whether the pipeline is declared deterministic, or the plain limit is configured: then one answer is enough.
    pub is_exact: bool,
}

/// The answers of one probe on both sides of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapSuite {
    /// The names of the declared types.
    pub types: Vec<String>,
    /// The cases that both sides measured on the same input.
    pub cases: Vec<SuiteCase>,
    /// The swaps that were run on both sides, in any order.
    pub items: Vec<SuiteSwap>,
    /// The answers of both sides.
    pub answers: Answers,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteCase {
    /// The name of the case.
    pub name: String,
    /// The names of the variants that should not change the answer, on the base and on the head.
    pub own: (Vec<String>, Vec<String>),
}

/// One swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteSwap {
    /// The index of the case of the swap.
    pub case: usize,
    /// The index of the type of the swap.
    pub of_type: usize,
    /// The index of the case from which the unit comes; none if it is not among the cases.
    pub donor: Option<usize>,
    /// The names of the variant on the base and on the head.
    pub variants: (String, String),
}

/// The answers of the base and of the head.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// Answers that are either equal or not, as numbers of their classes.
    Classes(SuiteSide<u32>, SuiteSide<u32>),
    /// Answers that are numbers.
    Numbers(SuiteSide<f64>, SuiteSide<f64>),
}

/// The answers of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteSide<A> {
    /// The answers to each unchanged case, and to its variants that should not change the answer; at least one.
    pub own: Vec<Vec<A>>,
    /// The answers to each swap.
    pub swaps: Vec<Vec<A>>,
    /// The maximum number of runs of a case.
    pub draws: usize,
}

impl SwapSuite {
    /// Whether the answers are numbers, not classes.
    pub const fn is_of_numbers(&self) -> bool {
        matches!(self.answers, Answers::Numbers(..))
    }

    /// The maximum number of runs of a case on each side.
    pub fn draws(&self) -> (usize, usize) {
        match &self.answers {
            Answers::Classes(base, head) => (base.draws, head.draws),
            Answers::Numbers(base, head) => (base.draws, head.draws),
        }
    }
}

impl<A> SuiteSide<A> {
    /// For each case: the maximum number of runs of one of its swaps.
    fn most_runs(&self, items: &[SuiteSwap], cases: usize) -> Vec<usize> {
        let mut most = vec![0; cases];
        for (item, answers) in items.iter().zip(&self.swaps) {
            most[item.case] = most[item.case].max(answers.len());
        }
        most
    }
}
