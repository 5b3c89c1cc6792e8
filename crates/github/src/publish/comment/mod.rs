//! The comment: what happened, where, and what to do, within a size limit in bytes.
//!
//! A page is a list of sections. If they are too long together, whole sections are left out, the least important first:
//! the differences between texts, then the answers, the other cases, the notices, the differences besides the figures,
//! the other reasons, the cost, the way to reproduce the result, and last the table. The first lines are always kept,
//! and a line says which sections are left out and where to find them.

mod answers;
mod asking;
mod failures;
mod tables;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use similar::TextDiff;

use super::{Context, Publication};
use crate::publish::named;
use answers::input_difference;
pub use asking::{asking, decided};
use kelvin_gate::Judgement;
use kelvin_gate::approval::Approval;
use kelvin_gate::judgement::prose;
use kelvin_gate::opening::opening;
use kelvin_gate::report::Report;
use kelvin_page::{Phrase, PhrasePart, capitalized, markdown, safe};
use tables::{cases, figures, metrics, other_answers, wrong_answers};
use words::{caveats, claim, differences, foot, notices, reasons, reproduce, unposted, whence};

/// The limits of lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListLimits {
    pub(super) metrics: usize,
    pub(super) cases: usize,
    pub(super) answers: usize,
    pub(super) excerpts: usize,
    pub(super) notices: usize,
}

const OF_A_COMMENT: ListLimits = ListLimits {
    metrics: 20,
    cases: 10,
    answers: 5,
    excerpts: 2,
    notices: 20,
};

/// A part of a page that is shown completely or not at all.
pub(super) struct CommentSection {
    /// Sections with a larger rank are left out first; 0 always stays.
    rank: u8,
    /// The name of the section, for the line that lists the sections which were left out.
    name: &'static str,
    text: String,
}

/// The maximum size of a comment in bytes: GitHub rejects 65,536 characters.
const BYTES: usize = 60_000;

/// The comment, with at most this many bytes; below 2,000 it may be longer.
pub fn render(publication: &Publication<'_>, budget: usize) -> String {
    fit(sections(publication, OF_A_COMMENT), budget)
}

/// The same page outside a workflow: `gate.md`, `kelvin compare`.
pub fn alone(report: &Report, judgement: &Judgement, out: &Path) -> String {
    let publication = Publication {
        report,
        judgement: Some(judgement),
        context: &Context::default(),
        out,
        folder: "",
        excerpts: &[],
        warnings: &[],
    };
    render(&publication, BYTES)
}

