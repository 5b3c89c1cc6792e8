//! Finds changes that a suite could not show, before a change is judged, by comparing the suite's own report with
//! itself.

use serde::Serialize;

use super::Gate;
use super::governing::moves;
use super::policy::Policy;
use super::sentence::name;
use crate::compare::Comparison;

/// A governing type whose loss a suite could not show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnseenType {
    /// The name of the type.
    pub of_type: String,
    /// How many swaps of the type there are.
    pub swaps: usize,
    /// How many swaps of the type move the decision.
    pub moved: usize,
    /// The word for the items in which the type may decide.
    #[serde(skip)]
    items: String,
    /// Another way to detect the loss, as a part of a sentence; empty if only more items would help.
    #[serde(skip)]
    or_more: String,
}

impl UnseenType {
    /// The loss that the suite could not detect, and what to add to the suite.
    pub fn sentence(&self) -> String {
        let Self {
            swaps,
            moved,
            or_more,
            items,
            ..
        } = self;
        let of = name(&self.of_type);
        format!(
            "this suite cannot see the loss of {of}: {moved} of {swaps} swaps of it {} the decision; {items} in \
             which it alone decides{or_more} would show it",
            moves(*moved)
        )
    }
}

/// The types whose loss a gate with this suite could not show. `with_itself`: the suite's report compared with itself.
pub fn unseen_types(policy: &Policy, with_itself: &Comparison<'_>) -> Vec<UnseenType> {
    let gate = Gate::new(policy, false, false, None);
    let decided = gate.types_as_they_are(with_itself).into_values();
    decided
        .filter(|decision| decision.figures.is_blind())
        .map(|decision| UnseenType {
            of_type: decision.name,
            swaps: decision.figures.swaps,
            moved: decision.figures.moved_base,
            items: decision.nouns.items.into_owned(),
            or_more: decision.figures.or_more_swaps(),
        })
        .collect()
}
