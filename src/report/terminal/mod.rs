//! The report for a terminal: one screen of 80 by 24.

mod page;
mod retrieval;

use super::document::Report;
use super::safe;
use super::summary::{
    self, DISCLAIMER, Figure, Phrase, Summary, Tally, Tone, band, brief, counted,
};
use crate::notice::Code;
use page::{Ink, Page};

pub(crate) use page::Style;

/// Cells of a bar.
const CELLS: usize = 10;
/// Columns before the figures.
const INDENT: usize = 13;

/// How much is told of what a screen has little room for.
struct Room {
    /// Lines of each breakdown.
    rows: usize,
    /// Lines of each diagnosis.
    wraps: usize,
    /// Failures and warnings that are told one by one.
    told: usize,
}

/// As much as a normal run needs.
const ROOMY: Room = Room {
    rows: 2,
    wraps: 3,
    told: 2,
};
/// So little that every report fits.
const TIGHT: Room = Room {
    rows: 1,
    wraps: 2,
    told: 1,
};

/// Renders a report whose files are in `folder`.
pub(crate) fn render(report: &Report, folder: &str, style: Style) -> String {
    let summary = Summary::of(report);
    let roomy = laid_out(&summary, folder, &ROOMY);
    let page = if roomy.fits() {
        roomy
    } else {
        laid_out(&summary, folder, &TIGHT)
    };
    page.render(style)
}

fn laid_out(summary: &Summary<'_>, folder: &str, room: &Room) -> Page {
    let mut page = Page::default();
    let heading = format!("kelvin {}: {}", summary.command(), summary.scope.join(", "));
    page.wrapped(Ink::Bold, "", &heading, 2);
    page.gap();
    if summary.report.retrieval.is_some() {
        retrieval::figures(&mut page, summary.report);
        page.gap();
    }
    if summary.has_evidence() {
        signals(&mut page, summary);
    }
    page.gap();
    breakdown(
        &mut page,
        "by kind",
        summary,
        "evidence.invariance",
        room.rows,
    );
    // One governing type alone would only repeat the whole.
    if summary.report.run.governing_types.len() > 1 {
        breakdown(
            &mut page,
            "by type",
            summary,
            "evidence.following",
            room.rows,
        );
    }
    others(&mut page, summary.report, room.rows);
    page.gap();
    for diagnosis in summary.diagnoses.iter().take(2) {
        let (mark, ink) = match diagnosis.tone {
            Tone::Alarm => ("!", Ink::Bad),
            Tone::Caution => ("~", Ink::Fair),
            Tone::Calm => ("=", Ink::Good),
        };
        page.wrapped(ink, mark, &plain(&diagnosis.text), room.wraps);
    }
    failures(&mut page, summary, folder, room.told);
    warnings(&mut page, summary, folder, room.told);
    left_out(&mut page, summary, folder);
    page.gap();
    let disclaimer = DISCLAIMER.split(':').next().unwrap_or(DISCLAIMER);
    page.line(Ink::Dim, &format!("{disclaimer}."));
    let files = format!("Details: {}/report.html (and .md, .json)", path(folder));
    page.line(Ink::Plain, &files);
    page
}

fn signals(page: &mut Page, summary: &Summary<'_>) {
    for (name, figure, question) in [
        (
            "Invariance",
            &summary.invariance,
            "does it hold when it should?",
        ),
        ("Following", &summary.following, "does it follow evidence?"),
    ] {
        signal(page, summary, name, figure, question);
    }
    let figure = &summary.sensitivity;
    let sample = format!("({})", figure.sample);
    let (could, followed) = (summary.swaps.could, summary.swaps.followed);
    let of = match figure.value {
        Some(_) => format!("  {sample}; {could} swaps could move it, {followed} did"),
        None => format!(" {sample}"),
    };
    page.parts(&[
        (Ink::Plain, &format!("{:<INDENT$}", "Sensitivity")),
        (Ink::Plain, &figure.shown),
        (Ink::Plain, &of),
    ]);
    kelvin(page, summary);
    if let Some(noise) = &summary.noise {
        let text = format!(
            "{:<INDENT$}{} ({}); without it {} and {}, score {}",
            "Noise floor",
            noise.floor.shown,
            noise.floor.sample,
            noise.invariance.shown,
            noise.sensitivity.shown,
            noise.kelvin.shown,
        );
        page.line(Ink::Plain, &text);
    }
}

