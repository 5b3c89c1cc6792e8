//! `position`: tests at which position of a list, or in which turn of a conversation, evidence is still used.
//!
//! Neutral text in place of an element shows whether that element decides. Rotating the list, so that it begins at
//! every element in turn, brings the deciding element to every position. The module `places` evaluates the decisions.

use std::ops::Range;
use std::sync::Arc;

use super::rewrite::with_edited;
use super::{Draft, Figure, POSITION, Perturbation, PerturbedCase, Piece, Proposal};

/// The maximum number of groups of a list: the elements of a longer list are replaced several at a time.
const GROUPS: usize = 10;

/// Puts neutral text at every position of a list, and rotates the list.
pub(super) static KIND: Perturbation = Perturbation {
    name: POSITION,
    description: "neutral text stands in the place of an element of an array, or of what is said in a turn, one place after another; \
         and the array begins at another element, and goes round",
    figure: Figure::Position,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let case = subject.case();
    if case.record().is_none() {
        return Proposal::skipped(
            1,
            "a Markdown file has no array, and `position` is about the places in one",
        );
    }
    let Some(neutral) = subject.peers.filler.first() else {
        return Proposal::skipped(
            1,
            "there is no filler that could stand in the place of an element",
        );
    };
    let neutral = subject.settings.perturbations.words.filler[*neutral].text();
    let mut proposal = Proposal::default();
    let places = case.units.iter().map(|unit| (unit.list, unit.turn));
    for sweep in sweeps(places) {
        let list = &sweep.units;
        let name = match sweep.is_of_turns {
            true => case.record().and_then(|record| record.turns.clone()),
            false => subject.list(list.start).map(|list| Arc::clone(&list.name)),
        };
        for group in &sweep.groups {
            let units = group.units.clone();
            let edited = units.map(|unit| (unit, neutral.to_owned())).collect();
            proposal.drafts.push(Draft {
                unit_type: name.clone(),
                pieces: with_edited(case.units.len(), edited),
                detail: vec![("neutral_text_at", shown(&group.places, sweep.length))],
            });
        }
        let turns = match !sweep.is_of_turns && subject.free_runs().contains(list) {
            true => &sweep.groups[1..],
            // Elements that keep their order are not rotated.
            false => &[],
        };
        for group in turns {
            let first = group.units.start;
            let around = (first..list.end).chain(list.start..first);
            let pieces = (0..list.start)
                .chain(around)
                .chain(list.end..case.units.len());
            proposal.drafts.push(Draft {
                unit_type: name.clone(),
                pieces: pieces.map(Piece::Own).collect(),
                detail: vec![("begins_at", shown(&group.places, sweep.length))],
            });
        }
    }
    if proposal.drafts.is_empty() {
        return Proposal::skipped(1, "the case has no array of two units or more");
    }
    proposal
}

/// An array, or the turns of a conversation, in which neutral text replaces one position after another.
pub(crate) struct Sweep {
    /// All its units.
    pub(crate) units: Range<usize>,
    /// The positions of the list, in groups if there are many positions.
    pub(crate) groups: Vec<SweptPlaces>,
    /// How many positions there are.
    pub(crate) length: usize,
    /// Whether the positions are turns, not elements.
    pub(crate) is_of_turns: bool,
}

/// Positions that are replaced by neutral text at the same time, and the units there.
pub(crate) struct SweptPlaces {
    pub(crate) places: Range<usize>,
    pub(crate) units: Range<usize>,
}

/// Makes a sweep of each array with several units, and of the turns if there are several. The input is the array and
/// the turn of each unit.
pub(crate) fn sweeps(units: impl Iterator<Item = (Option<u32>, Option<u32>)>) -> Vec<Sweep> {
    let units: Vec<(Option<u32>, Option<u32>)> = units.collect();
    let mut sweeps = Vec::new();
    let mut start = 0;
    for run in units.chunk_by(|one, two| one.0 == two.0) {
        let all = start..start + run.len();
        start = all.end;
        if run[0].0.is_some() && run.len() > 1 {
            let groups = groups(run.len()).into_iter().map(|places| SweptPlaces {
                units: all.start + places.start..all.start + places.end,
                places,
            });
            sweeps.push(Sweep {
                groups: groups.collect(),
                length: run.len(),
                units: all,
                is_of_turns: false,
            });
        }
    }
    let mut turns: Vec<(usize, Range<usize>)> = Vec::new();
    let mut start = 0;
    for run in units.chunk_by(|one, two| one.1 == two.1) {
        let all = start..start + run.len();
        start = all.end;
        turns.extend(run[0].1.map(|turn| (turn as usize, all)));
    }
    if let ([(_, first), .., (last_turn, last)], of_turns) = (&turns[..], groups(turns.len())) {
        let groups = of_turns.into_iter().map(|group| {
            let (one, two) = (&turns[group.start], &turns[group.end - 1]);
            SweptPlaces {
                places: one.0..two.0 + 1,
                units: one.1.start..two.1.end,
            }
        });
        sweeps.push(Sweep {
            groups: groups.collect(),
            length: last_turn + 1,
            units: first.start..last.end,
            is_of_turns: true,
        });
    }
    sweeps
}

/// The positions of a list in groups of nearly the same size.
fn groups(length: usize) -> Vec<Range<usize>> {
    let count = length.min(GROUPS);
    (0..count)
        .map(|group| group * length / count..(group + 1) * length / count)
        .collect()
}

/// The positions of a group in a text for people, counted from 1.
fn shown(group: &Range<usize>, length: usize) -> String {
    match group.len() {
        1 => format!("{} of {length}", group.end),
        _ => format!("{} to {} of {length}", group.start + 1, group.end),
    }
}
