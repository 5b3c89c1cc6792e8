//! The first lines: what happened, why, and what to do.

use crate::publish::{Publication, named};
use kelvin_gate::approval::Approval;
use kelvin_gate::judgement::prose;
use kelvin_gate::opening::opening;
use kelvin_page::{Phrase, PhrasePart, safe};

/// The most bytes of the first lines, whatever foreign text they contain.
const HEAD: usize = 1_650;

/// The first lines, with names and the reason cut as far as necessary.
pub(super) fn head(publication: &Publication<'_>) -> String {
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
    let reason = prose(&safe::cut(&said.reasons[0], columns));
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

/// A phrase whose names and answers are cut to so many columns, at most 60.
fn shown(phrase: &Phrase, columns: usize) -> String {
    let columns = columns.min(60);
    phrase.show(|part, text| match part {
        PhrasePart::Quote => format!("*{}*", safe::markdown(text, columns)),
        _ => safe::code(text, columns),
    })
}

/// The next step of a reader about a request for approval, with the place of the request.
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
