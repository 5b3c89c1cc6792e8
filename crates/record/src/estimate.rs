//! Metrics as a page shows them.

use std::collections::BTreeMap;

use crate::Metric;
use kelvin_page::{Estimate, Spread};

/// A metric for people; none where the run has no such metric.
pub fn estimate(metric: Option<&Metric>) -> Estimate<'_> {
    let Some(metric) = metric else {
        return Estimate::new(Err(Some("this run did not look at it")), 0, 0);
    };
    let value = metric.value.ok_or(metric.reason.as_deref());
    let estimate = Estimate::new(value, metric.n, metric.n_failed);
    match metric.interval {
        Some(interval) => estimate.between(interval.low, interval.high),
        None => estimate,
    }
}

/// The distribution of the items' values of a metric; none where fewer than two have one, or the metric has no scale.
pub fn spread(name: &'static str, items: &'static str, metric: Option<&Metric>) -> Option<Spread> {
    let metric = metric?;
    let values = metric.per_case.values().filter_map(|case| case.value);
    let spread = Spread {
        metric: name,
        items,
        ends: metric.ends()?,
        values: values.collect(),
    };
    (spread.values.len() > 1).then_some(spread)
}

/// The metrics whose id is `prefix` followed by one more part, by that part.
pub fn family<'a>(
    metrics: &'a BTreeMap<String, Metric>,
    prefix: &str,
) -> Vec<(&'a str, &'a Metric)> {
    let with_part = metrics.iter().filter_map(|(id, metric)| {
        let part = id.strip_prefix(prefix)?.strip_prefix('.')?;
        Some((part, metric))
    });
    with_part.collect()
}
