//! The report: the versioned document, its form as JSON, and the page that shows it. All of it is
//! pure; somebody else writes what is returned.

mod document;
pub mod json;
pub mod page;

#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;

pub use document::{
    Decision, Fingerprints, Report, Run, SCHEMA_VERSION, Session, Share, StoredReport,
    StoredVerdict, Suite,
};
