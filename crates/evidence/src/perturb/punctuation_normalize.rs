//! `punctuation_normalize`: the same punctuation, in plain or in typographic characters.

use super::rewrite::Edits;
use super::sites::{Text, everywhere};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::MASK;
use kelvin_base::draw::Draw;

const WANTED: usize = 3;

/// Makes quotes, dashes and ellipses plain or typographic.
pub(super) static KIND: Perturbation = Perturbation {
    name: "punctuation_normalize",
    description: "quotes, apostrophes, dashes and ellipses of units that do not govern are written plainly, \
         typographically, or some of them the other way",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let missing = "punctuation that can be written otherwise";
    everywhere(subject, KIND.name, WANTED, missing, |number, text, draw| {
        let marks = marks(text);
        let kept = match number {
            1 => [true, false],
            2 => [false, true],
            _ => return some(marks, draw),
        };
        let marks = marks
            .into_iter()
            .filter(|mark| kept[usize::from(mark.curls)]);
        marks.map(|mark| mark.edit).collect()
    })
}

/// A punctuation mark that can be written in another way.
struct Mark {
    sort: Sort,
    /// Whether the mark becomes typographic; otherwise it becomes plain.
    curls: bool,
    edit: (std::ops::Range<usize>, String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Quote,
    Apostrophe,
    Dash,
    Ellipsis,
}

/// The edits for the marks of some sorts, in both directions.
fn some(marks: Vec<Mark>, draw: &mut Draw) -> Edits {
    let all = [Sort::Quote, Sort::Apostrophe, Sort::Dash, Sort::Ellipsis];
    let there: Vec<Sort> = all
        .into_iter()
        .filter(|sort| marks.iter().any(|mark| mark.sort == *sort))
        .collect();
    let sure = draw.below(there.len());
    let chosen: Vec<Sort> = there
        .into_iter()
        .enumerate()
        .filter(|(at, _)| draw.below(2) == 0 || *at == sure)
        .map(|(_, sort)| sort)
        .collect();
    let marks = marks.into_iter().filter(|mark| chosen.contains(&mark.sort));
    marks.map(|mark| mark.edit).collect()
}

fn marks(text: &Text<'_>) -> Vec<Mark> {
    let mut marks = Vec::new();
    for block in text.running_text() {
        let chars: Vec<(usize, char)> = text
            .masked(block.range.clone())
            .char_indices()
            .map(|(at, c)| (block.range.start + at, c))
            .collect();
        plain(&chars, &mut marks);
        dots_and_dashes(&chars, &mut marks);
        for quote in ['"', '\''] {
            curled(&chars, quote, &mut marks);
        }
    }
    marks.sort_by_key(|mark| mark.edit.0.start);
    marks
}

/// Finds typographic characters, each with its plain replacement.
fn plain(chars: &[(usize, char)], marks: &mut Vec<Mark>) {
    for (place, (at, c)) in chars.iter().enumerate() {
        let (sort, new) = match c {
            '’' if is_inner(chars, place) => (Sort::Apostrophe, "'"),
            '‘' | '’' | '‚' | '‛' => (Sort::Quote, "'"),
            '“' | '”' | '„' | '‟' => (Sort::Quote, "\""),
            // A hyphen at the beginning of a line could make it a list or a rule.
            '–' if !begins_line(chars, place) => (Sort::Dash, "-"),
            '—' if !begins_line(chars, place) => (Sort::Dash, "--"),
            '…' => (Sort::Ellipsis, "..."),
            _ => continue,
        };
        marks.push(Mark {
            sort,
            curls: false,
            edit: (*at..at + c.len_utf8(), new.to_owned()),
        });
    }
}

/// Finds sequences of exactly two hyphens for a dash, and of exactly three full stops for an ellipsis.
fn dots_and_dashes(chars: &[(usize, char)], marks: &mut Vec<Mark>) {
    let mut place = 0;
    while let Some((at, c)) = chars.get(place).copied() {
        let run = chars[place..]
            .iter()
            .take_while(|(_, other)| *other == c)
            .count();
        let next = chars.get(place + run).map(|(_, c)| *c);
        let before = place.checked_sub(1).map(|last| chars[last].1);
        // `--verbose` is an option of a command.
        let option = before.is_none_or(|c| !c.is_alphanumeric() && c != ' ')
            || (before == Some(' ') && next.is_some_and(char::is_alphanumeric));
        let found = match (c, run) {
            ('-', 2) if !option && !begins_line(chars, place) => Some((Sort::Dash, "—")),
            ('.', 3) => Some((Sort::Ellipsis, "…")),
            _ => None,
        };
        if let Some((sort, new)) = found {
            marks.push(Mark {
                sort,
                curls: true,
                edit: (at..at + run, new.to_owned()),
            });
        }
        place += run;
    }
}

/// Finds straight quotes in pairs, and apostrophes. If the quotes of a block do not pair up (inches, a plural
/// genitive), none of them is changed.
fn curled(chars: &[(usize, char)], quote: char, marks: &mut Vec<Mark>) {
    let (left, right) = if quote == '"' {
        ("“", "”")
    } else {
        ("‘", "’")
    };
    let mut quotes = Vec::new();
    let mut open = false;
    let mut sound = true;
    for (place, (at, c)) in chars.iter().enumerate() {
        if *c != quote {
            continue;
        }
        let (sort, new) = if quote == '\'' && is_inner(chars, place) {
            (Sort::Apostrophe, right)
        } else {
            sound &= if open {
                can_close(chars, place)
            } else {
                can_open(chars, place)
            };
            open = !open;
            (Sort::Quote, if open { left } else { right })
        };
        quotes.push(Mark {
            sort,
            curls: true,
            edit: (*at..at + 1, new.to_owned()),
        });
    }
    let pairs = sound && !open;
    marks.extend(
        quotes
            .into_iter()
            .filter(|mark| pairs || mark.sort == Sort::Apostrophe),
    );
}

/// Whether a character is between two letters.
fn is_inner(chars: &[(usize, char)], place: usize) -> bool {
    let letter = |place: Option<usize>| {
        place
            .and_then(|place| chars.get(place))
            .is_some_and(|(_, c)| c.is_alphabetic())
    };
    letter(place.checked_sub(1)) && letter(Some(place + 1))
}

fn begins_line(chars: &[(usize, char)], place: usize) -> bool {
    let before = chars[..place].iter().rev().map(|(_, c)| *c);
    before
        .take_while(|c| *c != '\n' && *c != '\r')
        .all(|c| c == ' ' || c == '\t')
}

fn can_open(chars: &[(usize, char)], place: usize) -> bool {
    let before = place.checked_sub(1).map(|last| chars[last].1);
    let after = chars.get(place + 1).map(|(_, c)| *c);
    before.is_none_or(|c| c.is_whitespace() || c == MASK || "([{—–-/\"'“‘".contains(c))
        && after.is_some_and(|c| !c.is_whitespace())
}

fn can_close(chars: &[(usize, char)], place: usize) -> bool {
    let before = place.checked_sub(1).map(|last| chars[last].1);
    let after = chars.get(place + 1).map(|(_, c)| *c);
    before.is_some_and(|c| !c.is_whitespace())
        && after.is_none_or(|c| c == MASK || !c.is_alphanumeric())
}
