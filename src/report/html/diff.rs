//! What changed between two inputs, line by line and word by word.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::report::safe;

/// The most lines of one diff.
const LINES: usize = 60;
/// The most characters of one line.
const LINE: usize = 400;
/// Unchanged lines around a change.
const AROUND: usize = 1;

/// A line of a diff.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    /// `+`, `-`, or a space.
    sign: char,
    /// The pieces of the line, each with whether it is what changed.
    pieces: Vec<(bool, String)>,
}

/// The changed lines with a little around them, and how many more there are.
pub(super) fn lines(before: &str, after: &str) -> (Vec<Line>, usize) {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    let mut more = 0;
    for group in diff.grouped_ops(AROUND) {
        for op in group {
            for change in diff.iter_inline_changes(&op) {
                if lines.len() == LINES {
                    more += 1;
                    continue;
                }
                let sign = match change.tag() {
                    ChangeTag::Insert => '+',
                    ChangeTag::Delete => '-',
                    ChangeTag::Equal => ' ',
                };
                let mut left = LINE;
                let mut pieces = Vec::new();
                for (changed, text) in change.iter_strings_lossy() {
                    let text: String = safe::lines(text.trim_end_matches(['\n', '\r']))
                        .chars()
                        .take(left)
                        .collect();
                    left -= text.chars().count();
                    if !text.is_empty() {
                        pieces.push((changed, text));
                    }
                }
                lines.push(Line { sign, pieces });
            }
        }
    }
    (lines, more)
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
    fn a_long_diff_is_cut_and_says_by_how_much() {
        let after: String = (0..200).map(|n| format!("{n}\n")).collect();
        let (lines, more) = lines("", &after);
        assert_eq!((lines.len(), more), (LINES, 200 - LINES));
    }
}
