//! What tames names, as it is in the library.

#[path = "../../src/report/safe/mod.rs"]
pub(crate) mod safe;
