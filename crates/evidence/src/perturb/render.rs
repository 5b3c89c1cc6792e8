//! Turns pieces into text. If units of the case stay side by side, every byte between them stays too; all other pieces
//! are joined so that the heading of a unit never becomes a part of the previous unit.

use std::ops::Range;

use super::Piece;
use crate::EvidenceSettings;
use crate::cases::{self, Case, Corpus, RecordForm};
use crate::words::NeutralSection;

/// Adds the text of a variant: the preamble, then the pieces.
pub(super) fn render(
    text: &mut String,
    corpus: &Corpus,
    at: usize,
    settings: &EvidenceSettings,
    pieces: &[Piece],
) {
    let case = &corpus.cases[at];
    if let Some(record) = case.record() {
        return render_record(text, corpus, case, record, settings, pieces);
    }
    text.reserve(case.text.len() + case.text.len() / 2);
    text.push_str(case.preamble());
    let mut before: Option<&Piece> = None;
    for piece in pieces {
        if let Some(before) = before {
            push_gap(text, case, before, piece);
        }
        push(text, corpus, case, settings, piece);
        before = Some(piece);
    }
    if let (Some(piece), Some(last)) = (before, case.units.last()) {
        let tail = case.tail(last);
        // White space on the last line of the unit belongs to that unit.
        let own_line = tail.find(['\n', '\r']).unwrap_or(tail.len());
        let stayed = piece.own() == Some(case.units.len() - 1);
        text.push_str(if stayed { tail } else { &tail[own_line..] });
    }
}

/// The type of the unit in a filler section; none if the section does not contain exactly one unit, or if the unit
/// would not end.
pub(super) fn type_of_section(section: &NeutralSection) -> Option<String> {
    let case = Case::parse("", "", &*section.markdown).ok()?;
    let [unit] = case.units.as_slice() else {
        return None;
    };
    (unit.body.start == 0).then(|| unit.unit_type.to_string())
}

/// Adds the text of a piece.
fn push(
    text: &mut String,
    corpus: &Corpus,
    case: &Case,
    settings: &EvidenceSettings,
    piece: &Piece,
) {
    match piece {
        Piece::Own(unit) => text.push_str(case.body(&case.units[*unit])),
        Piece::Edited(edited) => text.push_str(&edited.text),
        Piece::Peer(place, _) => {
            let (from, unit) = place.find(corpus);
            let body = from.body(unit);
            if from.is_unix && case.newline == "\n" {
                text.push_str(body);
            } else {
                text.push_str(&cases::with_newline(body, case.newline));
            }
        }
        Piece::Filler(section, _) => {
            let section = &settings.perturbations.words.filler[*section];
            text.push_str(&cases::with_newline(&section.markdown, case.newline));
        }
    }
}

/// Adds the text between two pieces. A blank line closes any block that a unit can leave open, for instance an HTML
/// block; a case with a unit that a blank line cannot close is rejected.
fn push_gap(text: &mut String, case: &Case, left: &Piece, right: &Piece) {
    if let Some(at) = left.own() {
        let tail = case.tail(&case.units[at]);
        if right.own() == Some(at + 1) {
            return text.push_str(tail);
        }
        if let Some(gap) = blank_line(tail) {
            return text.push_str(gap);
        }
    }
    text.push_str(case.newline);
    text.push_str(case.newline);
}

/// The white space after a unit, if it has a blank line, without the indentation of the next heading.
fn blank_line(tail: &str) -> Option<&str> {
    // Nearly every gap is one empty line.
    if tail == "\n\n" {
        return Some(tail);
    }
    let lf = tail.matches('\n').count();
    let lone_cr = tail.matches('\r').count() - tail.matches("\r\n").count();
    let end = tail.rfind(['\n', '\r'])?;
    (lf + lone_cr >= 2).then(|| &tail[..=end])
}

