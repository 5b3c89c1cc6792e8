//! The first lines: what happened, why, and what to do.

use crate::publish::{Publication, named};
use kelvin_gate::approval::Approval;
use kelvin_gate::judgement::prose;
use kelvin_gate::{Judgement, flips, opening};
use kelvin_page::{Phrase, PhrasePart, safe};

/// The first lines are at most so many bytes long, whatever others wrote into them.
const HEAD: usize = 1_650;

/// The first lines, with names and the reason cut as far as it takes.
pub(super) fn head(publication: &Publication<'_>) -> String {
    const COLUMNS: [usize; 4] = [400, 120, 60, 20];
    COLUMNS
        .iter()
        .map(|columns| verdict(publication, *columns))
        .find(|head| head.len() <= HEAD)
        .unwrap_or_else(|| verdict(publication, 10))
}

/// The verdict with its reason in one line, and what to do in the next.
fn verdict(publication: &Publication<'_>, columns: usize) -> String {
    let kelvin = named(&publication.context.configuration, columns);
    let Some(judgement) = publication.judgement else {
        return format!("### {kelvin}: measured\n\nNothing was compared in this run.\n");
    };
    let verdict = &judgement.verdict;
    let (_, mark, word) = opening::word(judgement);
    let (mark, word) = match publication.context.caveat {
        Some(caveat) => ("⚠️", format!("{word}, but {caveat}")),
        None => (mark, word.to_owned()),
    };
    let gist = match opening::gist(judgement) {
        gist if gist.is_empty() => String::new(),
        gist => format!(", {}", shown(&gist, columns)),
    };
    let reason = match opening::reason(judgement) {
        Some(reason) => prose(&safe::cut(&reason.text, columns)),
        None => prose(&opening::calm(judgement)),
    };
    let reason = match flips::lead(&judgement.flips, &judgement.verdict) {
        Some(lead) => format!("**{}**\n\n{reason}", shown(&lead, columns)),
        None => format!("**{reason}**"),
    };
    format!(
        "### {mark} {kelvin}: {word}{gist}{}\n\n{reason}\n\n{}\n",
        verdict
            .changes()
            .map_or_else(String::new, |edits| format!(", {edits}")),
        advice(judgement, columns)
    )
}

/// A phrase whose names and answers are cut to so many columns, or to 60.
fn shown(phrase: &Phrase, columns: usize) -> String {
    let columns = columns.min(60);
    phrase.show(|part, text| match part {
        PhrasePart::Quote => format!("*{}*", safe::markdown(text, columns)),
        _ => safe::code(text, columns),
    })
}

/// What a reader does next.
fn advice(judgement: &Judgement, columns: usize) -> String {
    let next = shown(&opening::next(judgement), columns);
    match &judgement.approval {
        Some(approval) => decision(&next, approval),
        None => next,
    }
}

/// What a reader does about a request for approval, with where it was asked.
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
