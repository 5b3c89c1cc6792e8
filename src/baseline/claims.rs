//! Whether a stored report is that of the commit that it is kept for.

use kelvin_system::git::Oid;
use kelvin_system::git::Repository;

use kelvin_gate::report::Report;

/// What became of the claims of a report: the code, the configuration and the cases it says it is of, and
/// the figures that follow from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// They are those of the commit.
    Hold,
    /// They are not, and why, in words that fit after "the report".
    Differ(String),
    /// The commit alone does not tell, and why.
    Unknown(String),
}

/// Holds a report against its commit.
pub(crate) type Hold<'a> = dyn Fn(&Repository, Oid, &Report) -> Claims + 'a;