/// A figure with its bar, its sample and its interval; or why there is none.
fn signal(page: &mut Page, summary: &Summary<'_>, name: &str, figure: &Figure<'_>, question: &str) {
    let Some(value) = figure.value else {
        let text = format!("{name:<INDENT$}{} ({})", figure.shown, figure.sample);
        page.line(Ink::Plain, &text);
        let why = safe::line(figure.reason.unwrap_or("no reason is known"));
        page.line(Ink::Plain, &format!("{:INDENT$}{why}", ""));
        return;
    };
    let word = figure.word.unwrap_or_default();
    page.parts(&[
        (Ink::Plain, &format!("{name:<INDENT$}")),
        (Ink::Bold, &figure.shown),
        (Ink::Plain, "  "),
        (
            // A value without a word is neither good nor bad.
            figure
                .word
                .map_or(Ink::Plain, |_| Ink::of_band(band(value))),
            &format!("{}  {word:<17}", bar(value)),
        ),
        (Ink::Dim, question),
    ]);
    let interval = interval(summary, figure);
    let sample = format!("{:INDENT$}{}{interval}", "", figure.sample);
    page.line(Ink::Plain, &sample);
}

fn kelvin(page: &mut Page, summary: &Summary<'_>) {
    let (figure, name) = (&summary.kelvin, "Kelvin score");
    let (Some(parts), Some(standing)) = (summary.kelvin_parts(), summary.standing) else {
        let text = format!(
            "{name:<INDENT$}{} ({}), since it needs both",
            figure.shown, figure.sample
        );
        page.line(Ink::Plain, &text);
        return;
    };
    page.parts(&[
        (Ink::Plain, &format!("{name:<INDENT$}")),
        (Ink::Bold, &figure.shown),
        (
            Ink::Plain,
            &format!(
                "  = {} + {}, best 0, worst 2 ({})",
                parts[0], parts[1], figure.sample
            ),
        ),
    ]);
    let meaning = format!("{}: {}", standing.title(), standing.meaning());
    page.wrapped(Ink::Bold, "", &meaning, 2);
}

fn interval(summary: &Summary<'_>, figure: &Figure<'_>) -> String {
    let interval = figure.interval.as_ref();
    interval.map_or_else(
        || format!("; {}", summary.no_interval()),
        |interval| format!("; 95 % interval {interval}"),
    )
}

/// A bar is full or empty only where the value is 1 or 0.
fn bar(value: f64) -> String {
    let cells = (value * CELLS as f64).round() as usize;
    let full = if value >= 1.0 {
        CELLS
    } else if value <= 0.0 {
        0
    } else {
        cells.clamp(1, CELLS - 1)
    };
    format!("[{}{}]", "#".repeat(full), "-".repeat(CELLS - full))
}

/// The parts of a signal, the lowest first: those are the ones to look at.
fn breakdown(page: &mut Page, label: &str, summary: &Summary<'_>, id: &str, rows: usize) {
    let mut family = summary::family(summary.report, id);
    // Both pads together would only repeat the two.
    family.retain(|(name, _)| *name != "pad");
    family.sort_by(|a, b| {
        let value = |metric: &crate::probe::Metric| metric.value.unwrap_or(f64::INFINITY);
        value(a.1).total_cmp(&value(b.1)).then_with(|| a.0.cmp(b.0))
    });
    let items: Vec<String> = family
        .into_iter()
        .map(|(name, metric)| {
            let figure = Figure::of(Some(metric)).within_one();
            format!(
                "{} {} ({})",
                safe::cut(name, 28),
                figure.brief(),
                figure.sample
            )
        })
        .collect();
    page.listed(&format!("  {label}"), &items, rows);
}

