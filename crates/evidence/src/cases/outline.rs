//! The structure of a unit's Markdown, for checking that an edit has not changed it.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::markdown::for_parser;
use super::prose::extensions;

/// The structure and the prose of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Every block, every inline mark and everything that is not prose, both as plain CommonMark and with the
    /// extensions.
    pub shape: Vec<String>,
    /// The prose, with each sequence of white space as one space.
    pub text: String,
}

impl Outline {
    /// Whether a heading after the text would be recognised as a heading.
    pub(crate) fn is_closed(&self) -> bool {
        let probe = |shape: &[String]| {
            shape.len() >= 2
                && shape[shape.len() - 2].contains("Start(Heading { level: H2")
                && shape[shape.len() - 1].contains("Heading(H2)")
        };
        self.text.ends_with(PROBE) && probe(&self.shape)
    }
}

/// The text of a heading that is added after the text: how this heading is parsed shows which blocks the text leaves
/// open.
const PROBE: &str = "probe";

/// The structure of a unit.
pub(crate) fn outline(text: &str) -> Outline {
    let source = format!("{}\n\n## {PROBE}\n", for_parser(text));
    let mut outline = Outline {
        shape: Vec::new(),
        text: String::new(),
    };
    for options in [Options::empty(), extensions()] {
        outline.text.clear();
        let mut code = false;
        for event in Parser::new_ext(&source, options) {
            match event {
                Event::Text(text) if code => outline.shape.push(format!("{text:?}")),
                Event::Text(text) => outline.text.push_str(&text),
                Event::SoftBreak => {
                    outline.shape.push("SoftBreak".to_owned());
                    outline.text.push(' ');
                }
                Event::End(end) => {
                    code &= end != TagEnd::CodeBlock;
                    outline.shape.push(format!("{end:?}"));
                    outline.text.push(' ');
                }
                other => {
                    code |= matches!(other, Event::Start(Tag::CodeBlock(_)));
                    outline.shape.push(format!("{other:?}"));
                }
            }
        }
    }
    let words: Vec<&str> = outline.text.split_whitespace().collect();
    outline.text = words.join(" ");
    outline
}

/// The markers of list items: `-`, `*`, `+`, `12.` or `12)`.
pub(crate) fn markers(text: &str) -> Vec<Range<usize>> {
    let source = for_parser(text);
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(&source, extensions()).into_offset_iter() {
        if event != Event::Start(Tag::Item) {
            continue;
        }
        let item = &source[range.clone()];
        let start = range.start + item.len() - item.trim_start_matches([' ', '\t', '>']).len();
        let digits = source[start..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        found.push(start..start + digits + 1);
    }
    found.retain(|range| {
        source
            .get(range.clone())
            .is_some_and(|marker| marker.ends_with(['-', '*', '+', '.', ')']))
    });
    found.sort_by_key(|range| range.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_sees_what_an_edit_breaks() {
        let same = |one: &str, other: &str| outline(one).shape == outline(other).shape;
        assert!(same("## A\n\none two\n", "## A\n\nthree\n\n\n"));
        assert!(!same("## A\n\none\ntwo\n", "## A\n\none\n--\n"));
        assert!(!same("## A\n\none\n", "## A\n\n- one\n"));
        assert!(!same("## A\n\none", "## A\n\n```\none"));
        assert!(!same("`a`", "`b`"));
        assert!(!same("- a\n- b", "- a\n\n- b"));
        assert!(!same("a\nb", "a  \nb"));
        assert!(!same("[a](b)", "[a](c)"));
    }

    #[test]
    fn markers_are_found_at_every_depth() {
        let text = "- a\n  * b\n    1) c\n\n> + d\n\n1. - e\n- [ ] f\n\n```\n- no\n```\n\n- - -\n";
        let found: Vec<&str> = markers(text)
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, ["-", "*", "1)", "+", "1.", "-", "-"]);
    }
}
