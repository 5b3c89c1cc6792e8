//! Compares and grades answers of a pipeline.
//!
//! A *scorer* says how far apart two decisions are, without asking anybody; nothing else in the
//! house compares decisions.

mod scorer;

pub(crate) use scorer::{Choice, Scorer, of, stored};
#[cfg(test)]
pub(crate) use scorer::{ScorerKind, tests_only};
