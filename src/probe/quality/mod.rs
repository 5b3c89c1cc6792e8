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

pub(crate) use record::{QualityIndicators, QualityItem, QualitySection, TokenCounts};
pub(crate) use score::{Band, Factor, SCORER, Weights, points};

/// The quality score of every invocation.
pub(crate) struct QualityKind;
