//! The report: the versioned document, and the renderers that turn it into text. Renderers are
//! pure; somebody else writes what they return.

mod document;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod safe;
mod summary;
pub(crate) mod terminal;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod schema_tests;

pub(crate) use document::{Fingerprints, Report, Run, SCHEMA_VERSION, Session, Share};
pub(crate) use summary::Expected;
