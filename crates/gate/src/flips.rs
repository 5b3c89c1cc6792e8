//! The answers that went wrong, in the order in which people should look at them, and the sentences about
//! them.

use super::changes::CaseChange;
use super::verdict::Verdict;
use crate::report::Report;
use kelvin_page::{Phrase, safe};
use kelvin_record::{Flip, Nouns, Ought, probe_of};

/// The most answers that are kept: nobody reads more, and the reports have them all.
const KEPT: usize = 20;

/// The answers that went wrong in the metrics that dropped beyond their limit or in which a case broke,
/// in the order of the cases; none where the verdict is a pass.
pub fn of(cases: &[CaseChange], verdict: &Verdict, (base, head): (&Report, &Report)) -> Vec<Flip> {
    if verdict.verdict.is_fine() {
        return Vec::new();
    }
    let sections = |probe: &str| Some((base.probes.of(probe)?, head.probes.of(probe)?));
    let matters = |id: &str| {
        let metric = verdict.metrics.get(id);
        metric.is_some_and(|metric| metric.beyond().is_some()) || verdict.is_broken_in(id)
    };
    let worse = cases
        .iter()
        .filter(|case| case.is_worse() && matters(&case.metric));
    let mut flips: Vec<Flip> = Vec::new();
    for case in worse {
        let probe = probe_of(&case.metric);
        let Some((kind, _)) = head
            .probes
            .known()
            .into_iter()
            .find(|(kind, _)| kind.name() == probe)
        else {
            continue;
        };
        let Some(sides) = sections(probe) else {
            continue;
        };
        let is_told = |flip: &Flip| flip.item == case.case && probe_of(&flip.metric) == probe;
        if flips.len() == KEPT || flips.iter().any(is_told) {
            continue;
        }
        flips.extend(kind.flip(sides, &case.case, &case.metric));
    }
    flips
}

/// The first of these answers in a sentence without its full stop; none where there is none.
pub fn lead(flips: &[Flip], verdict: &Verdict) -> Option<Phrase> {
    let first = flips.first()?;
    let (was, is) = (bare(&first.base), bare(&first.head));
    let begun = Phrase::of_name(&first.item);
    let what = match first.ought {
        Ought::Hold => begun
            .and(" now answers ")
            .quote(is)
            .and(" instead of ")
            .quote(was)
            .and(format!(" {}", extent(first))),
        Ought::Move => begun
            .and(" now stays at ")
            .quote(is)
            .and(format!(" {}, where it moved before", extent(first))),
    };
    let others = flips.iter().skip(1).filter(|flip| flip.item != first.item);
    let Nouns { item, items } = verdict.nouns_of(&first.metric);
    let more = match (others.count(), flips.len() == KEPT) {
        (0, _) => String::new(),
        (1, _) => format!(" (and 1 more {item})"),
        (more, false) => format!(" (and {more} more {items})"),
        (more, true) => format!(" (and at least {more} more {items})"),
    };
    Some(what.and(more))
}

/// The number of parts of an item in which an answer went wrong, and the word for these parts.
pub fn extent(flip: &Flip) -> String {
    let what = match flip.ought {
        Ought::Hold => "rewrites that should not matter",
        Ought::Move => "rewrites with other facts",
    };
    format!("in {} of {} {what}", flip.flipped, flip.of)
}

/// An answer for people: a text without its quotation marks, anything else as JSON.
pub fn bare(answer: &str) -> String {
    match serde_json::from_str(answer) {
        Ok(serde_json::Value::String(text)) if !text.trim().is_empty() => safe::line(&text),
        _ => safe::line(answer),
    }
}