/// What counts into neither signal, and still must be seen.
fn others(page: &mut Page, report: &Report, rows: usize) {
    let items: Vec<String> = [
        ("evidence.sensitivity_condition", "conditions alone"),
        ("evidence.content_effect", "content effect"),
        ("evidence.mechanical_sensitivity", "mechanical"),
    ]
    .into_iter()
    .filter_map(|(id, name)| {
        let metric = report.metrics.get(id)?;
        let value = metric.value.map_or_else(|| "-".to_owned(), brief);
        Some(format!("{name} {value} ({})", summary::sample(metric)))
    })
    .collect();
    page.listed("  apart", &items, rows);
}

fn failures(page: &mut Page, summary: &Summary<'_>, folder: &str, told: usize) {
    for one in summary.failed.iter().take(told) {
        let said = one.last_line();
        let said = said.map_or_else(String::new, |line| format!(": {line}"));
        let text = format!(
            "{}/{}: {}{said}",
            safe::cut(one.case, 24),
            safe::cut(one.place(), 30),
            safe::line(&one.failure.message),
        );
        page.line(Ink::Bad, &format!("x {text}"));
    }
    let more = summary.failed.len().saturating_sub(told);
    if more > 0 {
        let text = format!(
            "x and {}; see {}/report.html",
            counted(more, "more failed invocation"),
            path(folder)
        );
        page.line(Ink::Bad, &text);
    }
}

fn warnings(page: &mut Page, summary: &Summary<'_>, folder: &str, told: usize) {
    let warnings: Vec<&Tally<'_>> = summary
        .tallies
        .iter()
        .filter(|tally| tally.code.is_warning() && !is_told_elsewhere(tally.code))
        .collect();
    for tally in warnings.iter().take(told) {
        let Some(first) = tally.notices.first() else {
            continue;
        };
        let case = first
            .case
            .as_deref()
            .map(|case| format!("{}: ", safe::cut(case, 24)));
        let more = match tally.count {
            1 => String::new(),
            count => format!(" ({} more like it)", count - 1),
        };
        let text = format!("{}{}", case.unwrap_or_default(), safe::line(&first.text));
        let room = page::WIDTH - 2 - more.len();
        page.line(Ink::Fair, &format!("~ {}{more}", safe::cut(&text, room)));
    }
    let more: usize = warnings.iter().skip(told).map(|tally| tally.count).sum();
    if more > 0 {
        let text = format!(
            "~ and {}; see {}/report.html",
            counted(more, "more warning"),
            path(folder)
        );
        page.line(Ink::Fair, &text);
    }
}

/// Failures have lines of their own, a missing figure has its reason beside it, and a case with too
/// many failures and an early end are diagnoses.
const fn is_told_elsewhere(code: Code) -> bool {
    matches!(
        code,
        Code::VariantsFailed | Code::Unmeasured | Code::Interrupted | Code::Insufficient
    )
}

/// Caps and skips in one line: by kind where there is room, by code in any case.
fn left_out(page: &mut Page, summary: &Summary<'_>, folder: &str) {
    let tallies = summary
        .tallies
        .iter()
        .filter(|tally| !tally.code.is_warning());
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for tally in tallies {
        let kinds: Vec<String> = tally
            .kinds
            .iter()
            .map(|(kind, count)| format!("{} {count}", safe::cut(kind, 28)))
            .collect();
        short.push(tally.counted());
        long.push(if kinds.is_empty() {
            tally.counted()
        } else {
            format!("{} ({})", tally.counted(), kinds.join(", "))
        });
    }
    if short.is_empty() {
        return;
    }
    let line = |counts: &[String]| {
        format!(
            "Not as asked: {}; see {}/report.md",
            counts.join(", "),
            path(folder)
        )
    };
    let told = Some(line(&long)).filter(|line| safe::columns(line) <= page::WIDTH);
    page.line(Ink::Plain, &told.unwrap_or_else(|| line(&short)));
}

fn path(folder: &str) -> String {
    safe::cut(folder, 40)
}

fn plain(phrase: &Phrase) -> String {
    phrase.show(|part, text| match part {
        summary::Part::Quote => safe::cut(text, 160),
        summary::Part::Name | summary::Part::Text => format!("`{}`", safe::cut(text, 40)),
    })
}

#[cfg(test)]
mod tests;
