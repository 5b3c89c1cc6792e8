//! A report as a comparison sees it: its metrics, and the items of each probe.

use std::collections::BTreeMap;

use super::compare::Measured;
use crate::probe::{ComparedItems, evidence, retrieval};
use crate::report::{Report, Share};

impl<'a> From<&'a Report> for Measured<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            metrics: &report.metrics,
            items: items(report),
            only: &report.run.only,
            shard: report.run.shard.map(Share::shard),
        }
    }
}

/// The items of each probe that has some.
fn items(report: &Report) -> BTreeMap<&str, ComparedItems<'_>> {
    let settings = report.run.fingerprints.config;
    let cases = evidence::items(&report.cases, settings);
    let mut items = BTreeMap::from([("evidence", cases)]);
    if let Some(record) = &report.retrieval {
        let queries = retrieval::items(record, &report.notices, settings);
        items.insert("retrieval", queries);
    }
    items
}
