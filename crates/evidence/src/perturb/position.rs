//! `position`: where in a list is evidence still read?
//!
//! Neutral text in the place of an element tells whether that element decides. The same list, turned so that it begins
//! at every element in turn, brings the deciding element to every place. What the decision did is read by
//! `places`.

use std::ops::Range;
use std::sync::Arc;

use super::rewrite::with_edited;
use super::sites::skipped;
use super::{Draft, Figure, POSITION, Perturbation, PerturbedCase, Piece, Proposal};

/// Puts neutral text in every place of a list, and turns the list.
pub(super) struct Position;

/// The most groups that a list is parted into: the elements of a longer list are taken several at a time.
const GROUPS: usize = 10;

impl Perturbation for Position {
    fn name(&self) -> &'static str {
        POSITION
    }

    fn describe(&self) -> &'static str {
        "neutral text stands in the place of an element of an array, one place after another; and the array begins at \
         another element, and goes round"
    }

    fn figure(&self) -> Figure {
        Figure::Position
    }

    fn propose(&self, subject: &PerturbedCase<'_>) -> Proposal {
        let case = subject.case();
        if case.record().is_none() {
            return skipped(
                1,
                "a Markdown file has no array, and `position` is about the places in one",
            );
        }
        let Some(neutral) = subject.peers.filler.first() else {
            return skipped(
                1,
                "there is no filler that could stand in the place of an element",
            );
        };
        let neutral = subject.settings.perturbations.words.filler[*neutral].text();
        let mut proposal = Proposal::default();
        for list in lists(subject) {
            let groups = groups(list.len());
            let name = subject.list(list.start).map(|list| Arc::clone(&list.name));
            for group in &groups {
                let units = list.start + group.start..list.start + group.end;
                let edited = units.map(|unit| (unit, neutral.to_owned())).collect();
                proposal.drafts.push(Draft {
                    unit_type: name.clone(),
                    pieces: with_edited(case.units.len(), edited),
                    detail: vec![("neutral_text_at", shown(group, list.len()))],
                });
            }
            let turns = match subject.free_runs().contains(&list) {
                true => &groups[1..],
                // Elements that keep their order are not turned.
                false => &[],
            };
            for group in turns {
                let first = list.start + group.start;
                let around = (first..list.end).chain(list.start..first);
                let pieces = (0..list.start)
                    .chain(around)
                    .chain(list.end..case.units.len());
                proposal.drafts.push(Draft {
                    unit_type: name.clone(),
                    pieces: pieces.map(Piece::Own).collect(),
                    detail: vec![("begins_at", shown(group, list.len()))],
                });
            }
        }
        if proposal.drafts.is_empty() {
            return skipped(1, "the case has no array of two units or more");
        }
        proposal
    }
}

/// The units of each array that has several.
fn lists(subject: &PerturbedCase<'_>) -> Vec<Range<usize>> {
    let mut lists = Vec::new();
    let mut start = 0;
    for run in subject
        .case()
        .units
        .chunk_by(|one, two| one.list == two.list)
    {
        if run[0].list.is_some() && run.len() > 1 {
            lists.push(start..start + run.len());
        }
        start += run.len();
    }
    lists
}

/// The places of a list in groups of nearly the same size.
pub(super) fn groups(length: usize) -> Vec<Range<usize>> {
    let count = length.min(GROUPS);
    (0..count)
        .map(|group| group * length / count..(group + 1) * length / count)
        .collect()
}

/// The places of a group for people, counted from 1.
fn shown(group: &Range<usize>, length: usize) -> String {
    match group.len() {
        1 => format!("{} of {length}", group.end),
        _ => format!("{} to {} of {length}", group.start + 1, group.end),
    }
}
