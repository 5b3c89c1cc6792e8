//! The kinds of probes there are. A new one is a crate and a line here.

use std::path::Path;

use kelvin_checks::ChecksKind;
use kelvin_evidence::EvidenceKind;
use kelvin_gate::report::{Report, json};
use kelvin_grading::GradingKind;
use kelvin_probe::Kind;
use kelvin_quality::QualityKind;
use kelvin_record::{AnySection, Kinds, SectionKind, Sections};
use kelvin_retrieval::RetrievalKind;
use kelvin_run::config::{Config, Overrides};

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

/// Every section of a kind of this program, in their order.
pub(crate) fn known(sections: &Sections) -> Vec<(&'static dyn Kind, &dyn AnySection)> {
    let kinds = kinds().into_iter();
    kinds
        .filter_map(|kind| Some((kind, sections.of(kind.name())?)))
        .collect()
}

/// The same kinds, as far as a report needs them.
pub(crate) fn of_sections() -> Kinds {
    let kinds = kinds().into_iter();
    kinds.map(|kind| kind as &'static dyn SectionKind).collect()
}

/// Reads and checks the configuration.
///
/// # Errors
///
/// As [`Config::load`].
pub(crate) fn configured(overrides: &Overrides) -> anyhow::Result<Config> {
    kelvin_probe::configured(overrides, &kinds())
}

/// Checks a text that is to become `file`.
///
/// # Errors
///
/// As [`Config::load`].
pub(crate) fn configured_by(text: &str, file: &Path) -> anyhow::Result<Config> {
    kelvin_probe::configured_by(text, file, &kinds())
}

/// Reads a run report of our version of the format.
///
/// # Errors
///
/// As [`json::read`].
pub(crate) fn report(bytes: &[u8]) -> anyhow::Result<Report> {
    json::read(bytes, &of_sections())
}

/// Kinds that a test adds for its own thread: commands run in the thread that calls them.
#[cfg(test)]
pub(crate) mod tests_only {
    use std::cell::RefCell;

    use kelvin_probe::Kind;

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
