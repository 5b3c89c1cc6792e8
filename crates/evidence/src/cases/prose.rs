//! Finds the bytes of a unit that are plain prose, so that no edit changes code, links or HTML.

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::markdown::for_parser;

/// Replaces every byte that is not prose; it is neither a letter nor a digit nor white space.
pub(crate) const MASK: char = '\u{1}';

/// A text in which everything that is not prose is masked.
#[derive(Clone, Debug)]
pub struct MaskedText {
    /// As long as the text. Prose and its line breaks are unchanged; white space and quote markers that indent a
    /// continued line become spaces; every other byte becomes a byte that no text has.
    pub masked: String,
    /// The blocks that contain prose, in order.
    pub blocks: Vec<ProseBlock>,
}

/// A paragraph, the text of a list item, or a table cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProseBlock {
    /// From the first byte of the block to its last byte that is not white space.
    pub range: Range<usize>,
    /// The position of the block.
    pub place: BlockPlace,
}

/// The position of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// A paragraph at the top level.
    Top {
        /// Whether only headings come before the paragraph.
        first: bool,
    },
    /// The paragraph is in a list, a quote or a footnote.
    Nested,
    /// A cell of a table, below its head.
    Cell {
        /// Whether the cell is in the first column.
        first: bool,
    },
}

impl BlockPlace {
    /// Whether the block contains sentences.
    pub(crate) const fn is_running_text(self) -> bool {
        !matches!(self, Self::Cell { .. })
    }
}

/// The extensions beyond CommonMark that the common flavours of Markdown share.
pub(super) fn extensions() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

/// Finds the prose of a unit.
pub fn prose(text: &str) -> MaskedText {
    let source = for_parser(text);
    let mut walk = ProseWalk::new(&source);
    // The definition of `[this]` may be in another unit, so it counts as a link even without one.
    let link = |_: BrokenLink<'_>| Some((CowStr::from(""), CowStr::from("")));
    let parser = Parser::new_with_broken_link_callback(&source, extensions(), Some(link));
    for (event, range) in parser.into_offset_iter() {
        walk.event(&event, range);
    }
    walk.finish(text)
}

struct ProseWalk<'a> {
    source: &'a str,
    /// The mask while it is filled; as bytes, because it is filled out of order.
    masked: Vec<u8>,
    blocks: Vec<ProseBlock>,
    /// The current block, which may have begun without an event (tight list items).
    open: Option<ProseBlock>,
    /// How many links, headings and similar elements surround the parser's position: their content is not prose.
    closed_to_edits: usize,
    /// How many lists, quotes and footnotes surround the parser's position.
    nested: usize,
    /// The column of the next cell, while the parser is in the body of a table.
    column: usize,
    /// Whether anything except headings has occurred so far.
    begun: bool,
}

impl<'a> ProseWalk<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            masked: vec![MASK as u8; source.len()],
            blocks: Vec::new(),
            open: None,
            closed_to_edits: 0,
            nested: 0,
            column: 0,
            begun: false,
        }
    }

    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => {
                self.grow(&range);
                // The value of an entity or an escape differs from its source text.
                if self.closed_to_edits == 0 && self.source[range.clone()] == **text {
                    self.keep(range);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.grow(&range);
                if self.closed_to_edits == 0 {
                    for at in range.filter(|at| self.source.as_bytes()[*at].is_ascii_whitespace()) {
                        self.masked[at] = self.source.as_bytes()[at];
                    }
                }
            }
            Event::TaskListMarker(_) => {}
            Event::Rule | Event::Html(_) => {
                self.close();
                self.begun = true;
            }
            _ => self.grow(&range),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => self.begin(range, None),
            Tag::TableCell => {
                let first = self.column == 0;
                self.column += 1;
                self.begin(range, Some(BlockPlace::Cell { first }));
            }
            Tag::Emphasis | Tag::Strong => self.grow(&range),
            Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough => {
                self.grow(&range);
                self.closed_to_edits += 1;
            }
            other => {
                self.close();
                if is_closed(other) {
                    self.closed_to_edits += 1;
                }
                self.begun |= !matches!(other, Tag::Heading { .. });
                self.nested += usize::from(is_nesting(other));
                if matches!(other, Tag::TableRow) {
                    self.column = 0;
                }
            }
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong => {}
            TagEnd::Link | TagEnd::Image | TagEnd::Strikethrough => self.closed_to_edits -= 1,
            TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::TableHead
            | TagEnd::MetadataBlock(_) => {
                self.close();
                self.closed_to_edits -= 1;
            }
            TagEnd::List(_) | TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.close();
                self.nested -= 1;
            }
            _ => self.close(),
        }
    }

    /// Begins a block; its position depends on the state of the parser.
    fn begin(&mut self, range: Range<usize>, place: Option<BlockPlace>) {
        self.close();
        if self.closed_to_edits > 0 {
            return;
        }
        let first = !self.begun;
        self.begun = true;
        let place = place.unwrap_or(if self.nested > 0 {
            BlockPlace::Nested
        } else {
            BlockPlace::Top { first }
        });
        self.open = Some(ProseBlock { range, place });
    }

    /// Adds an inline event to the current block.
    fn grow(&mut self, range: &Range<usize>) {
        match &mut self.open {
            Some(block) => block.range.end = block.range.end.max(range.end),
            None if self.closed_to_edits == 0 => self.begin(range.clone(), None),
            None => {}
        }
    }

    fn close(&mut self) {
        if let Some(mut block) = self.open.take() {
            let text = &self.source[block.range.clone()];
            block.range.start += text.len() - text.trim_start().len();
            block.range.end = block.range.start + text.trim().len();
            if !block.range.is_empty() {
                self.blocks.push(block);
            }
        }
    }

    fn keep(&mut self, range: Range<usize>) {
        self.masked[range.clone()].copy_from_slice(&self.source.as_bytes()[range]);
    }

    fn finish(mut self, text: &str) -> MaskedText {
        self.close();
        let source = self.source.as_bytes();
        for block in &self.blocks {
            let mut indent = false;
            for at in block.range.clone() {
                match self.masked[at] {
                    b'\n' | b'\r' => indent = true,
                    byte if byte == MASK as u8 && indent && is_indent(source[at]) => {
                        self.masked[at] = b' ';
                    }
                    _ => indent = false,
                }
            }
            // White space before a line break belongs to no event.
            for at in block.range.clone().rev().skip(1) {
                let blank_ahead = self.masked[at + 1].is_ascii_whitespace();
                let blank = matches!(source[at], b' ' | b'\t');
                if blank && blank_ahead && self.masked[at] == MASK as u8 {
                    self.masked[at] = source[at];
                }
            }
        }
        for (byte, written) in self.masked.iter_mut().zip(text.bytes()) {
            // The parser read lone carriage returns as line feeds; the mask restores them.
            if written == b'\r' && *byte == b'\n' {
                *byte = written;
            }
        }
        let masked = String::from_utf8(self.masked)
            .expect("events begin and end between characters, and a mask is one byte");
        MaskedText {
            masked,
            blocks: self.blocks,
        }
    }
}

const fn is_indent(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'>')
}

const fn is_closed(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Heading { .. }
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::TableHead
            | Tag::MetadataBlock(_)
    )
}

const fn is_nesting(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::List(_) | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_)
    )
}
