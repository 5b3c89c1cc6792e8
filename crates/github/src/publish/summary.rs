//! The job summary: the comment with longer lists, and the report of the check below it.

use super::Publication;
use super::comment::{ListLimits, fit, sections};
use kelvin_gate::report;

/// The bytes of the summary; GitHub takes 1,048,576 bytes for a step.
const BUDGET: usize = 1_000_000;
/// The bytes that are reserved for the report.
const REPORT: usize = 600_000;
const LISTS: ListLimits = ListLimits {
    metrics: 200,
    cases: 500,
    answers: 10,
    excerpts: 10,
    notices: 200,
};

/// The summary. It contains the report completely or not at all.
pub fn render(publication: &Publication<'_>) -> String {
    let report = report::page::to_markdown(publication.report);
    let whole = report.len() <= REPORT;
    let room = BUDGET - if whole { report.len() } else { 0 } - 1_000;
    let mut page = fit(sections(publication, LISTS), room);
    if whole {
        page.push_str("\n---\n\n");
        page.push_str(&report);
    } else {
        page.push_str(
            "\nThe report of the check is too long for this page; it is in `report.html`.\n",
        );
    }
    page
}
