//! Whether a stored report belongs to the commit that it is kept for.

use kelvin_system::git::Oid;
use kelvin_system::git::Repository;

use kelvin_gate::report::Report;

/// The result of checking the claims of a report: the code, the configuration and the cases that it names, and the
/// figures that follow from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// The claims are true of the commit.
    Hold,
    /// The claims are not true of the commit, and why, in words that fit after "the report".
    Differ(String),
    /// The commit alone does not tell whether the claims are true, and why.
    Unknown(String),
}

/// Checks the claims of a report against its commit.
pub(crate) type Hold<'a> = dyn Fn(&Repository, Oid, &Report) -> Claims + 'a;
