//! The report: the versioned document, its form as JSON, and the page that shows it. All of it is
//! pure; somebody else writes what is returned.

mod document;
pub(crate) mod json;
pub(crate) mod page;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod schema_tests;

pub(crate) use document::{
    Decision, Fingerprints, Report, Run, SCHEMA_VERSION, Session, Share, StoredVerdict, Suite,
};
