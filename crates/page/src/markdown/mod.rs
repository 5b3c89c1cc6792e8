//! The page as Markdown: `report.md`, the text of a pull request below the comment, and pages that do not belong to a
//! single run.

mod writer;

use super::{
    Block, Chapter, ComparisonPage, DISCLAIMER, Estimate, FailedInvocation, FigureTable, ItemPage,
    LISTED, RunPage, Statement, Status, Table, TableRow, Tone, capitalized, counted, label, safe,
};
use crate::{Article, Trend, brief, display};
use kelvin_base::notice::Notice;
use writer::{Writer, name, phrase, quote};

/// The maximum length of a page in characters: a GitHub comment may have 65,536, and contains more than the page.
const MOST: usize = 50_000;

/// How many rows, failures and notices are listed at most; the others are only counted.
struct Listed {
    rows: usize,
    failures: usize,
    notices: usize,
    /// How many characters of a failed invocation's printed text are shown at most.
    printed: usize,
}

/// The forms, from the most detailed one, which is used for most runs, to the shortest one, which always fits.
const FORMS: &[Listed] = &[
    Listed {
        rows: LISTED,
        failures: 10,
        notices: 100,
        printed: 1_000,
    },
    Listed {
        rows: LISTED,
        failures: 3,
        notices: 30,
        printed: 300,
    },
    Listed {
        rows: 3,
        failures: 1,
        notices: 0,
        printed: 0,
    },
];

/// How many characters of a failed invocation's printed text are shown at most on the page of its item.
const PRINTED: usize = 4_000;
/// How many items of a restricted run are named at most.
const ONLY: usize = 20;
/// How many figures of one table are shown at most.
const FIGURES: usize = 100;

/// Renders the page of a run, in a shorter form if it would be too long for a comment.
pub fn render(page: &RunPage<'_>) -> String {
    let mut forms = FORMS.iter().map(|listed| laid_out(page, listed));
    let mut text = forms.next().unwrap_or_default();
    for shorter in forms {
        if text.chars().count() <= MOST {
            break;
        }
        text = shorter;
    }
    text
}

/// Renders the page of one item, which has no limit.
pub fn render_item(page: &ItemPage<'_>) -> String {
    let mut writer = Writer::default();
    writer.line(&format!("# {}", name(page.name)));
    writer.gap();
    for one in &page.blocks {
        block(&mut writer, one);
    }
    writer.line(&format!("_{DISCLAIMER}_"));
    writer.finish()
}

/// Renders the comparison of the items of one probe, as a part of a longer page.
pub fn render_comparison(page: &ComparisonPage<'_>) -> String {
    let mut writer = Writer::default();
    for one in &page.blocks {
        block(&mut writer, one);
    }
    writer.finish()
}

fn laid_out(page: &RunPage<'_>, listed: &Listed) -> String {
    let mut writer = Writer::default();
    let word = page.headword().word;
    writer.line(&format!("# Kelvin {}: {word}", page.command));
    writer.gap();
    statements(&mut writer, page.statements().take(3));
    writer.gap();
    for chapter in &page.chapters {
        signals(&mut writer, chapter);
        if let Some(table) = &chapter.measures {
            let title = table.title.to_lowercase();
            figures(&mut writer, &title, table, usize::MAX);
            writer.gap();
        }
    }
    for list in page.chapters.iter().flat_map(|chapter| &chapter.lists) {
        writer.line(&format!("## {}", phrase(&list.title)));
        writer.gap();
        table(&mut writer, list, list.most.unwrap_or(listed.rows));
    }
    failures(&mut writer, &page.failed(), listed);
    for table in page.tables() {
        writer.fold(&format!("{} ({})", table.title, table.rows.len()));
        if !table.note.is_empty() {
            writer.line(table.note);
            writer.gap();
        }
        figures(&mut writer, "", table, FIGURES);
        writer.unfold();
    }
    left_out(&mut writer, page, listed);
    foot(&mut writer, page);
    writer.finish()
}

fn statements<'a>(writer: &mut Writer, statements: impl Iterator<Item = &'a Statement>) {
    for statement in statements {
        let mark = match statement.tone {
            Tone::Alarm => "❗",
            Tone::Caution => "⚠️",
            Tone::Calm => "✅",
        };
        writer.line(&format!("- {mark} {}", phrase(&statement.text)));
    }
}

