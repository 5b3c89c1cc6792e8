//! The gate by governing type: whether the decision still follows the types that it followed on the base.
//!
//! A mean over all swaps cannot show this. If two conditions have to hold and one is forgotten, the other decides more
//! often, so the mean stays the same or rises; and every move due to noise counts as a good result. So each declared
//! type is judged separately, by its items: a swap moves the decision or it does not, on the base and on the head.
//!
//! The rule and its constants come from a study over eight families of rules (AND, OR, majority, lexicographic, sum,
//! narrow band, maximum, routing); `docs/statistics.md` has its results, and the questions that cannot be decided
//! without labels.

mod own;
mod pairs;
pub mod rule;
mod strays;
mod words;

pub use own::{OneAnswer, OtherAnswer, OwnAnswers};
pub use rule::{
    FollowUp, LossLimit, OpenReason, Status, SuiteLooks, SuiteRules, SwapSuite, TypeEnding,
    TypeFigures, TypeVerdict,
};

pub(crate) use words::moves;

use super::looks::LooksEnding;
use crate::compare::AnswerPairs;
use kelvin_record::Nouns;

/// The decision about one type.
#[derive(Clone, Debug)]
pub struct TypeDecision {
    /// The words for the items whose units have types.
    pub nouns: Nouns,
    /// The name of the type.
    pub name: String,
    /// The figures of the last look.
    pub figures: TypeFigures,
    /// The status of the type.
    pub status: Status,
    /// The verdict on the type.
    pub verdict: TypeVerdict,
    /// How the looks ended.
    pub ending: LooksEnding,
    /// How often the base was run.
    pub base_runs: usize,
    /// The types that decide now but did not decide on the base.
    pub new: Vec<String>,
    /// The cases that were left out of the figures because their answers vary too much on the base.
    pub unsteady: Vec<String>,
    /// The answers that no case has, if the type stays open because of them.
    pub strays: Option<strays::Strays>,
}

/// The decisions by the gated metric of each type.
pub(super) fn by_metric(
    pairs: &AnswerPairs,
    ended: TypeEnding,
    (looks, rules): (&SuiteLooks, &SuiteRules<'_>),
) -> Vec<(String, TypeDecision)> {
    let names = || pairs.types.iter().zip(&ended.types);
    let new: Vec<String> = names()
        .filter(|(_, (_, status, _))| *status == Status::New)
        .map(|((name, _), _)| name.clone())
        .collect();
    let decisions = names().map(|((name, metric), (figures, status, verdict))| {
        let decision = TypeDecision {
            nouns: pairs.nouns.clone(),
            name: name.clone(),
            figures: figures.clone(),
            status: *status,
            verdict: *verdict,
            ending: ended.ending,
            base_runs: ended.base_runs,
            new: new.clone(),
            unsteady: ended.unsteady.clone(),
            strays: None,
        };
        (metric.clone(), decision)
    });
    let mut decisions: Vec<(String, TypeDecision)> = decisions.collect();
    strays::open(&mut decisions, pairs, looks, rules);
    decisions
}
