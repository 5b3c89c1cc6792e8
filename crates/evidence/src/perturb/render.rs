//! Turns pieces into text. Units of the case that stayed side by side keep every byte between them; all other pieces
//! are joined so that no unit can take in the heading of the next one.

use super::{Piece, render_record};
use crate::EvidenceSettings;
use crate::cases;
use crate::cases::{Case, Corpus};
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
        return render_record::render(text, corpus, case, record, settings, pieces);
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

/// The type of the unit that a filler section makes; none where the section would not make exactly one unit, or where
/// it would not end.
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
/// block; a case with a unit that a blank line cannot close is refused.
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
    // Nearly every gap is like this.
    if tail == "\n\n" {
        return Some(tail);
    }
    let lf = tail.matches('\n').count();
    let lone_cr = tail.matches('\r').count() - tail.matches("\r\n").count();
    let end = tail.rfind(['\n', '\r'])?;
    (lf + lone_cr >= 2).then(|| &tail[..=end])
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
