//! `whitespace_jitter`: white space that makes no difference in Markdown is added.

use super::rewrite::Edits;
use super::sites::{Text, everywhere};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use kelvin_base::draw::Draw;

const WANTED: usize = 3;

/// The probability that a place is changed, in percent.
const CHANCE: usize = 30;

/// Widens gaps between paragraphs and between words, and adds single spaces at line ends.
pub(super) static KIND: Perturbation = Perturbation {
    name: "whitespace_jitter",
    description: "units that do not govern get wider gaps between paragraphs or words, or spaces at line ends",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    everywhere(
        subject,
        KIND.name,
        WANTED,
        "gap to widen",
        |_, text, draw| {
            let mut modes = [gaps(text), line_ends(text), spaces(text)];
            draw.shuffle(&mut modes);
            let found = modes.into_iter().find(|places| !places.is_empty());
            some(found.unwrap_or_default(), draw)
        },
    )
}

/// A random part of the places, with at least one of them.
fn some(places: Edits, draw: &mut Draw) -> Edits {
    let sure = draw.below(places.len());
    places
        .into_iter()
        .enumerate()
        .filter(|(at, _)| draw.below(100) < CHANCE || *at == sure)
        .map(|(_, edit)| edit)
        .collect()
}

/// Adds a blank line where there is already one with only white space around it.
fn gaps(text: &Text<'_>) -> Edits {
    let ends = [heading_end(text.body)]
        .into_iter()
        .chain(text.prose.blocks.iter().map(|block| block.range.end));
    let starts = text.prose.blocks.iter().map(|block| block.range.start);
    ends.zip(starts)
        .filter_map(|(end, start)| {
            let gap = text.body.get(end..start)?;
            let newline = ["\r\n", "\n", "\r"]
                .into_iter()
                .find(|newline| gap.contains(newline))?;
            let first = gap.find(newline)? + newline.len();
            let blank = gap.trim().is_empty() && gap[first..].contains(newline);
            blank.then(|| (end + first..end + first, newline.to_owned()))
        })
        .collect()
}

fn heading_end(body: &str) -> usize {
    body.find(['\n', '\r']).unwrap_or(body.len())
}

/// Adds one space before a line break in the running text. Two spaces would be a hard line break.
fn line_ends(text: &Text<'_>) -> Edits {
    let masked = text.prose.masked.as_bytes();
    let mut places = Edits::new();
    for block in text.running_text() {
        for at in block.range.clone().skip(1) {
            let ends = masked[at] == b'\n' && masked[at - 1] != b'\r' || masked[at] == b'\r';
            if ends && masked[at - 1].is_ascii_graphic() {
                places.push((at..at, " ".to_owned()));
            }
        }
    }
    places
}

/// Adds a second space between two words of a line.
fn spaces(text: &Text<'_>) -> Edits {
    let mut places = Edits::new();
    for block in text.running_text() {
        let line = text.masked(block.range.clone());
        for (at, _) in line.match_indices(' ') {
            let before = line[..at].chars().next_back();
            let after = line[at + 1..].chars().next();
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            if is_word(before) && is_word(after) {
                let at = block.range.start + at;
                places.push((at..at, " ".to_owned()));
            }
        }
    }
    places
}
