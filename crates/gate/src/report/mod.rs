//! The report: the versioned document, its form as JSON, and the page that shows it. All of it is
//! pure; the caller writes the returned bytes.

mod document;
pub mod json;
pub mod page;

#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;

pub use document::{
    CopiedFrom, Decision, Fingerprints, MeasuredSuite, Report, Run, SCHEMA_VERSION, Session, Share,
    StoredReport, StoredVerdict,
};
