//! The outputs of the step, and the file in which the runner expects them.

use serde_json::{Map, Value};
use std::fmt::Write as _;

use super::Publication;
use super::comment::{ListLimits, fit, sections};
use kelvin_gate::report;
use kelvin_gate::verdict::{MetricVerdict, Word};
use kelvin_page::safe;

/// The names of all outputs, in their order.
pub const NAMES: [&str; 10] = [
    "verdict",
    "metrics",
    "worst-metric",
    "worst-drop",
    "report-path",
    "html-path",
    "comment-url",
    "baseline-sha",
    "invocations",
    "cache-hits",
];

/// Every output with its value; empty for an output without a value.
pub fn outputs(
    publication: &Publication<'_>,
    comment_url: Option<&str>,
) -> Vec<(&'static str, String)> {
    let Publication {
        report,
        judgement,
        out,
        ..
    } = publication;
    let judgement = *judgement;
    let worst = judgement.and_then(|judgement| worst(judgement.verdict.metrics.iter()));
    let metrics: Map<String, Value> = report
        .metrics
        .iter()
        .map(|(id, metric)| (id.clone(), metric.value.into()))
        .collect();
    let cost = &report.run.session.cost;
    let path = |name: &str| safe::line(&out.join(name).display().to_string());
    let values = [
        judgement
            .map(|judgement| judgement.verdict.verdict.as_str().to_owned())
            .unwrap_or_default(),
        Value::Object(metrics).to_string(),
        worst.map(|(id, _)| safe::line(id)).unwrap_or_default(),
        worst.map(|(_, drop)| drop.to_string()).unwrap_or_default(),
        path("report.json"),
        path("report.html"),
        comment_url.map(safe::line).unwrap_or_default(),
        judgement
            .and_then(|judgement| judgement.base.as_ref()?.commit.as_deref())
            .map(safe::line)
            .unwrap_or_default(),
        cost.invocations.to_string(),
        cost.cache_hits.to_string(),
    ];
    NAMES.into_iter().zip(values).collect()
}

/// The outputs of a run that ended before the measurement.
pub(crate) fn of_failure() -> Vec<(&'static str, String)> {
    let value = |name: &str| match name {
        "verdict" => Word::Unmeasured.as_str(),
        "metrics" => "{}",
        "invocations" | "cache-hits" => "0",
        _ => "",
    };
    NAMES
        .into_iter()
        .map(|name| (name, value(name).to_owned()))
        .collect()
}

/// The metric with the largest drop relative to its limit; none if no metric dropped.
pub fn worst<'a>(
    metrics: impl Iterator<Item = (&'a String, &'a MetricVerdict)>,
) -> Option<(&'a str, f64)> {
    metrics
        .filter(|(_, metric)| metric.policy == kelvin_gate::policy::Attention::Gate)
        .filter_map(|(id, metric)| {
            Some((id.as_str(), metric.drop?, metric.drop? - metric.max_drop))
        })
        .filter(|(_, drop, _)| *drop > kelvin_gate::look::GUARD)
        .max_by(|(one, _, beyond), (other, _, far)| beyond.total_cmp(far).then(other.cmp(one)))
        .map(|(id, drop, _)| (id, drop))
}

/// The text to append to the file of `GITHUB_OUTPUT`. No value can end early: the delimiter occurs in none of them.
pub fn file(outputs: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in outputs {
        let mut delimiter = "KELVIN".to_owned();
        while value.contains(&delimiter) {
            delimiter.push('_');
        }
        let _ = write!(text, "{name}<<{delimiter}\n{value}\n{delimiter}\n");
    }
    text
}

/// The maximum size of the summary in bytes; GitHub accepts 1,048,576 bytes per step.
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
pub fn job_summary(publication: &Publication<'_>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the file in the same way as the runner.
    fn read(text: &str) -> Vec<(String, String)> {
        let mut lines = text.split('\n');
        let mut read = Vec::new();
        while let Some((name, delimiter)) = lines.next().and_then(|line| line.split_once("<<")) {
            let value: Vec<&str> = lines
                .by_ref()
                .take_while(|line| *line != delimiter)
                .collect();
            read.push((name.to_owned(), value.join("\n")));
        }
        read
    }

    #[test]
    fn no_value_can_add_an_output() {
        for text in kelvin_fixtures::page::corpus() {
            let forged = format!("KELVIN\nverdict<<X\npass\nX\n{text}");
            let outputs = [
                ("verdict", forged.clone()),
                ("metrics", text.replace('\r', "")),
            ];
            let read = read(&file(&outputs));
            assert_eq!(read.len(), 2);
            assert_eq!(read[0], ("verdict".to_owned(), forged));
        }
    }
}
