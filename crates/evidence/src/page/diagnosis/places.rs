//! The conclusions from the positions in a list: whether only a part of the list is used.

use super::Weighted;
use crate::page::EvidenceRun;
use crate::places;
use kelvin_page::{Phrase, Tone};

/// An unused part explains the other figures and shows where to search for the cause, so it comes first.
const WEIGHT: f64 = 5.0;

/// The diagnosis for every list of which only a part is used.
pub(super) fn parts(run: &EvidenceRun<'_>) -> Vec<Weighted> {
    let seen = places::seen(run.cases, run.governing_types);
    let parts = seen.iter().filter_map(|(list, seen)| {
        // If the list is a conversation, its results are reported together with the results for turns.
        let part = seen.part().filter(|_| !seen.are_turns)?;
        let end = if part.at_the_end { "last" } else { "first" };
        let text = match part.count {
            1 => format!("it reads only the {end}"),
            count => format!("it reads only the {end} {count}"),
        };
        let length = match part.is_exact {
            true => format!(" of {} ", part.length),
            false => format!(" of up to {} ", part.length),
        };
        let text = Phrase::text(text + &length).name(&**list);
        let text = match seen.moved_there.is_empty() {
            false => text.and(format!(
                ": with the deciding one elsewhere the decision held in {} of {} variants",
                part.read_outside, part.outside
            )),
            true => text.and(format!(
                ": neutral text in place of another of a governing type changed the decision in {} of {} variants",
                part.read_outside, part.outside
            )),
        };
        Some(Weighted::new(Tone::Alarm, WEIGHT, text))
    });
    parts.collect()
}