fn foot(writer: &mut Writer, page: &RunPage<'_>) {
    writer.line(&format!("{}.", page.scope.join(", ")));
    if !page.only.is_empty() {
        let only: Vec<String> = page.only.iter().take(ONLY).map(|item| name(item)).collect();
        let more = crate::and_more(page.only.len().saturating_sub(ONLY));
        writer.line(&format!("Restricted to {}{more}.", only.join(", ")));
    }
    let settings = page.chapters.iter().filter_map(|one| one.settings.as_ref());
    let mut measured: Vec<String> = settings.map(phrase).collect();
    measured.push(format!("kelvin {}", quote(page.version)));
    measured.push(format!("schema {}", page.schema));
    writer.line(&format!("{}.", measured.join(", ")));
    writer.gap();
    writer.line(&format!("_{DISCLAIMER}_"));
}

fn signals(writer: &mut Writer, chapter: &Chapter<'_>) {
    if chapter.signals.is_empty() {
        return;
    }
    writer.line("| signal | value | 95 % interval | sample | in words |");
    writer.line("| --- | ---: | --- | --- | --- |");
    for signal in &chapter.signals {
        let label = format!("**{}**: {}", signal.name, signal.claim);
        figure(writer, &label, &signal.estimate, &signal.in_words);
    }
    for (name, estimate) in chapter.groups.iter().flat_map(|group| &group.rows) {
        let word = estimate.word.unwrap_or_default();
        figure(writer, &capitalized(name), estimate, word);
    }
    writer.gap();
}

fn figures(writer: &mut Writer, title: &str, table: &FigureTable<'_>, most: usize) {
    let title = match title {
        "" => String::new(),
        title => format!(" {title}"),
    };
    writer.line(&format!("|{title} | value | 95 % interval | sample | |"));
    writer.line("| --- | ---: | --- | --- | --- |");
    for (label, estimate) in table.rows.iter().take(most) {
        let word = estimate.word.unwrap_or_default();
        figure(writer, &phrase(label), estimate, word);
    }
    writer.more(table.rows.len(), most, "figure");
}

/// A value is never shown without its interval and its sample; if there is no value, the reason replaces the word.
fn figure(writer: &mut Writer, label: &str, estimate: &Estimate<'_>, word: &str) {
    let interval = estimate.interval.as_deref().unwrap_or("-");
    let word = estimate.reason.map_or_else(|| word.to_owned(), quote);
    writer.line(&format!(
        "| {label} | {} | {interval} | {} | {word} |",
        estimate.shown, estimate.sample
    ));
}

fn block(writer: &mut Writer, block: &Block<'_>) {
    match block {
        Block::Heading(title) => writer.line(&format!("## {}", phrase(title))),
        Block::Text(sentences) => {
            for sentence in sentences {
                writer.line(&phrase(sentence));
            }
        }
        Block::Aside(sentence) => writer.line(&phrase(sentence)),
        Block::Formula(lines) => {
            writer.line("```text");
            for line in *lines {
                writer.line(line);
            }
            writer.line("```");
        }
        Block::Chips(chips) => {
            let chips: Vec<String> = chips.iter().map(|chip| name(&chip.text)).collect();
            writer.line(&chips.join(", "));
        }
        Block::Table(one) => table(writer, one, one.most.unwrap_or(usize::MAX)),
        Block::Printed(intro, text) => {
            writer.line(&phrase(intro));
            writer.gap();
            writer.block(&safe::fenced(text, PRINTED));
        }
        Block::Beside(texts) => {
            for (intro, text) in texts {
                writer.line(&phrase(intro));
                writer.gap();
                writer.block(&safe::fenced(text, PRINTED));
                writer.gap();
            }
        }
        Block::Notices(notices) => {
            for notice in notices {
                writer.line(&format!("- {}", notice_text(notice)));
            }
        }
        Block::Trend(trend) if trend.is_tabled => {}
        Block::Trend(over_time) => trend(writer, over_time),
    }
    writer.gap();
}

fn table(writer: &mut Writer, table: &Table, most: usize) {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    writer.line(&row(names.iter().map(|name| (*name).to_owned())));
    let rules = table.columns.iter().map(|column| match column.is_number {
        true => "---:".to_owned(),
        false => "---".to_owned(),
    });
    writer.line(&row(rules));
    for one in table.rows.iter().take(most) {
        writer.line(&row(cells(one)));
    }
    writer.more(table.rows.len() + table.left, most, table.noun);
    writer.gap();
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let mut row = "|".to_owned();
    for cell in cells {
        if !cell.is_empty() {
            row.push(' ');
            row.push_str(&cell);
        }
        row.push_str(" |");
    }
    row
}

