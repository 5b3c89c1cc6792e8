//! The kinds of scorers. A new kind is a file beside this one, and one line here.

use super::ScorerKind;
use super::asked::{EmbeddingKind, LlmKind};
use super::exact::ExactKind;
use super::ordinal::OrdinalKind;
use super::set::SetKind;

/// Every kind of scorer, in the order of the reference. The first one is the default.
const ALL: &[&dyn ScorerKind] = &[&ExactKind, &SetKind, &OrdinalKind, &EmbeddingKind, &LlmKind];

/// Every kind of scorer.
pub(super) fn kinds() -> Vec<&'static dyn ScorerKind> {
    ALL.iter().copied().chain(added()).collect()
}

/// Whether a test has added kinds.
pub(crate) fn has_added() -> bool {
    !added().is_empty()
}

#[cfg(any(test, feature = "fixtures"))]
use tests_only::added;

/// Only tests add kinds to those of this program.
#[cfg(not(any(test, feature = "fixtures")))]
const fn added() -> [&'static dyn ScorerKind; 0] {
    []
}

/// Kinds that a test adds for its own thread: the thread that reads a configuration also makes the
/// scorer.
#[cfg(any(test, feature = "fixtures"))]
pub mod tests_only {
    use std::cell::RefCell;

    use crate::judge::ScorerKind;

    thread_local! {
        static ADDED: RefCell<Vec<&'static dyn ScorerKind>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn added() -> Vec<&'static dyn ScorerKind> {
        ADDED.with_borrow(Clone::clone)
    }

    /// Adds a kind until the end of this thread.
    pub fn add(kind: &'static dyn ScorerKind) {
        ADDED.with_borrow_mut(|added| added.push(kind));
    }
}
