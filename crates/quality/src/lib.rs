//! The quality of the outputs that the pipeline gives to other probes: whether an output has the agreed form, whether
//! every required part exists, and how much of its cost was useful. This probe runs no pipeline: it observes every
//! invocation of the others when its output is read.

mod config;
mod contract;
#[cfg(test)]
mod contract_tests;
mod figures;
mod indicators;
mod kind;
mod observer;
mod page;
mod read;
mod record;
mod recorded;
mod rescore;
mod score;
mod scorer;
mod traces;

pub use score::Band;
pub use traces::{ScoredTrace, score_of_step, score_of_trace, scored_traces};

/// A score below this is poor.
pub const POOR_BELOW: f64 = Band::REVIEW;

/// The quality score of every invocation.
pub struct QualityKind;
