//! The gate by governing type: does the decision still follow what it followed on the base?
//!
//! A mean over all swaps cannot tell. Where two conditions have to hold, forgetting one lets the other decide more
//! often, so the mean stays or rises; and whatever noise moves counts as merit. So each declared type is judged by
//! itself, by its items: a swap moves the decision or it does not, on the base and on the head.
//!
//! The rule and its constants come from a study over eight families of rules (AND, OR, majority, lexicographic, sum,
//! narrow band, maximum, routing); `docs/gate.md` has what it found, and what cannot be decided without labels.

mod looks;
mod noise;
mod numbers;
mod own;
mod rule;
mod states;
mod suite;
mod words;
#[cfg(test)]
mod worlds_tests;

pub(crate) use looks::{Asked, Looks, TypeEnding};
pub(crate) use own::OwnAnswers;
pub(crate) use rule::{Open, Status, TypeFigures, TypeVerdict};
pub(crate) use suite::Suite;

use super::look::GUARD;
use super::looks::Ending;
use crate::baseline::compare::AnswerPairs;

/// The part of what the base had that a type may lose, where that is less than `max_drop`. A limit that is absolute
/// lets a type lose everything that moves few decisions.
const SHARE: f64 = 1.0 / 3.0;

/// A type is kept where the probability of a loss beyond the limit is at most this.
const PASS: f64 = 0.01;

/// A type is dropped where it is at least this.
const SURE: f64 = 0.99;

/// With fewer swaps than this that tell nothing is red.
pub(crate) const FEWEST_TELLING: usize = 5;

/// How much of a type may be lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// The drop that is allowed.
    pub(crate) max_drop: f64,
    /// Whether that holds however little the base had, because somebody has set it for this very type.
    pub(crate) is_whole: bool,
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
pub(crate) struct Rules<'a> {
    /// The drop that is allowed of each type, in the order of the types; in `[0, 1]`.
    pub(crate) max_drop: &'a [Limit],
    /// The pipeline is declared deterministic, or the plain limit is asked for: one answer tells.
    pub(crate) is_exact: bool,
}

/// How one type came out.
#[derive(Clone, Debug)]
pub(crate) struct TypeDecision {
    /// The name of the type.
    pub(crate) name: String,
    /// What the last look told of it.
    pub(crate) figures: TypeFigures,
    /// What became of it.
    pub(crate) status: Status,
    /// What follows.
    pub(crate) verdict: TypeVerdict,
    /// How the looks ended.
    pub(crate) ending: Ending,
    /// How often the base was run.
    pub(crate) base_runs: usize,
    /// The types that decide now and did not on the base.
    pub(crate) new: Vec<String>,
    /// The cases that were left out of the figures, because their answers vary too much on the base.
    pub(crate) unsteady: Vec<String>,
}

/// The decisions by the metric that each type is gated by.
pub(super) fn by_metric(pairs: &AnswerPairs, ended: TypeEnding) -> Vec<(String, TypeDecision)> {
    let names = || pairs.types.iter().zip(&ended.types);
    let new: Vec<String> = names()
        .filter(|(_, (_, status, _))| *status == Status::New)
        .map(|((name, _), _)| name.clone())
        .collect();
    names()
        .map(|((name, metric), (figures, status, verdict))| {
            let decision = TypeDecision {
                name: name.clone(),
                figures: figures.clone(),
                status: *status,
                verdict: *verdict,
                ending: ended.ending,
                base_runs: ended.base_runs,
                new: new.clone(),
                unsteady: ended.unsteady.clone(),
            };
            (metric.clone(), decision)
        })
        .collect()
}