fn cells(row: &TableRow) -> impl Iterator<Item = String> {
    let last = row.cells.len().saturating_sub(1);
    let is_against = row.status == Some(Status::Against);
    row.cells.iter().enumerate().map(move |(at, cell)| {
        let text = phrase(&cell.text);
        let text = match &cell.before {
            Some(before) => format!("{} → {text}", phrase(before)),
            None => text,
        };
        match is_against && at == last {
            true => format!("**{text}**"),
            false => text,
        }
    })
}

fn failures(writer: &mut Writer, failed: &[&FailedInvocation<'_>], listed: &Listed) {
    if failed.is_empty() {
        return;
    }
    writer.line(&format!(
        "## {}",
        counted(failed.len(), "failed invocation")
    ));
    writer.gap();
    for one in failed.iter().take(listed.failures) {
        writer.line(&format!(
            "- {} {}: {}",
            name(one.item),
            name(one.place),
            quote(&one.failure.message)
        ));
    }
    writer.more(failed.len(), listed.failures, "failed invocation");
    writer.gap();
    let printed = failed
        .iter()
        .take(listed.failures)
        .filter(|one| one.has_printed());
    let printed: Vec<&&FailedInvocation<'_>> = printed.take(3).collect();
    if printed.is_empty() || listed.printed == 0 {
        return;
    }
    writer.fold("What they printed last on standard error");
    for one in printed {
        writer.line(&format!("{} {}:", name(one.item), name(one.place)));
        writer.gap();
        writer.block(&safe::fenced(&one.failure.stderr, listed.printed));
        writer.gap();
    }
    writer.unfold();
}

/// Every notice in a folded part, with the counts in the visible line.
fn left_out(writer: &mut Writer, page: &RunPage<'_>, listed: &Listed) {
    if page.notices.is_empty() {
        return;
    }
    let counts: Vec<String> = page
        .notices
        .iter()
        .map(super::NoticeCount::counted)
        .collect();
    writer.fold(&format!("Caps, skips and warnings: {}", counts.join(", ")));
    let all: usize = page.notices.iter().map(|count| count.count).sum();
    // In this way some notices of every code are shown, instead of many notices with one code.
    let share = listed.notices.div_ceil(page.notices.len());
    let mut shown = 0;
    for count in &page.notices {
        for notice in count.notices.iter().take(share) {
            writer.line(&format!("- {}", notice_text(notice)));
            shown += 1;
        }
    }
    writer.more(all, shown, "notice");
    writer.unfold();
}

/// A notice with its place.
fn notice_text(notice: &Notice) -> String {
    let place = [notice.case.as_deref(), notice.kind.as_deref()];
    let place: Vec<String> = place.into_iter().flatten().map(name).collect();
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("{}: ", place.join(" "))
    };
    format!("**{}** {place}{}", label(&notice.code), quote(&notice.text))
}

/// Renders an article, which has no limit.
pub fn render_article(article: &Article<'_>) -> String {
    let mut writer = Writer::default();
    writer.line(&format!("# {}", phrase(&article.title)));
    writer.gap();
    statements(&mut writer, article.statements.iter());
    writer.gap();
    for one in &article.blocks {
        block(&mut writer, one);
    }
    writer.line(&format!("{}.", article.scope.join(", ")));
    writer.line(&format!("kelvin {}.", quote(article.version)));
    writer.gap();
    writer.line(&format!("_{DISCLAIMER}_"));
    writer.finish()
}

/// A row for each line of the plot and a column for each step; a step without a value has a dot.
fn trend(writer: &mut Writer, trend: &Trend) {
    writer.line(&format!(
        "{}, by {}, on a scale from {} to {}:",
        phrase(&trend.title),
        trend.step,
        brief(trend.ends.0),
        brief(trend.ends.1)
    ));
    writer.gap();
    let steps = trend.steps.iter().map(|step| match &step.mark {
        Some(mark) => format!("{} ({})", name(&step.name), name(mark)),
        None => name(&step.name),
    });
    writer.line(&row([String::new()].into_iter().chain(steps)));
    let rules = trend.steps.iter().map(|_| "---:".to_owned());
    writer.line(&row(["---".to_owned()].into_iter().chain(rules)));
    for line in &trend.lines {
        let points = line.points.iter().map(|point| match point {
            Some((value, n)) => format!("{} (n {n})", display(*value)),
            None => "·".to_owned(),
        });
        writer.line(&row([phrase(&line.name)].into_iter().chain(points)));
    }
}

#[cfg(test)]
mod tests;
