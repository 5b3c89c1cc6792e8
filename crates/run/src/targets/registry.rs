//! All kinds of targets. A new kind is a file or a folder in the same folder, and one line here.

use super::TargetKind;
use super::command::CommandKind;
use super::http::HttpKind;
use super::model::ModelKind;
use super::node::NodeKind;
use super::python::PythonKind;
use super::worker::WorkerKind;

/// Every kind of target.
const ALL: &[&dyn TargetKind] = &[
    &CommandKind,
    &ModelKind,
    &WorkerKind,
    &PythonKind,
    &NodeKind,
    &HttpKind,
];

/// Every kind of target.
pub(super) fn target_kinds() -> Vec<&'static dyn TargetKind> {
    ALL.iter().copied().chain(added()).collect()
}

/// Whether a test has added kinds.
pub(crate) fn has_added() -> bool {
    !added().is_empty()
}

#[cfg(test)]
use tests_only::added;

/// Outside of tests, no kinds are added to those of this program.
#[cfg(not(test))]
const fn added() -> [&'static dyn TargetKind; 0] {
    []
}

/// Kinds that a test adds for its own thread: the thread that reads a configuration also opens the
/// target.
#[cfg(test)]
pub mod tests_only {
    use std::cell::RefCell;

    use crate::targets::TargetKind;

    thread_local! {
        static ADDED: RefCell<Vec<&'static dyn TargetKind>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn added() -> Vec<&'static dyn TargetKind> {
        ADDED.with_borrow(Clone::clone)
    }

    /// Adds a kind until the end of this thread.
    pub fn add(kind: &'static dyn TargetKind) {
        ADDED.with_borrow_mut(|added| added.push(kind));
    }
}
