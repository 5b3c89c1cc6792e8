//! The blocks of a page as HTML. They are written directly, without a template: the page of ten thousand queries has
//! about sixty cells for each, and a template took half of the time of the whole command.
//!
//! All untrusted text is shortened, within a budget: a larger page is slow to open, and nobody reads it.

use std::fmt::Write as _;

use super::Texts;
use super::diff::{self, DiffLine};
use super::foreign::{FOREIGN, say, shortened, text};
use super::trend::plot;
use crate::{Block, Chip, Detail, Phrase, Status, Table, TableRow, label, safe};
use kelvin_base::notice::Notice;

/// The maximum number of differences on a page, and their maximum size in bytes.
const DIFFS: usize = 1_500;
const DIFF_BYTES: usize = 3_000_000;
/// The maximum size of the texts side by side on a page in bytes, and the maximum size of each text once that space is
/// used up.
const BESIDE_BYTES: usize = 6_000_000;
const CUT_TEXT: usize = 500;
/// How many rows of items a page lists before it leaves out those with the expected result.
const ROWS: usize = 15_000;
/// How many notices of an item are listed at most.
const NOTICES: usize = 100;

/// The remaining space on a page.
pub(super) struct PageSpace<'a> {
    texts: &'a Texts<'a>,
    diffs: usize,
    bytes: usize,
    beside: usize,
    rows: usize,
    /// The number of differences that did not fit.
    pub(super) diffs_left_out: usize,
    /// The number of rows that did not fit; none of them had an unexpected result.
    pub(super) rows_left_out: usize,
}

impl<'a> PageSpace<'a> {
    /// The full budget.
    pub(super) fn new(texts: &'a Texts<'a>) -> Self {
        Self {
            texts,
            diffs: DIFFS,
            bytes: DIFF_BYTES,
            beside: BESIDE_BYTES,
            rows: ROWS,
            diffs_left_out: 0,
            rows_left_out: 0,
        }
    }
}

/// Adds a block; its headings have the given level. `least` names the parts of items that are left out first.
pub(super) fn block(
    to: &mut String,
    block: Block<'_>,
    level: u8,
    least: &'static str,
    space: &mut PageSpace<'_>,
) {
    match block {
        Block::Heading(heading) => {
            let _ = write!(to, "<h{level}>");
            say(to, &heading);
            let _ = writeln!(to, "</h{level}>");
        }
        Block::Text(sentences) => {
            to.push_str("<p>");
            for (number, sentence) in sentences.iter().enumerate() {
                if number > 0 {
                    to.push(' ');
                }
                say(to, sentence);
            }
            to.push_str("</p>\n");
        }
        Block::Aside(sentence) => {
            to.push_str("<p class=\"soft\">");
            say(to, &sentence);
            to.push_str("</p>\n");
        }
        Block::Formula(lines) => {
            to.push_str("<p class=\"formula\">");
            for (number, line) in lines.iter().enumerate() {
                if number > 0 {
                    to.push_str("<br>");
                }
                text(to, line);
            }
            to.push_str("</p>\n");
        }
        Block::Chips(all) => {
            chips(to, &all);
            to.push('\n');
        }
        Block::Table(rows) => {
            table(to, &rows, least, space);
            to.push('\n');
        }
        Block::Printed(intro, printed) => {
            to.push_str("<p>");
            say(to, &intro);
            to.push_str("</p><pre tabindex=\"0\">");
            text(to, &safe::lines(printed));
            to.push_str("</pre>\n");
        }
        Block::Beside(columns) => {
            to.push_str("<div class=\"beside\">");
            for (intro, column) in columns {
                beside(to, &intro, column, space);
            }
            to.push_str("</div>\n");
        }
        Block::Notices(notices) => {
            to.push_str("<ul>");
            for one in notices.iter().take(NOTICES) {
                to.push_str("<li>");
                notice(to, one);
                to.push_str("</li>");
            }
            let more = notices.len().saturating_sub(NOTICES);
            if more > 0 {
                let _ = write!(to, "<li class=\"soft\">and {more} more in report.json</li>");
            }
            to.push_str("</ul>\n");
        }
        Block::Trend(trend) => {
            plot(to, &trend);
            to.push('\n');
        }
    }
    to.push('\n');
}

