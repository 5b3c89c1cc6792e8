//! Metrics, as they are in the library.

#[path = "../../src/probe/metric.rs"]
mod metric;

pub(crate) use metric::{CaseValue, Cell, Direction, Metric, display};
