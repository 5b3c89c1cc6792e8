//! Probes run the system under test, each in its own way, and hand back metrics. Nothing to the
//! right of here knows which probe a metric came from.

pub(crate) mod evidence;
mod metric;
mod record;

pub(crate) use metric::{CaseValue, Cell, Direction, Interval, Metric};
pub(crate) use record::{CaseRecord, Sample, UnitRecord, VariantRecord};