/// Adds one of several texts that are shown side by side, and shortens it to the space on the page.
fn beside(to: &mut String, intro: &Phrase, column: &str, space: &mut PageSpace<'_>) {
    let mut shown = safe::lines(column);
    let is_cut = shown.len() > space.beside.max(CUT_TEXT);
    if is_cut {
        let end = (0..=CUT_TEXT)
            .rev()
            .find(|end| shown.is_char_boundary(*end));
        shown.truncate(end.unwrap_or(0));
    }
    space.beside = space.beside.saturating_sub(shown.len());
    to.push_str("<div><p>");
    say(to, intro);
    to.push_str("</p><pre tabindex=\"0\">");
    text(to, &shown);
    to.push_str("</pre>");
    if is_cut {
        to.push_str(
            "<p class=\"soft\">The rest is in report.json: this page has no more room.</p>",
        );
    }
    to.push_str("</div>");
}

/// Adds short names in the given order.
fn chips(to: &mut String, chips: &[Chip]) {
    let short = |name: &String| safe::cut(name, 80);
    let shown = |name: &Option<String>| name.as_ref().map(short).filter(|name| !name.is_empty());
    to.push_str("<ol class=\"chips\">");
    for chip in chips {
        let badge = shown(&chip.badge);
        to.push_str("<li");
        if badge.is_some() {
            to.push_str(" class=\"marked\"");
        }
        if let Some(title) = shown(&chip.title) {
            to.push_str(" title=\"");
            text(to, &title);
            to.push('"');
        }
        to.push('>');
        text(to, &short(&chip.text));
        if let Some(badge) = badge {
            to.push_str(" <small>");
            text(to, &badge);
            to.push_str("</small>");
        }
        to.push_str("</li>");
    }
    to.push_str("</ol>");
}

/// Adds a table; if the page has no space left, rows of items with the expected result are left out.
pub(super) fn table(
    to: &mut String,
    table: &Table,
    least: &'static str,
    space: &mut PageSpace<'_>,
) {
    let mut more = 0;
    let begin = to.len();
    let has_status = table.rows.iter().any(|row| row.status.is_some());
    to.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
    text(to, &shortened(&table.title).show(|_, name| name.to_owned()));
    to.push_str("\"><table");
    if has_status {
        to.push_str(" class=\"parts\"");
    }
    to.push_str(">\n<thead><tr>");
    for column in &table.columns {
        to.push_str("<th scope=\"col\"");
        if column.is_number {
            to.push_str(" class=\"n\"");
        }
        to.push('>');
        text(to, column.name);
        to.push_str("</th>");
    }
    to.push_str("</tr></thead>\n<tbody>\n");
    let mut is_empty = true;
    for row in &table.rows {
        let counts = row.status.is_some();
        if counts && space.rows == 0 && row.status != Some(Status::Against) {
            more += 1;
            continue;
        }
        space.rows = space.rows.saturating_sub(usize::from(counts));
        table_row(to, row, table, space);
        is_empty = false;
    }
    to.push_str("</tbody></table></div>\n");
    if is_empty {
        to.truncate(begin);
        to.push_str("<p class=\"soft\">No ");
        text(to, table.noun);
        to.push_str(" is listed.</p>\n");
    }
    space.rows_left_out += more;
    if more > 0 {
        let _ = write!(to, "<p class=\"soft\">{more} ");
        text(to, least);
        to.push_str(" are not listed, to keep this page quick");
        if let Some(elsewhere) = &table.elsewhere {
            to.push_str("; ");
            say(to, elsewhere);
        }
        to.push_str(".</p>\n");
    }
}

