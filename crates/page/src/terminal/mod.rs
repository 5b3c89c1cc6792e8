//! The page for a terminal: one screen of 80 by 24, or as wide as the terminal is.

mod screen;

use super::{
    Breakdown, Chapter, ComparisonPage, DISCLAIMER, Estimate, FigureTable, NoticeCount, Phrase,
    PhrasePart, RunPage, SETTING, Signal, Tone, band, capitalized, counted, in_one_line, safe,
};
use kelvin_base::notice::Code;
use screen::{Ink, Screen};

pub use screen::Style;

/// The number of cells of a bar.
const CELLS: usize = 10;
/// The number of columns before the figures.
const INDENT: usize = 13;

/// The space on a screen for the longer parts.
struct Room {
    /// The maximum number of lines of each breakdown.
    rows: usize,
    /// The maximum number of lines of each statement.
    wraps: usize,
    /// How many failures and warnings are shown separately at most.
    told: usize,
    /// The maximum number of lines of each failure and warning.
    reasons: usize,
}

/// Enough space for a normal run.
const ROOMY: Room = Room {
    rows: 2,
    wraps: 3,
    told: 2,
    reasons: 4,
};
/// With so little space per entry, every page fits.
const TIGHT: Room = Room {
    rows: 1,
    wraps: 2,
    told: 1,
    reasons: 1,
};

/// Renders the page of a run whose files are in `folder`.
pub fn render(page: &RunPage<'_>, folder: &str, style: Style) -> String {
    let roomy = laid_out(page, folder, &ROOMY, style);
    let screen = if roomy.fits() {
        roomy
    } else {
        laid_out(page, folder, &TIGHT, style)
    };
    screen.render()
}

/// Renders the comparison of the items of one probe, as lines of a longer page.
pub fn render_comparison(page: &ComparisonPage<'_>) -> String {
    const WIDTH: usize = 76;
    let mut text = format!("{:<INDENT$}{}\n", page.title, page.summary);
    for item in &page.worst {
        let item = item.show(|_, foreign| foreign.to_owned());
        text.push_str("  ");
        text.push_str(&safe::cut(&item, WIDTH));
        text.push('\n');
    }
    text
}

fn laid_out(page: &RunPage<'_>, folder: &str, room: &Room, style: Style) -> Screen {
    let mut screen = Screen::new(style);
    let heading = format!("kelvin {}: {}", page.command, page.scope.join(", "));
    screen.wrapped(Ink::Bold, "", &heading, 2);
    for caveat in page.caveats().take(2) {
        screen.wrapped(
            Ink::Fair,
            "~",
            &capitalized(&safe::line(caveat)),
            room.wraps,
        );
    }
    for chapter in &page.chapters {
        screen.gap();
        figures(&mut screen, chapter);
    }
    screen.gap();
    for breakdown in page.chapters.iter().flat_map(|one| &one.breakdowns) {
        parts(&mut screen, breakdown, room.rows);
    }
    screen.gap();
    for statement in page.statements().take(2) {
        let (mark, ink) = match statement.tone {
            Tone::Alarm => ("!", Ink::Bad),
            Tone::Caution => ("~", Ink::Fair),
            Tone::Calm => ("=", Ink::Good),
        };
        screen.wrapped(ink, mark, &plain(&statement.text), room.wraps);
    }
    failures(&mut screen, page, folder, room);
    warnings(&mut screen, page, folder, room);
    left_out(&mut screen, page, folder);
    screen.gap();
    let disclaimer = DISCLAIMER.split(':').next().unwrap_or(DISCLAIMER);
    screen.line(Ink::Dim, &format!("{disclaimer}."));
    let files = format!("Details: {}/report.html (and .md, .json)", path(folder));
    screen.line(Ink::Plain, &files);
    screen
}

/// The figures at the top of a chapter.
fn figures(screen: &mut Screen, chapter: &Chapter<'_>) {
    for signal in &chapter.signals {
        match signal.has_bar {
            true => bar_line(screen, signal, chapter.no_interval),
            false => value_line(screen, signal),
        }
    }
    let headword = chapter.headword;
    if headword.is_judgement {
        let meaning = format!("{}: {}", headword.title, headword.meaning);
        screen.wrapped(Ink::Bold, "", &meaning, 2);
    }
    for group in &chapter.groups {
        let (name, text) = &group.line;
        screen.line(Ink::Plain, &format!("{name:<INDENT$}{text}"));
    }
    if let Some(table) = &chapter.measures {
        measures(screen, table);
    }
}

