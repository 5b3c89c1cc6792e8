//! The page of a whole run: the chapters of the probes, in order, and facts about the run itself.
//!
//! Each kind of probe writes its own chapter from its own section; this module does not know the kinds of
//! probes.

use std::io::{self, Write};

use super::{Report, SCHEMA_VERSION};
use kelvin_page::html::Texts;
use kelvin_page::terminal::Style;
use kelvin_page::{
    AnswersView, Chapter, FigureTable, NoticeCount, Opening, PartView, Phrase, RunPage, Statement,
    Tone, counted, duration, html, markdown, of_judges, terminal, used,
};
use kelvin_record::{Ending, RunView, estimate, probe_of};

/// The page of a report.
pub fn run_page(report: &Report) -> RunPage<'_> {
    let chapters = chapters(report);
    let notices = report.notices.iter();
    let of_items = chapters.iter().flat_map(|one| one.notices.iter().copied());
    RunPage {
        command: match report.is_evaluation() {
            true => "eval",
            false => "check",
        },
        opening: None,
        scope: scope(report, &chapters),
        only: &report.run.only,
        others: others(report),
        notices: NoticeCount::all(notices.chain(of_items)),
        facts: facts(report),
        version: &report.tool.version,
        schema: SCHEMA_VERSION,
        chapters,
    }
}

/// Renders a report for a terminal; its files are in `folder`.
pub fn to_terminal(report: &Report, folder: &str, style: Style) -> String {
    terminal::render(&run_page(report), folder, style)
}

/// Renders a report as Markdown.
pub fn to_markdown(report: &Report) -> String {
    markdown::render(&run_page(report))
}

/// Writes a report as an HTML page, which begins with the result of a comparison if there was one.
///
/// # Errors
///
/// Fails if the writer fails.
pub fn to_html(
    to: &mut dyn Write,
    report: &Report,
    opening: Option<Opening>,
    texts: &Texts<'_>,
) -> io::Result<()> {
    let mut page = run_page(report);
    for chapter in &mut page.chapters {
        if let (Some(opening), Some(plane)) = (&opening, &mut chapter.plane) {
            plane.base = opening.place(plane);
        }
    }
    page.opening = opening;
    html::write(to, page, texts)
}

/// The page of every item that has one, as Markdown, with the folder for it.
pub fn items(report: &Report) -> impl Iterator<Item = (&str, String)> {
    let sections = report.probes.known().into_iter();
    let pages = sections.flat_map(|(kind, section)| kind.item_pages(section, view(report)));
    pages.map(|(folder, page)| (folder, markdown::render_item(&page)))
}

/// One part of an item in the form for a comment; none if no probe of the report has such a part.
pub fn part(report: &Report, item: &str, part: &str) -> Option<PartView> {
    let sections = report.probes.known().into_iter();
    let mut parts = sections.filter_map(|(kind, section)| kind.part(section, item, part));
    parts.next()
}

/// The answers of both sides to an item of a probe, in the form for a comment.
pub fn answers(report: &Report, probe: &str, item: &str) -> Option<AnswersView> {
    let sections = report.probes.known().into_iter();
    let mut of_probe = sections.filter(|(kind, _)| kind.name() == probe);
    let (kind, section) = of_probe.next()?;
    kind.answers(section, item)
}

/// The chapters of the probes, in the order of the registry.
fn chapters(report: &Report) -> Vec<Chapter<'_>> {
    let sections = report.probes.known().into_iter();
    sections
        .map(|(kind, section)| {
            let mut chapter = kind.chapter(section, view(report));
            // The code changed during the run, so the findings belong to no known code.
            if report.run.ending == Ending::Changed {
                chapter.statements = vec![Statement::new(Tone::Alarm, Phrase::text(
                        "the code of the pipeline changed while it ran: nothing is known, and nothing was kept",
                    ))];
            }
            for statement in &mut chapter.statements {
                statement.text.capitalize();
            }
            chapter
        })
        .collect()
}

fn view(report: &Report) -> RunView<'_> {
    RunView {
        metrics: &report.metrics,
        ending: report.run.ending,
        seed: report.run.seed,
    }
}

/// The subject of the check, how many calls were made and how long they took.
fn scope(report: &Report, chapters: &[Chapter<'_>]) -> Vec<String> {
    let cost = report.run.session.cost;
    let share = report.run.shard;
    let mut scope: Vec<String> = share
        .map(|share| format!("shard {}", share.shard()))
        .into_iter()
        .chain(chapters.iter().flat_map(|one| one.scope.iter().cloned()))
        .collect();
    if report.run.ending == Ending::DryRun {
        scope.push("nothing run".to_owned());
        return scope;
    }
    scope.push(counted(cost.invocations, "invocation"));
    for (count, word) in [
        (cost.cache_hits, "cached"),
        (cost.resumed, "resumed"),
        (cost.retries, "retried"),
    ] {
        if count > 0 {
            scope.push(format!("{count} {word}"));
        }
    }
    scope.extend(used(cost.usage.as_ref()));
    scope.extend(report.run.session.judge_cost.as_ref().map(of_judges));
    scope.push(duration(report.run.session.seconds));
    scope
}

/// Figures that belong to no probe of this version: a report of another version may contain some, and a page must not
/// leave any out.
fn others(report: &Report) -> Option<FigureTable<'_>> {
    let is_known = |id: &str| report.probes.kind(probe_of(id)).is_some();
    let rows = report.metrics.iter().filter(|(id, _)| !is_known(id));
    let rows: Vec<_> = rows
        .map(|(id, metric)| (Phrase::of_name(id), estimate(Some(metric))))
        .collect();
    (!rows.is_empty()).then_some(FigureTable {
        in_bars: false,
        title: "Other figures",
        note: "",
        rows,
    })
}

/// The facts on which the figures depend, besides those in the chapters of the probes.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let run = &report.run;
    let mut facts = vec![
        ("Repeats", run.repeats.to_string()),
        ("Started", run.session.started_at.clone()),
    ];
    if let Some(commit) = &run.session.commit {
        let dirty = match run.session.dirty {
            true => ", with changes",
            false => "",
        };
        facts.push(("Commit", format!("{commit}{dirty}")));
    }
    if let Some(decision) = &run.session.decision {
        facts.push(("Regression", decision.to_string()));
    }
    for (kind, section) in report.probes.known() {
        let print = section.fingerprint();
        let (items, command) = kind.fact_names();
        facts.extend(print.items.map(|print| (items, print.short(16))));
        facts.extend(print.command.map(|print| (command, print.short(16))));
    }
    let prints = &run.fingerprints;
    let pipeline = prints.pipeline.as_ref();
    facts.extend([
        ("Configuration", prints.config.short(16)),
        (
            "Pipeline code",
            pipeline.map_or_else(|| "unknown".to_owned(), |print| print.short(16)),
        ),
    ]);
    facts
}

#[cfg(test)]
mod browser_tests;
#[cfg(test)]
mod html_tests;
#[cfg(test)]
mod markdown_tests;
#[cfg(test)]
mod terminal_tests;
#[cfg(test)]
mod tests;