/// Joins sections, and leaves out as many as necessary.
pub(super) fn fit(mut sections: Vec<CommentSection>, budget: usize) -> String {
    const NOTE: usize = 300;
    let length = |sections: &[CommentSection]| {
        sections
            .iter()
            .map(|section| section.text.trim_end().len() + 2)
            .sum::<usize>()
    };
    let mut left_out = Vec::new();
    while length(&sections) + if left_out.is_empty() { 0 } else { NOTE } > budget {
        let Some(most) = sections
            .iter()
            .map(|section| section.rank)
            .max()
            .filter(|rank| *rank > 0)
        else {
            break;
        };
        let at = sections
            .iter()
            .rposition(|section| section.rank == most)
            .unwrap_or_default();
        let name = sections.remove(at).name;
        if !left_out.contains(&name) {
            left_out.push(name);
        }
    }
    let mut page = String::new();
    for section in &sections {
        page.push_str(section.text.trim_end());
        page.push_str("\n\n");
    }
    if !left_out.is_empty() {
        let _ = writeln!(
            page,
            "<sub>Left out for length: {}. All of it is in `report.html` and `gate.json` of the run.</sub>",
            left_out.join(", ")
        );
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Every section, in the order in which they are shown.
pub(super) fn sections(publication: &Publication<'_>, lists: ListLimits) -> Vec<CommentSection> {
    let section = |rank, name, text: String| CommentSection { rank, name, text };
    let mut sections = vec![section(0, "the verdict", head(publication))];
    sections.push(section(0, "whose figures these are", claim(publication)));
    sections.push(section(1, "the run", whence(publication)));
    if let Some(judgement) = publication.judgement {
        sections.push(section(
            3,
            "the answers that went wrong",
            wrong_answers(judgement),
        ));
        let failed = failures::of_judged(publication, judgement, lists.answers);
        sections.push(section(3, "what failed", failed));
        let other = other_answers(judgement);
        sections.push(section(3, "the answers of both sides", other));
        sections.push(section(1, "what the figures need", caveats(judgement)));
        sections.push(section(
            1,
            "the metrics",
            metrics(publication, judgement, lists.metrics),
        ));
        sections.push(section(4, "further reasons", reasons(judgement)));
        let comparisons = judgement.comparisons.each();
        sections.extend(comparisons.filter_map(|comparison| {
            let page = comparison.page()?;
            Some(section(7, page.items, markdown::render_comparison(&page)))
        }));
        sections.push(section(
            7,
            "the cases",
            cases(publication, judgement, lists.cases),
        ));
        let answers = answers::answers(publication, judgement, lists.answers);
        sections.push(section(8, "the answers", answers));
        for excerpt in publication.excerpts.iter().take(lists.excerpts) {
            sections.push(section(
                9,
                "what changed in the inputs",
                input_difference(publication, excerpt),
            ));
        }
        sections.push(section(5, "what else differs", differences(judgement)));
    } else {
        let failed = failures::of_measured(publication, lists.answers);
        sections.push(section(3, "what failed", failed));
        sections.push(section(
            1,
            "the metrics",
            figures(publication, lists.metrics),
        ));
    }
    sections.push(section(1, "who may post", unposted(publication)));
    sections.push(section(6, "notices", notices(publication, lists.notices)));
    sections.push(section(2, "how to reproduce it", reproduce(publication)));
    sections.push(section(3, "the baseline and the cost", foot(publication)));
    sections.retain(|section| !section.text.is_empty());
    sections
}

/// The number of lines that a reader of the difference between two texts has to read.
pub fn changed_lines(before: &str, after: &str) -> usize {
    let changed = |change: &similar::Change<&str>| change.tag() != similar::ChangeTag::Equal;
    TextDiff::from_lines(before, after)
        .iter_all_changes()
        .filter(changed)
        .count()
}

fn more(page: &mut String, all: usize, listed: usize, word: &str) {
    if all > listed {
        let _ = writeln!(page, "\nand {} more {word}, in `report.html`", all - listed);
    }
}

/// The maximum size of the first lines in bytes, including all external text.
const HEAD: usize = 1_650;

/// The first lines; names and the reason are shortened as much as necessary.
fn head(publication: &Publication<'_>) -> String {
    const COLUMNS: [usize; 4] = [400, 120, 60, 20];
    COLUMNS
        .iter()
        .map(|columns| verdict(publication, *columns))
        .find(|head| head.len() <= HEAD)
        .unwrap_or_else(|| verdict(publication, 10))
}

/// The verdict with its reason in one line, and the next step in the next line.
fn verdict(publication: &Publication<'_>, columns: usize) -> String {
    let kelvin = named(&publication.context.configuration, columns);
    let Some(judgement) = publication.judgement else {
        return format!("### {kelvin}: measured\n\nNothing was compared in this run.\n");
    };
    let said = opening(judgement);
    let (mark, word) = match publication.context.caveat {
        Some(caveat) => ("⚠️", format!("{}, but {caveat}", said.word)),
        None => (said.mark, said.word.to_owned()),
    };
    let gist = match said.gist.is_empty() {
        true => String::new(),
        false => format!(", {}", shown(&said.gist, columns)),
    };
    let changes = said
        .changes
        .map_or_else(String::new, |changes| format!(", {changes}"));
    let reason = capitalized(&prose(&safe::cut(&said.reasons[0], columns)));
    let reason = match &said.lead {
        Some(lead) => format!("**{}**\n\n{reason}", shown(lead, columns)),
        None => format!("**{reason}**"),
    };
    let next = shown(&said.next, columns);
    let next = match &judgement.approval {
        Some(approval) => decision(next.trim_end_matches('.'), approval),
        None => next,
    };
    format!("### {mark} {kelvin}: {word}{gist}{changes}\n\n{reason}\n\n{next}\n")
}

/// A phrase whose names and answers are shortened to this many columns, at most 60.
fn shown(phrase: &Phrase, columns: usize) -> String {
    let columns = columns.min(60);
    phrase.show(|part, text| match part {
        PhrasePart::Quote => format!("*{}*", safe::markdown(text, columns)),
        PhrasePart::Setting => safe::code(text, kelvin_page::SETTING),
        PhrasePart::Name | PhrasePart::Text => safe::code_name(text, columns),
    })
}

/// The next step for a reader of a request for approval, with the place of the request.
fn decision(next: &str, approval: &Approval) -> String {
    let at = match &approval.comment {
        Some(url) => format!(
            " ([request]({}))",
            url.replace([' ', '(', ')', '<', '>'], "")
        ),
        None => String::new(),
    };
    let said = approval.ignored.iter().take(5);
    let said: String = said.map(|text| format!("\n- {}", prose(text))).collect();
    let said = match said.is_empty() {
        true => said,
        false => format!("\n\nWhat was said and does not count:\n{said}"),
    };
    format!("{next}{at}.{said}")
}

#[cfg(test)]
mod lead_tests;
#[cfg(test)]
mod tests;
