//! What the retrieval probe measured, for a terminal: a line for each measure, all depths in one.

use super::page::{Ink, Page};
use crate::report::Report;
use crate::report::safe;
use crate::report::summary::{Figure, retrieval_rows};

/// The figures of the retrieval probe.
pub(super) fn figures(page: &mut Page, report: &Report) {
    let rows = retrieval_rows(report);
    let mut rest = rows.as_slice();
    while let Some((first, _)) = rest.first() {
        let measure = measure(first);
        let same = rest
            .iter()
            .take_while(|(name, _)| self::measure(name) == measure);
        let (group, later) = rest.split_at(same.count().max(1));
        page.line(Ink::Plain, &line(measure, group));
        rest = later;
    }
}

/// The name without its depth.
fn measure(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// The measure, its depths, the values, and the sample, which all depths share.
fn line(measure: &str, group: &[(String, Figure<'_>)]) -> String {
    let depth = |(name, _): &(String, Figure<'_>)| {
        let after = name.split_once('@')?.1;
        Some(after.split(' ').next().unwrap_or(after).to_owned())
    };
    let depths: Vec<String> = group.iter().filter_map(depth).collect();
    let label = match depths.as_slice() {
        [] => measure.to_owned(),
        depths => format!("{measure}@{}", depths.join(",")),
    };
    let Some((_, figure)) = group.last() else {
        return label;
    };
    if let Some(reason) = figure.reason {
        let reason = safe::line(reason);
        return format!("{label:<21} {} ({}): {reason}", figure.shown, figure.sample);
    }
    let values: Vec<&str> = group
        .iter()
        .map(|(_, figure)| figure.shown.as_str())
        .collect();
    let interval = match (&figure.interval, values.len()) {
        (Some(interval), 1) => format!("; 95 % interval {interval}"),
        _ => String::new(),
    };
    format!(
        "{label:<21} {} ({}){interval}",
        values.join("  "),
        figure.sample
    )
}
