//! How good the outputs are that the pipeline gives to other probes: whether an output has the form that was
//! agreed on, whether everything that must be in it is there, and how much of what it cost was of use. This
//! probe runs nothing: it looks at every invocation of the others where its output is read.

mod config;
mod contract;
mod figures;
mod indicators;
mod kind;
mod observer;
mod page;
mod read;
mod record;
mod score;
mod scored;

pub(crate) use record::{QualityIndicators, QualityItem, QualitySection, TokenCounts};
pub(crate) use score::{Band, Factor, SCORER, Weights, points};
pub(crate) use scored::of_step;

/// Below this a score is poor.
pub(crate) const POOR_BELOW: f64 = Band::REVIEW;

/// The quality score of every invocation.
pub(crate) struct QualityKind;
