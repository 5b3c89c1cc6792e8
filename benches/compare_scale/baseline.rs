//! The comparison, as it is in the library.

#[path = "../../src/baseline/compare/mod.rs"]
pub(crate) mod compare;
