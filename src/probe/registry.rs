//! The kinds of probes there are. A new one is a folder beside this file and a line here.

use super::Kind;
use super::checks::ChecksKind;
use super::evidence::EvidenceKind;
use super::grading::GradingKind;
use super::quality::QualityKind;
use super::retrieval::RetrievalKind;

/// Every kind, in the order in which probes are run and reported.
const ALL: &[&dyn Kind] = &[
    &EvidenceKind,
    &RetrievalKind,
    &GradingKind,
    &ChecksKind,
    &QualityKind,
];

/// Every kind, in the order in which probes are run and reported.
pub(crate) fn kinds() -> Vec<&'static dyn Kind> {
    #[cfg(test)]
    let added = tests_only::added();
    #[cfg(not(test))]
    let added = [];
    ALL.iter().copied().chain(added).collect()
}

/// The kind of a name; none where this program knows no such kind.
pub(crate) fn kind(name: &str) -> Option<&'static dyn Kind> {
    kinds().into_iter().find(|kind| kind.name() == name)
}

/// Kinds that a test adds for its own thread: commands run in the thread that calls them.
#[cfg(test)]
pub(crate) mod tests_only {
    use std::cell::RefCell;

    use crate::probe::Kind;

    thread_local! {
        static ADDED: RefCell<Vec<&'static dyn Kind>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn added() -> Vec<&'static dyn Kind> {
        ADDED.with_borrow(Clone::clone)
    }

    /// Adds a kind until the end of this thread.
    pub(crate) fn add(kind: &'static dyn Kind) {
        ADDED.with_borrow_mut(|added| added.push(kind));
    }
}
