//! Turns pieces into the text of a record. Only the units that changed are written anew: every other byte, the order of
//! the keys and the fields that are no units stay as they are.

use std::ops::Range;

use super::Piece;
use crate::EvidenceSettings;
use crate::cases::{Case, Corpus, RecordForm};

/// Adds the text of a variant.
pub(super) fn render(
    text: &mut String,
    corpus: &Corpus,
    case: &Case,
    record: &RecordForm,
    settings: &EvidenceSettings,
    pieces: &[Piece],
) {
    let groups = groups(case);
    let mut group_of = vec![0; case.units.len()];
    for (number, group) in groups.iter().enumerate() {
        group_of[group.clone()].fill(number);
    }
    let mut of_group: Vec<Vec<&Piece>> = vec![Vec::new(); groups.len()];
    for piece in pieces {
        of_group[group_of[piece.beside()]].push(piece);
    }
    text.reserve(record.document.len() + record.document.len() / 2);
    let mut written = 0;
    for (group, pieces) in groups.iter().zip(of_group) {
        let span = span(record, group);
        text.push_str(&record.document[written..span.start]);
        let mut before: Option<&Piece> = None;
        for piece in pieces {
            if let Some(before) = before {
                text.push_str(between(record, group, before, piece));
            }
            push(text, corpus, case, record, settings, piece);
            before = Some(piece);
        }
        written = span.end;
    }
    text.push_str(&record.document[written..]);
}

/// The units that are written together: the elements of an array, or a unit that stays where it is.
fn groups(case: &Case) -> Vec<Range<usize>> {
    let runs = case
        .units
        .chunk_by(|one, two| one.list == two.list && !one.fixed && !two.fixed);
    let mut start = 0;
    runs.map(|run| {
        let group = start..start + run.len();
        start = group.end;
        group
    })
    .collect()
}

/// From the beginning of the first unit of a group to the end of its last.
fn span(record: &RecordForm, group: &Range<usize>) -> Range<usize> {
    record.slots[group.start].element.start..record.slots[group.end - 1].element.end
}

/// What stands between two elements of an array: what has stood there, or between the first two.
fn between<'r>(
    record: &'r RecordForm,
    group: &Range<usize>,
    left: &Piece,
    right: &Piece,
) -> &'r str {
    let gap = |at: usize| {
        let (one, two) = (&record.slots[at].element, &record.slots[at + 1].element);
        &record.document[one.end..two.start]
    };
    match (left.own(), right.own()) {
        (Some(one), Some(two)) if one + 1 == two => gap(one),
        _ if group.len() > 1 => gap(group.start),
        _ => ", ",
    }
}

/// Adds the text of a piece.
fn push(
    text: &mut String,
    corpus: &Corpus,
    case: &Case,
    record: &RecordForm,
    settings: &EvidenceSettings,
    piece: &Piece,
) {
    match piece {
        Piece::Own(unit) => text.push_str(&record.document[record.slots[*unit].element.clone()]),
        Piece::Edited(edited) => {
            let slot = &record.slots[edited.unit];
            // White space at the end of a unit is no part of its text.
            let whole = [&*edited.text, case.tail(&case.units[edited.unit])].concat();
            text.push_str(&record.document[slot.element.start..slot.value.start]);
            text.push_str(&record.value_of(slot, &whole));
            text.push_str(&record.document[slot.value.end..slot.element.end]);
        }
        Piece::Peer(place, beside) => {
            let (from, unit) = place.find(corpus);
            let Some((theirs, slot)) = from.record().zip(place.slot(corpus)) else {
                // Cases of one run are written in one form; a Markdown section would come in as a text.
                return text.push_str(&serde_json::Value::from(from.body(unit)).to_string());
            };
            let span = match case.units[*beside as usize].fixed {
                true => &slot.value,
                false => &slot.element,
            };
            text.push_str(&theirs.document[span.clone()]);
        }
        Piece::Filler(section, _) => {
            let section = &settings.perturbations.words.filler[*section];
            text.push_str(&serde_json::Value::from(section.text()).to_string());
        }
    }
}
