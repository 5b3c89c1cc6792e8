//! Writes the files of a report.

use std::fs;
use std::path::Path;

use kelvin_base::digest::Digest;
use kelvin_base::file;
use kelvin_gate::report;
use kelvin_gate::report::Report;
use kelvin_gate::{Judgement, opening};
use kelvin_page::html::Texts;
use kelvin_run as run;

/// Writes every file of the report. The run report comes last, so that it exists only when all others do. If the report
/// was judged, its HTML page begins with the verdict.
pub(super) fn files(
    report: &Report,
    out: &Path,
    texts: &Texts<'_>,
    judgement: Option<&Judgement>,
) -> anyhow::Result<()> {
    for (_, section) in report.probes.iter() {
        for (id, record) in section.records() {
            let item = section.item(id);
            let Some(folder) = item.and_then(|item| item.folders.first().copied()) else {
                continue;
            };
            file::write_with(&out.join(folder).join("report.json"), |file| {
                report::json::write_item(file, id, record)
            })?;
        }
    }
    for (folder, page) in report::page::items(report) {
        file::write(&out.join(folder).join("report.md"), page.as_bytes())?;
    }
    run_files(report, out, texts, judgement)
}

/// Writes a report for which no pipeline was run.
///
/// # Errors
///
/// A [`Misuse`](kelvin_base::exit::Misuse) where the folder is not ours; any other where a file cannot be
/// written.
pub(crate) fn report(report: &Report, out: &Path) -> anyhow::Result<()> {
    let _claim = run::claim(out)?;
    run_files(report, out, &|_, _| None, None)
}

/// Writes the Markdown and the JSON of a report over those of the same report in another form.
pub(super) fn over(report: &Report, out: &Path) -> anyhow::Result<()> {
    file::write(
        &out.join("report.md"),
        report::page::to_markdown(report).as_bytes(),
    )?;
    file::write_with(&out.join("report.json"), |file| {
        report::json::write(file, report)
    })
}

/// Writes the HTML page of a report that was judged after it was finished, or was judged again.
pub(super) fn judged_page(
    report: &Report,
    out: &Path,
    judgement: &Judgement,
) -> anyhow::Result<()> {
    html(
        report,
        out,
        &|item, part| text(report, out, item, part),
        Some(judgement),
    )
}

/// The text of an item, or of one of its parts, as it was written; none where the file is missing or has changed since.
pub(super) fn text(report: &Report, out: &Path, item: &str, part: Option<&str>) -> Option<String> {
    let mut sections = report.probes.iter();
    let input = sections.find_map(|(_, section)| section.input(item, part))?;
    let text = fs::read_to_string(out.join(input.file)).ok()?;
    (Digest::of(text.as_bytes()) == input.digest).then_some(text)
}

fn html(
    report: &Report,
    out: &Path,
    texts: &Texts<'_>,
    judgement: Option<&Judgement>,
) -> anyhow::Result<()> {
    let opening = judgement.map(opening::opening);
    file::write_with(&out.join("report.html"), |file| {
        report::page::to_html(file, report, opening, texts)
    })
}

fn run_files(
    report: &Report,
    out: &Path,
    texts: &Texts<'_>,
    judgement: Option<&Judgement>,
) -> anyhow::Result<()> {
    html(report, out, texts, judgement)?;
    over(report, out)
}
