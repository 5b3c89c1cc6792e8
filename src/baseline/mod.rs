//! The baseline: what a run is compared with, and the comparison.

pub(crate) mod compare;
pub(crate) mod fingerprints;

use crate::report::Report;
use compare::Measured;

impl<'a> From<&'a Report> for Measured<'a> {
    fn from(report: &'a Report) -> Self {
        let inputs = report.cases.iter();
        Self {
            metrics: &report.metrics,
            inputs: inputs
                .map(|(name, case)| (name.as_str(), case.input))
                .collect(),
            only: &report.run.only,
        }
    }
}
