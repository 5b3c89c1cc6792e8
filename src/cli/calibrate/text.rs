//! The trial for a terminal.

use std::fmt::Write as _;

use super::words;
use crate::check::Calibrated;
use kelvin_page::safe;
use kelvin_run::judge::trial::Ruling;

/// Columns of the names of criteria.
const NAME: usize = 16;
/// Columns of the names of figures.
const FIGURE: usize = 39;
/// Columns of a line.
const WIDTH: usize = 80;

/// Renders a trial.
pub(super) fn render(calibrated: &Calibrated) -> String {
    let mut page = String::new();
    let Some(record) = &calibrated.record else {
        wrapped(&mut page, "", words::STOPPED);
        wrapped(&mut page, "", &words::cost(calibrated));
        return page;
    };
    let judge = safe::line(&record.judge);
    let _ = writeln!(page, "kelvin calibrate: {judge}");
    wrapped(&mut page, "", &format!("{}.", words::scope(record)));
    wrapped(
        &mut page,
        "",
        &format!("Judge: {}.", safe::line(&record.grader_id)),
    );
    let other = safe::line(&record.compared_with);
    wrapped(&mut page, "", &format!("Compared with: {other}."));
    page.push('\n');
    wrapped(&mut page, "", words::verdict(record.fitness));
    for one in &record.criteria {
        let mark = match one.ruling {
            Ruling::Kept => '=',
            Ruling::Broken => '!',
            Ruling::Open => '~',
            Ruling::Unasked => '-',
        };
        let head = format!("{mark} {:<NAME$}", safe::cut(&one.name, NAME));
        wrapped(&mut page, &head, &safe::line(&one.text));
    }
    page.push('\n');
    let _ = writeln!(page, "{:<FIGURE$}{:>12}  95 % interval", "figure", "value");
    for (measure, figure) in &record.figures {
        let (value, interval) = words::value(figure);
        let sample = match figure.n {
            0 => String::new(),
            n => format!("  n={n}"),
        };
        let label = measure.label();
        let _ = writeln!(page, "{label:<FIGURE$}{value:>12}  {interval}{sample}");
        if let Some(note) = &figure.note {
            wrapped(&mut page, "    ", &safe::line(note));
        }
    }
    page.push('\n');
    for sentence in [Some(words::smallest_drop(record)), words::unscored(record)] {
        wrapped(&mut page, "", &sentence.unwrap_or_default());
    }
    wrapped(&mut page, "", &words::cost(calibrated));
    if let Some(file) = &calibrated.file {
        let file = safe::line(&file.display().to_string());
        wrapped(&mut page, "", &format!("Kept for the gate in {file}."));
    }
    for notice in &calibrated.notices {
        wrapped(&mut page, "~ ", &safe::line(notice));
    }
    page
}

/// A text behind its heading, in lines with the same indentation.
fn wrapped(page: &mut String, head: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let indent = safe::columns(head);
    let mut taken = indent;
    page.push_str(head);
    for (at, word) in text.split(' ').enumerate() {
        let wide = safe::columns(word);
        if at > 0 && taken + 1 + wide > WIDTH {
            let _ = write!(page, "\n{:indent$}", "");
            taken = indent;
        } else if at > 0 {
            page.push(' ');
            taken += 1;
        }
        page.push_str(word);
        taken += wide;
    }
    page.push('\n');
}
