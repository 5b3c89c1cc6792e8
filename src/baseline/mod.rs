//! The baseline: what a run is compared with, and the comparison.

pub(crate) mod compare;
