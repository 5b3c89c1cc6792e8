//! The results probe: it starts the evaluator that a team already has, and reads the file that the evaluator writes.
//!
//! Makes the metrics `results.SUITE.METRIC`; docs/evaluators.md defines them.

mod change;
mod config;
mod evaluator;
mod figures;
mod flaky;
mod foreign;
mod gather;
mod kind;
mod measure;
mod page;
mod plugin;
pub mod readers;
mod record;
mod row;
mod written;

pub use change::{ResultsChange, SuiteChange};
pub use config::{
    DEFAULT_TIMEOUT_S, MetricKeys, Suite, SuiteSettings, first_command, loads_the_plugin,
};
pub(crate) use flaky::FlakySince;
pub use record::EarlyEnd;
#[cfg(test)]
pub(crate) use record::{MetricBasis, ResultSample, ResultsBasis};
pub use row::{Columns, EmptyScore, MetricColumn, MetricKind, Results, Row, RowTexts};
pub use written::{FileState, last_written};

/// Did a change make the results of the team's own evaluator worse?
pub struct ResultsKind;
