//! How good the outputs are that the pipeline gives to other probes: whether an output has the form that was
//! agreed on, whether everything that must be in it is there, and how much of what it cost was of use. This
//! probe runs nothing: it looks at every invocation of the others where its output is read.

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
mod scored;
mod scorer;
mod traces;

pub use score::Band;
pub use traces::{ScoredTrace, score_of_step, score_of_trace, scored_traces};

/// Below this a score is poor.
pub const POOR_BELOW: f64 = Band::REVIEW;

/// The quality score of every invocation.
pub struct QualityKind;
