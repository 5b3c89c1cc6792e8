//! Writes the files of a report.

use std::path::Path;
use std::{fs, panic, thread};

use anyhow::Context as _;

use crate::baseline::Hint;
use kelvin_base::digest::Digest;
use kelvin_base::file;
use kelvin_gate::report::{self, Report};
use kelvin_gate::{Judgement, opening};
use kelvin_page::Opening;
use kelvin_page::html::Texts;
use kelvin_run as run;

/// A verdict for the HTML page of its report.
#[derive(Clone, Copy)]
pub(super) struct JudgedPage<'j> {
    /// The verdict.
    judgement: &'j Judgement,
    /// Whether the page stays in the folder with the files of the run. A workflow keeps the page without them, so its
    /// page has no links to them.
    stays_with_files: bool,
}

impl<'j> JudgedPage<'j> {
    /// The page of a gate.
    pub(super) const fn of(judgement: &'j Judgement, hint: &Hint) -> Self {
        Self {
            judgement,
            stays_with_files: !hint.in_workflow,
        }
    }

    /// A page that is kept without the files of its run.
    pub(super) const fn alone(judgement: &'j Judgement) -> Self {
        Self {
            judgement,
            stays_with_files: false,
        }
    }

    fn opening(self, report: &Report, out: &Path) -> Opening {
        opening::opening_with(self.judgement, &|probe, item| match self.stays_with_files {
            true => files_of(report, out, probe, item),
            false => Vec::new(),
        })
    }
}

/// Removes the verdict of an earlier run from an output folder, so that a run which ends without a verdict leaves none to
/// be mistaken for its own. The report of the earlier run stays: it says itself which commit it has measured. Fails if
/// a file cannot be removed.
pub(super) fn forget_verdict(out: &Path) -> anyhow::Result<()> {
    // In a folder that this program did not make, a file of this name belongs to somebody else.
    let is_ours =
        fs::symlink_metadata(out.join(file::OUTPUT_MARK)).is_ok_and(|data| data.is_file());
    for name in [JUDGEMENT, JUDGEMENT_PAGE] {
        let path = out.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|data| data.is_file());
        if is_ours && is_file {
            fs::remove_file(&path)
                .with_context(|| format!("failed to remove the old `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// The verdict, in the output folder.
pub(super) const JUDGEMENT: &str = "gate.json";

/// The verdict for people, in the output folder.
pub(super) const JUDGEMENT_PAGE: &str = "gate.md";

/// Writes every file of the report. The run report comes last, so that it exists only when all others do. If the report
/// was judged, its HTML page begins with the verdict.
pub(super) fn files(
    report: &Report,
    out: &Path,
    texts: &Texts<'_>,
    judged: Option<JudgedPage<'_>>,
) -> anyhow::Result<()> {
    both(|| item_records(report, out), || item_pages(report, out))?;
    run_files(report, out, texts, judged)
}

fn item_records(report: &Report, out: &Path) -> anyhow::Result<()> {
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
    Ok(())
}

fn item_pages(report: &Report, out: &Path) -> anyhow::Result<()> {
    report::page::items(report).try_for_each(|(folder, page)| {
        file::write(&out.join(folder).join("report.md"), page.as_bytes())
    })
}

/// Writes two independent kinds of files at the same time.
fn both(
    one: impl FnOnce() -> anyhow::Result<()> + Send,
    other: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one
            .join()
            .unwrap_or_else(|panic| panic::resume_unwind(panic));
        one.and(other)
    })
}

/// Writes a report for which no pipeline was run. Fails with a [`Misuse`](kelvin_base::exit::Misuse) if the folder was
/// not made by this program; any other error if a file cannot be written.
pub(crate) fn report(report: &Report, out: &Path) -> anyhow::Result<()> {
    let _claim = run::claim(out)?;
    run_files(report, out, &|_, _| None, None)
}

/// Overwrites the Markdown and the JSON of a report with another form of the same report.
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
    judged: JudgedPage<'_>,
) -> anyhow::Result<()> {
    html(
        report,
        out,
        &|item, part| text(report, out, item, part),
        Some(judged),
    )
}

/// The text of an item, or of one of its parts, as it was written; none if the file is missing or has changed since.
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
    judged: Option<JudgedPage<'_>>,
) -> anyhow::Result<()> {
    let opening = judged.map(|judged| judged.opening(report, out));
    file::write_with(&out.join("report.html"), |file| {
        report::page::to_html(file, report, opening, texts)
    })
}

/// The input, the output and the conversation of an item in the folder of the report, if they exist; paths are relative
/// to the folder.
fn files_of(report: &Report, out: &Path, probe: &str, item: &str) -> Vec<(&'static str, String)> {
    let Some(kind) = report.probes.kind(probe) else {
        return Vec::new();
    };
    let folder = run::folder_of(Path::new(kind.folder().unwrap_or_default()), item, None, 1);
    // If the path is not a plain file, another program has put it there, so no page links to it.
    let found = |name: &str| {
        let path = folder.join(name);
        let is_file = fs::symlink_metadata(out.join(&path)).is_ok_and(|data| data.is_file());
        is_file.then(|| path.to_str().map(str::to_owned)).flatten()
    };
    let input = run::INPUTS.iter().find_map(|name| found(name));
    let input = input.map(|path| ("input", path));
    let output = found(run::OUTPUT).map(|path| ("output", path));
    let turns = found(run::CONVERSATION).map(|path| ("conversation", path));
    input.into_iter().chain(output).chain(turns).collect()
}

fn run_files(
    report: &Report,
    out: &Path,
    texts: &Texts<'_>,
    judged: Option<JudgedPage<'_>>,
) -> anyhow::Result<()> {
    both(|| over(report, out), || html(report, out, texts, judged))
}
