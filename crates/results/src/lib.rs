//! The results probe: it starts the evaluator that a team already has, and reads the file that this one writes.
//!
//! Makes the metrics `results.SUITE.METRIC`; docs/evaluators.md defines them.

mod columns;
pub mod readers;
mod row;

pub use columns::{Columns, EmptyScore, MetricColumn};
pub use row::{MetricKind, Results, Row, RowTexts};

/// Did a change make the results of the team's own evaluator worse?
pub struct ResultsKind;
