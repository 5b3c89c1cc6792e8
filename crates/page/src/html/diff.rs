//! The difference between two inputs, line by line and word by word.

use similar::{ChangeTag, InlineChangeMode, InlineChangeOptions, TextDiff};

use super::foreign::text;
use crate::safe;

/// The maximum number of lines in one diff.
const LINES: usize = 60;
/// The maximum length of a line, in characters.
const LINE: usize = 400;
/// The number of unchanged lines around a change.
const AROUND: usize = 1;
/// The maximum size of a compared text in bytes: comparing a longer one would take too long.
pub(super) const LONGEST: usize = 256 * 1024;

/// A line of a diff.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DiffLine {
    /// `+`, `-`, or a space.
    sign: char,
    /// The pieces of the line, each with whether it changed.
    pieces: Vec<(bool, String)>,
}

impl DiffLine {
    /// Adds the line to a page.
    pub(super) fn write(&self, to: &mut String) {
        to.push_str(match self.sign {
            '+' => "<div class=\"a\"><span>+</span> ",
            '-' => "<div class=\"d\"><span>-</span> ",
            _ => "<div><span> </span> ",
        });
        for (changed, piece) in &self.pieces {
            match changed {
                true => {
                    to.push_str("<mark>");
                    text(to, piece);
                    to.push_str("</mark>");
                }
                false => text(to, piece),
            }
        }
        to.push_str("</div>");
    }

    /// The length of its text in bytes.
    pub(super) fn len(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.len() + 16).sum()
    }
}

/// Two one-line texts in pieces, each with whether the other text lacks it.
pub(super) fn words(before: &str, after: &str) -> [Vec<(bool, String)>; 2] {
    let diff = TextDiff::from_words(before, after);
    // Even two texts with different words share the spaces between the words.
    let is_space = |text: &str| text.trim().is_empty();
    let side = |own: ChangeTag, other: ChangeTag| {
        let changes = diff
            .iter_all_changes()
            .filter(|change| change.tag() != other);
        let mut pieces: Vec<(bool, String)> = Vec::new();
        for change in changes {
            let changed = change.tag() == own;
            match pieces.as_mut_slice() {
                [.., (before, text)] if *before == changed => text.push_str(change.value()),
                [.., (true, text), (false, space)] if changed && is_space(space) => {
                    text.push_str(space);
                    text.push_str(change.value());
                    pieces.pop();
                }
                _ => pieces.push((changed, change.value().to_owned())),
            }
        }
        pieces
    };
    [
        side(ChangeTag::Delete, ChangeTag::Insert),
        side(ChangeTag::Insert, ChangeTag::Delete),
    ]
}

/// The changed lines with a little context, and the number of other lines.
pub(super) fn lines(before: &str, after: &str) -> (Vec<DiffLine>, usize) {
    let diff = TextDiff::from_lines(before, after);
    let mut options = InlineChangeOptions::new();
    options.mode(InlineChangeMode::Words).semantic_cleanup(true);
    let mut lines = Vec::new();
    let mut more = 0;
    for op in diff.grouped_ops(AROUND).into_iter().flatten() {
        if lines.len() >= LINES {
            more += op.old_range().len().max(op.new_range().len());
            continue;
        }
        // The comparison has no deadline, so that the same report gives the same page on a slow machine.
        for change in diff.iter_inline_changes_with_options_deadline(&op, options, None) {
            if lines.len() == LINES {
                more += 1;
                continue;
            }
            let sign = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            lines.push(DiffLine {
                sign,
                pieces: pieces(change.iter_strings_lossy()),
            });
        }
    }
    (lines, more)
}

fn pieces<'a>(
    parts: impl Iterator<Item = (bool, std::borrow::Cow<'a, str>)>,
) -> Vec<(bool, String)> {
    let mut left = LINE;
    let mut pieces: Vec<(bool, String)> = Vec::new();
    for (changed, text) in parts {
        if left == 0 {
            break;
        }
        let text = safe::lines(text.trim_end_matches(['\n', '\r']));
        let shown: String = text.chars().take(left).collect();
        left -= shown.chars().count();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        match pieces.last_mut() {
            _ if shown.is_empty() => {}
            Some((before, so_far)) if *before == changed => {
                so_far.push_str(&shown);
                so_far.push_str(cut);
            }
            _ => pieces.push((changed, format!("{shown}{cut}"))),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_words_that_changed() {
        let (lines, more) = lines("a\nat least 3 people\nz\n", "a\nat least 4 people\nz\n");
        assert_eq!(more, 0);
        let changed: Vec<(char, String)> = lines
            .iter()
            .flat_map(|line| {
                let marked = line.pieces.iter().filter(|(changed, _)| *changed);
                marked.map(|(_, text)| (line.sign, text.clone()))
            })
            .collect();
        assert_eq!(changed, [('-', "3".to_owned()), ('+', "4".to_owned())]);
    }

    #[test]
    fn both_sides_of_an_answer_mark_what_the_other_one_lacks() {
        let [before, after] = words("within 30 days", "within 60 days");
        let piece = |changed, text: &str| (changed, text.to_owned());
        assert_eq!(
            before,
            [
                piece(false, "within "),
                piece(true, "30"),
                piece(false, " days")
            ]
        );
        assert_eq!(
            after,
            [
                piece(false, "within "),
                piece(true, "60"),
                piece(false, " days")
            ]
        );
    }

    #[test]
    fn words_that_all_changed_are_one_piece_whatever_spaces_they_share() {
        let [before, after] = words("the moon is near", "a star was far");
        assert_eq!(before, [(true, "the moon is near".to_owned())]);
        assert_eq!(after, [(true, "a star was far".to_owned())]);
        let [before, _] = words("one two three four", "one 2 3 four");
        let piece = |changed, text: &str| (changed, text.to_owned());
        assert_eq!(
            before,
            [
                piece(false, "one "),
                piece(true, "two three"),
                piece(false, " four")
            ]
        );
    }

    #[test]
    fn a_long_diff_is_cut_and_says_by_how_much() {
        let after: String = (0..200).map(|n| format!("{n}\n")).collect();
        let (lines, more) = lines("", &after);
        assert_eq!((lines.len(), more), (LINES, 200 - LINES));
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let (lines, _) = lines("", &"x".repeat(10_000));
        let shown: String = lines[0]
            .pieces
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(shown.chars().count(), LINE + 1);
        assert!(shown.ends_with('…'));
    }
}