/// Adds a row of a table, whose first cell names it, and the details that can be expanded below it.
fn table_row(to: &mut String, row: &TableRow, table: &Table, space: &mut PageSpace<'_>) {
    to.push_str("<tr");
    if let Some(anchor) = &row.anchor {
        to.push_str(" id=\"");
        text(to, anchor);
        to.push('"');
    }
    to.push_str("><th scope=\"row\">");
    if let Some(name) = row.cells.first() {
        text(to, &shortened(&name.text).show(|_, name| name.to_owned()));
    }
    to.push_str("</th>");
    for (at, cell) in row.cells.iter().enumerate().skip(1) {
        let column = table.columns.get(at).filter(|column| column.is_number);
        to.push_str("<td");
        match (row.status, column) {
            (Some(status), _) if at + 1 == row.cells.len() => {
                let _ = write!(to, " class=\"{}\"", class(status));
            }
            (_, Some(column)) => {
                to.push_str(" class=\"n\" data-label=\"");
                text(to, column.name);
                to.push('"');
            }
            (_, None) => {}
        }
        to.push('>');
        if let Some(before) = &cell.before {
            say(to, before);
            to.push_str(" <span aria-label=\"became\">→</span> ");
        }
        say(to, &cell.text);
        to.push_str("</td>");
    }
    to.push_str("</tr>\n");
    if let Some(below) = &row.detail {
        let _ = write!(
            to,
            "<tr class=\"more\"><td colspan=\"{}\">",
            table.columns.len()
        );
        detail(to, below, space);
        to.push_str("</td></tr>\n");
    }
}

/// The class of the style sheet for a status.
const fn class(status: Status) -> &'static str {
    match status {
        Status::Expected => "expected",
        Status::Against => "against",
        Status::Open => "open",
        Status::Apart => "apart",
        Status::Failed => "failed",
        Status::NotRun => "not_run",
    }
}

/// Adds the details that can be expanded below a row, or says why there are none.
pub(super) fn detail(to: &mut String, detail: &Detail, space: &mut PageSpace<'_>) {
    let opens = |to: &mut String, title: &str| {
        to.push_str("<details><summary>");
        text(to, title);
        to.push_str("</summary>");
    };
    match detail {
        Detail::Chips(_, names) if names.is_empty() => {}
        Detail::Chips(title, names) => {
            opens(to, title);
            chips(to, names);
            to.push_str("</details>");
        }
        Detail::Difference {
            title,
            item,
            part,
            file,
        } => {
            let file = safe::cut(file, FOREIGN);
            match difference(item, part, space) {
                Ok((lines, _)) if lines.is_empty() => {}
                Ok((lines, more)) => {
                    opens(to, title);
                    to.push_str("<div class=\"diff\">");
                    for line in &lines {
                        line.write(to);
                    }
                    if more > 0 {
                        let _ = write!(to, "<div class=\"soft\">and {more} more lines; see <code>");
                        text(to, &file);
                        to.push_str("</code></div>");
                    }
                    to.push_str("</div></details>");
                }
                Err(reason) => {
                    to.push_str("<span class=\"soft\">");
                    text(to, reason);
                    to.push_str(" See <code>");
                    text(to, &file);
                    to.push_str("</code></span>");
                }
            }
        }
    }
}

/// The changed lines of a part of an item with the number of other lines; otherwise the reason why they are not shown.
fn difference(
    item: &str,
    part: &str,
    space: &mut PageSpace<'_>,
) -> Result<(Vec<DiffLine>, usize), &'static str> {
    if space.diffs == 0 || space.bytes == 0 {
        space.diffs_left_out += 1;
        return Err("The diff was left out to keep this page quick.");
    }
    let texts = space.texts;
    let (Some(before), Some(after)) = (texts(item, None), texts(item, Some(part))) else {
        return Err("The inputs are not at hand.");
    };
    if before.len().max(after.len()) > diff::LONGEST {
        space.diffs_left_out += 1;
        return Err("The inputs are too long to compare here.");
    }
    let (lines, more) = diff::lines(&before, &after);
    space.diffs -= 1;
    let bytes: usize = lines.iter().map(DiffLine::len).sum();
    space.bytes = space.bytes.saturating_sub(bytes);
    Ok((lines, more))
}

/// Adds a notice.
pub(super) fn notice(to: &mut String, notice: &Notice) {
    to.push_str("<strong>");
    text(to, &label(&notice.code));
    to.push_str("</strong>");
    for part in [&notice.case, &notice.kind].into_iter().flatten() {
        to.push_str(" <code>");
        text(to, &safe::cut(part, 120));
        to.push_str("</code>");
    }
    to.push(' ');
    text(to, &safe::cut(&notice.text, 600));
    if let Some((wanted, got)) = notice.wanted.zip(notice.got) {
        let _ = write!(to, " <span class=\"soft\">({got} of {wanted})</span>");
    }
}
