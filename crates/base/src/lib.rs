//! The foundation of all crates: digests, seeded draws, exit codes, files, statistics, notices, and the cost and the
//! failures of calls. It does not depend on probes, pages or processes.

pub mod calendar;
pub mod cause;
pub mod clock;
pub mod cost;
pub mod decode;
pub mod digest;
pub mod draw;
pub mod exit;
pub mod failure;
pub mod file;
pub mod notice;
pub mod packages;
pub mod stats;
pub mod threads;
pub mod usage;

/// Whether a value is the default of its type; for serde, which passes over such a field.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
