//! The report: the versioned document, and the renderers that turn it into text. Renderers are
//! pure; somebody else writes what they return.

mod document;
mod html;
mod json;
mod markdown;
mod safe;
mod summary;
mod terminal;

pub(crate) use document::{Fingerprints, Report, Run, SCHEMA_VERSION, Session, Tool};
