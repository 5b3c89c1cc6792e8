//! Writes the files of a report.

use std::path::Path;

use crate::file;
use crate::page::html::Texts;
use crate::report::{self, Report};
use crate::run;

/// Writes every file of the report; the run report last, so that it is there only when all are.
pub(super) fn files(report: &Report, out: &Path, texts: &Texts<'_>) -> anyhow::Result<()> {
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
    run_files(report, out, texts)
}

/// Writes a report that no pipeline was run for.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the folder is not ours; any other where a file cannot be
/// written.
pub(crate) fn report(report: &Report, out: &Path) -> anyhow::Result<()> {
    let _claim = run::claim(out)?;
    run_files(report, out, &|_, _| None)
}

fn run_files(report: &Report, out: &Path, texts: &Texts<'_>) -> anyhow::Result<()> {
    file::write_with(&out.join("report.html"), |file| {
        report::page::to_html(file, report, texts)
    })?;
    file::write(
        &out.join("report.md"),
        report::page::to_markdown(report).as_bytes(),
    )?;
    file::write_with(&out.join("report.json"), |file| {
        report::json::write(file, report)
    })
}