/// A figure with its bar, its sample and its interval; or the reason why there is no figure.
fn bar_line(screen: &mut Screen, signal: &Signal<'_>, no_interval: &str) {
    let (name, estimate) = (signal.name, &signal.estimate);
    let Some(value) = estimate.value else {
        let text = format!("{name:<INDENT$}{} ({})", estimate.shown, estimate.sample);
        screen.line(Ink::Plain, &text);
        let why = safe::line(estimate.reason.unwrap_or("no reason is known"));
        screen.line(Ink::Plain, &format!("{:INDENT$}{why}", ""));
        return;
    };
    // A value without a word is neither good nor bad, and has no colour.
    let word = estimate.word.unwrap_or_default();
    let ink = estimate
        .word
        .map_or(Ink::Plain, |_| Ink::of_band(band(value)));
    screen.parts(&[
        (Ink::Plain, &format!("{name:<INDENT$}")),
        (Ink::Bold, &estimate.shown),
        (Ink::Plain, "  "),
        (ink, &format!("{}  {word:<17}", bar(value / signal.most))),
        (Ink::Dim, signal.ask),
    ]);
    let interval = match &estimate.interval {
        Some(interval) => format!("95 % interval {interval}"),
        None => no_interval.to_owned(),
    };
    let sample = format!("{:INDENT$}{}; {interval}", "", estimate.sample);
    screen.line(Ink::Plain, &sample);
}

/// A figure in one line.
fn value_line(screen: &mut Screen, signal: &Signal<'_>) {
    let estimate = &signal.estimate;
    let (space, made_of) = match estimate.value {
        Some(_) => ("  ", signal.made_of.as_str()),
        None => (" ", ""),
    };
    screen.parts(&[
        (Ink::Plain, &format!("{:<INDENT$}", signal.name)),
        (Ink::Bold, &estimate.shown),
        (
            Ink::Plain,
            &format!("{space}{made_of}({}){}", estimate.sample, signal.aside),
        ),
    ]);
}

/// A bar is full only for the value 1, and empty only for the value 0.
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

/// Many figures of one kind: figures whose names differ only after an `@` share a line.
fn measures(screen: &mut Screen, table: &FigureTable<'_>) {
    let names = table.rows.iter().map(|(name, _)| plain(name));
    let rows: Vec<(String, &Estimate<'_>)> = names
        .zip(table.rows.iter().map(|(_, estimate)| estimate))
        .collect();
    let same = |a: &(String, _), b: &(String, _)| split(&a.0).0 == split(&b.0).0;
    for group in rows.chunk_by(same) {
        screen.line(Ink::Plain, &measure_line(group));
    }
}

/// The name before an `@`, and the text after it up to the next space.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((before, after)) => (before, after.split(' ').next()),
        None => (name, None),
    }
}