/// Adds the text of a variant of a record. Only the changed units are written anew: every other byte, the order of the
/// keys and the fields that are not units stay unchanged.
fn render_record(
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
            push_in_record(text, corpus, case, record, settings, piece);
            before = Some(piece);
        }
        written = span.end;
    }
    text.push_str(&record.document[written..]);
}

/// The units that are written together: the elements of an array, or a unit that cannot be moved.
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

/// The range from the beginning of the first unit of a group to the end of its last.
fn span(record: &RecordForm, group: &Range<usize>) -> Range<usize> {
    record.slots[group.start].element.start..record.slots[group.end - 1].element.end
}

/// The text between two elements of an array: the original one, or that between the first two elements.
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

/// Adds the text of a piece of a record.
fn push_in_record(
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
            // White space at the end of a unit does not belong to its text.
            let whole = [&*edited.text, case.tail(&case.units[edited.unit])].concat();
            text.push_str(&record.document[slot.element.start..slot.value.start]);
            text.push_str(&record.value_of(slot, &whole));
            text.push_str(&record.document[slot.value.end..slot.element.end]);
        }
        Piece::Peer(place, beside) => {
            let (from, unit) = place.find(corpus);
            let Some((theirs, slot)) = from.record().zip(place.slot(corpus)) else {
                // All cases of a run have the same format. Otherwise, a Markdown section would be inserted here as a
                // text.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::fixture;
    use crate::perturb::UnitPlace;

    fn rendered(text: &str, pieces: &[Piece]) -> String {
        let corpus = fixture::corpus(&[("a", text), ("b", "## Peer\rp1\r\np2\n")]);
        let mut rendered = String::new();
        render(&mut rendered, &corpus, 0, &fixture::settings(&[]), pieces);
        rendered
    }

    #[test]
    fn own_units_that_stay_together_keep_the_bytes_between_them() {
        let text = "pre\n## A\nx\n## B\ny\n\n\n  ## C\nz";
        let own = |list: &[usize]| list.iter().copied().map(Piece::Own).collect::<Vec<_>>();
        assert_eq!(rendered(text, &own(&[0, 1, 2])), text);
        assert_eq!(
            rendered(text, &own(&[1, 2, 0])),
            "pre\n## B\ny\n\n\n  ## C\nz\n\n## A\nx"
        );
        assert_eq!(
            rendered(text, &own(&[2, 1, 0])),
            "pre\n## C\nz\n\n## B\ny\n\n\n## A\nx"
        );
        assert_eq!(rendered(text, &[]), "pre\n");
    }

    #[test]
    fn text_from_elsewhere_gets_the_line_ends_of_the_case() {
        let pieces = [
            Piece::peer(UnitPlace::of(1, 0), 0),
            Piece::filler(2, 0),
            Piece::Own(0),
        ];
        assert_eq!(
            rendered("## A\r\nx\r\n", &pieces),
            "## Peer\r\np1\r\np2\r\n\r\n## Office Hours\r\n\r\nOpen on weekdays.\r\n\r\n## A\r\nx\r\n"
        );
    }

    #[test]
    fn a_moved_heading_is_not_taken_in_by_a_list() {
        let text = "## A\n\n- item\n\n## B\ny\n\n  ## C\nz\n";
        let moved = rendered(text, &[Piece::Own(0), Piece::Own(2), Piece::Own(1)]);
        assert_eq!(Case::parse("a", "a", moved).expect("parses").units.len(), 3);
    }

    #[test]
    fn only_a_section_of_one_unit_is_filler() {
        let of = |heading: &str, text: &str| type_of_section(&NeutralSection::new(heading, text));
        assert_eq!(of("Office Hours", "Open."), Some("office_hours".to_owned()));
        assert_eq!(of("Empty", ""), Some("empty".to_owned()));
        assert_eq!(of("", "Open."), None);
        assert_eq!(of("Two", "a\n\n## More\nb"), None);
        assert_eq!(of("Open", "```\ncode"), None);
    }
}
