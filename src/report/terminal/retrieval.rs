//! What the retrieval probe measured, for a terminal.

use super::page::{Ink, Page};
use crate::report::Report;
use crate::report::safe;
use crate::report::summary::{Figure, retrieval_rows};

/// The figures of the retrieval probe, one a line.
pub(super) fn figures(page: &mut Page, report: &Report) {
    let rows = retrieval_rows(report);
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, figure) in &rows {
        page.line(Ink::Plain, &row(name, figure, widest));
    }
}

fn row(name: &str, figure: &Figure<'_>, widest: usize) -> String {
    let interval = match (&figure.interval, figure.reason) {
        (_, Some(reason)) => format!(": {}", safe::line(reason)),
        (Some(interval), _) => format!("; 95 % interval {interval}"),
        (None, None) => String::new(),
    };
    format!(
        "{name:<widest$}  {} ({}){interval}",
        figure.shown, figure.sample
    )
}
