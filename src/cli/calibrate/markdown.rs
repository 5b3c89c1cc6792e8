//! The trial as Markdown.

use std::fmt::Write as _;

use super::words;
use crate::check::Calibrated;
use kelvin_page::safe;
use kelvin_run::judge::trial::Fitness;

/// The most characters of a text from outside.
const MOST: usize = 400;

/// Renders a trial.
pub(super) fn render(calibrated: &Calibrated) -> String {
    let mut page = String::new();
    let Some(record) = &calibrated.record else {
        let _ = writeln!(page, "{}\n\n{}", words::STOPPED, words::cost(calibrated));
        return page;
    };
    let mark = match record.fitness {
        Fitness::Fit => "✅",
        Fitness::Unfit => "❗",
        Fitness::Undecided => "⚠️",
    };
    let judge = safe::code(&record.judge, MOST);
    let _ = writeln!(page, "# Kelvin calibrate: {judge}\n");
    let _ = writeln!(page, "{mark} {}.\n", words::verdict(record.fitness));
    let _ = writeln!(
        page,
        "{}. The judge is {}, compared with {}.\n",
        words::scope(record),
        safe::code(&record.grader_id, MOST),
        safe::code(&record.compared_with, MOST)
    );
    page.push_str("| criterion | | what was found |\n| --- | --- | --- |\n");
    for one in &record.criteria {
        let name = safe::markdown(&one.name, MOST);
        let ruling = words::ruling(one.ruling);
        let text = safe::markdown(&one.text, MOST);
        let _ = writeln!(page, "| {name} | {ruling} | {text} |");
    }
    page.push_str(
        "\n| figure | value | 95 % interval | n | |\n| --- | ---: | --- | ---: | --- |\n",
    );
    for (measure, figure) in &record.figures {
        let (value, interval) = words::value(figure);
        let note = safe::markdown(figure.note.as_deref().unwrap_or_default(), MOST);
        let row = format!(
            "| {} | {value} | {interval} | {} | {note} |",
            measure.label(),
            figure.n
        );
        let _ = writeln!(page, "{}", row.replace(" |  |", " | |"));
    }
    page.push('\n');
    let sentences = [
        Some(words::smallest_drop(record)),
        words::unscored(record),
        Some(words::cost(calibrated)),
    ];
    for sentence in sentences.into_iter().flatten() {
        let _ = writeln!(page, "{sentence}\n");
    }
    for notice in &calibrated.notices {
        let _ = writeln!(page, "- {}", safe::markdown(notice, MOST));
    }
    page
}