/// The name, the text after each `@`, the values, and the sample that all of them share.
fn measure_line(group: &[(String, &Estimate<'_>)]) -> String {
    let Some((name, estimate)) = group.last() else {
        return String::new();
    };
    let behind: Vec<&str> = group.iter().filter_map(|(name, _)| split(name).1).collect();
    let label = match behind.as_slice() {
        [] => split(name).0.to_owned(),
        behind => format!("{}@{}", split(name).0, behind.join(",")),
    };
    let (shown, sample) = (&estimate.shown, &estimate.sample);
    if let Some(reason) = estimate.reason {
        let reason = safe::line(reason);
        return format!("{label:<21} {shown} ({sample}): {reason}");
    }
    let values: Vec<&str> = group.iter().map(|(_, one)| one.shown.as_str()).collect();
    let interval = match (&estimate.interval, values.len()) {
        (Some(interval), 1) => format!("; 95 % interval {interval}"),
        _ => String::new(),
    };
    format!("{label:<21} {} ({sample}){interval}", values.join("  "))
}

/// The parts of a figure, as many as fit.
fn parts(screen: &mut Screen, breakdown: &Breakdown<'_>, rows: usize) {
    let items = breakdown.rows.iter().map(|(name, estimate)| {
        format!(
            "{} {} ({})",
            safe::cut(name, 28),
            estimate.brief(),
            estimate.sample
        )
    });
    let items: Vec<String> = items.collect();
    screen.listed(&format!("  {}", breakdown.label), &items, rows);
}

fn failures(screen: &mut Screen, page: &RunPage<'_>, folder: &str, room: &Room) {
    let failed = page.failed();
    for one in failed.iter().take(room.told) {
        let text = format!(
            "{}/{}: {}",
            safe::cut_middle(one.item, 24),
            safe::cut(one.place, 30),
            in_one_line(one.failure),
        );
        screen.wrapped(Ink::Bad, "x", &text, room.reasons);
    }
    let more = failed.len().saturating_sub(room.told);
    if more > 0 {
        let text = format!(
            "x and {}; see {}/report.html",
            counted(more, "more failed invocation"),
            path(folder)
        );
        screen.line(Ink::Bad, &text);
    }
}

fn warnings(screen: &mut Screen, page: &RunPage<'_>, folder: &str, room: &Room) {
    let warnings: Vec<&NoticeCount<'_>> = page
        .notices
        .iter()
        .filter(|count| count.is_warning && !is_told_elsewhere(count.code))
        .filter(|count| count.notices.iter().all(|notice| !notice.foremost))
        .collect();
    for count in warnings.iter().take(room.told) {
        let Some(first) = count.notices.first() else {
            continue;
        };
        let item = first
            .case
            .as_deref()
            .map(|item| format!("{}: ", safe::cut_middle(item, 24)));
        let more = match count.count {
            1 => String::new(),
            count => format!(" ({} more like it)", count - 1),
        };
        let text = format!("{}{}", item.unwrap_or_default(), safe::line(&first.text));
        let most = room.reasons * (screen.width() - 2) - more.len();
        let text = format!("{}{more}", safe::cut(&text, most));
        screen.wrapped(Ink::Fair, "~", &text, room.reasons);
    }
    let more: usize = warnings
        .iter()
        .skip(room.told)
        .map(|count| count.count)
        .sum();
    if more > 0 {
        let text = format!(
            "~ and {}; see {}/report.html",
            counted(more, "more warning"),
            path(folder)
        );
        screen.line(Ink::Fair, &text);
    }
}

/// Whether notices with this code are shown elsewhere: failures have their own lines, a missing figure has its reason
/// next to it, and statements report an item with too many failures and an early end.
const fn is_told_elsewhere(code: &Code) -> bool {
    matches!(
        code,
        Code::VariantsFailed | Code::Unmeasured | Code::Interrupted | Code::Insufficient
    )
}

/// Limits and skips in one line: by kind if there is space, otherwise by code.
fn left_out(screen: &mut Screen, page: &RunPage<'_>, folder: &str) {
    let counts = page.notices.iter().filter(|one| !one.is_warning);
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for count in counts {
        let kinds: Vec<String> = count
            .kinds
            .iter()
            .map(|(kind, count)| format!("{} {count}", safe::cut(kind, 28)))
            .collect();
        short.push(count.counted());
        long.push(if kinds.is_empty() {
            count.counted()
        } else {
            format!("{} ({})", count.counted(), kinds.join(", "))
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
    let told = Some(line(&long)).filter(|line| safe::columns(line) <= screen.width());
    screen.line(Ink::Plain, &told.unwrap_or_else(|| line(&short)));
}

fn path(folder: &str) -> String {
    safe::cut(folder, 40)
}

fn plain(phrase: &Phrase) -> String {
    phrase.show(|part, text| match part {
        PhrasePart::Quote => safe::cut(text, 160),
        PhrasePart::Setting => format!("`{}`", safe::cut(text, SETTING)),
        PhrasePart::Name | PhrasePart::Text => format!("`{}`", safe::cut_middle(text, 40)),
    })
}

#[cfg(test)]
mod tests;
