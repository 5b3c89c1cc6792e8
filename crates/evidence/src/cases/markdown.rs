//! Splits Markdown text into units, by the byte offsets of a CommonMark parser.
//!
//! The text itself is never changed: the parser sees a copy of the same length, with an additional heading after its
//! end.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use crate::config::unit_type;

/// A problem in a document that only its author can fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentProblem {
    /// The line number, from 1.
    pub(super) line: usize,
    /// The problem in that line.
    pub(super) what: String,
    /// How to fix it.
    pub(super) help: &'static str,
}

/// A unit, by its offsets in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The type of the unit; empty if the heading has no text.
    pub(super) unit_type: String,
    /// The offset of the first `#` of the heading.
    pub(super) start: usize,
    /// The offset at which the heading line ends, without its line break.
    pub(super) heading_end: usize,
    /// The line of the heading, from 1.
    pub(super) line: usize,
}

/// A document split into its units.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    /// The units in the order of the document.
    pub(super) units: Vec<Cut>,
    /// Why the document cannot be used.
    pub(super) problems: Vec<DocumentProblem>,
}

/// The end of the copy that is parsed: a blank line and a heading, which together close every block that they can
/// close. If this heading is not found, a block is still open, and it would swallow every unit that a perturbation puts
/// after it.
const PROBE: &str = "\n\n## probe\n";
const PROBE_HASHES: usize = 2;

/// Characters that CommonMark treats as white space between blocks.
pub(super) const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// About as many units as a case usually has.
const USUAL: usize = 12;

/// Finds the level-2 ATX headings at the top level of a document.
pub(super) fn cut(text: &str) -> Cuts {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let source = for_parser(text);
    let mut cuts = Cuts::default();
    let skip = match front_matter(&source[mark..]) {
        FrontMatter::None => mark,
        FrontMatter::Closed(length) => mark + length,
        FrontMatter::Open => {
            cuts.problems.push(DocumentProblem {
                line: 1,
                what: "the front matter that opens here is never closed".to_owned(),
                help: "close it with the same three characters on a line of their own, or put an \
                       empty line after the first line if it is no front matter",
            });
            mark
        }
    };

    let probed = [&source[skip..], PROBE].concat();
    let probe = probed.len() - PROBE.len() + PROBE_HASHES;
    cuts.units.reserve(USUAL);
    let mut open = Some((1, MarkdownBlock::Other));
    let mut lines = LineCounter::of(&source);
    for (block, range) in top_level(&probed) {
        if matches!(block, MarkdownBlock::Heading) && range.start == probe {
            open = None;
        } else if matches!(block, MarkdownBlock::Heading) && is_atx(&probed, range.start) {
            let start = skip + range.start;
            let heading_end = line_end(text, start);
            cuts.units.push(Cut {
                unit_type: type_of(&text[start..heading_end]),
                start,
                heading_end,
                line: lines.line_at(start),
            });
        } else if range.contains(&probe) {
            open = Some((lines.line_at(skip + range.start), block));
        }
    }
    if let Some((line, block)) = open {
        let (what, help) = block.never_closed();
        cuts.problems.push(DocumentProblem {
            line,
            what: format!("the {what} that opens here is never closed"),
            help,
        });
    }
    for unit in &cuts.units {
        if unit.unit_type.is_empty() {
            cuts.problems.push(DocumentProblem {
                line: unit.line,
                what: "this level-2 heading has no text, so its unit has no type".to_owned(),
                help: "give the heading a name, or take it out",
            });
        }
    }
    cuts.problems.sort_by_key(|problem| problem.line);
    cuts
}

/// The type of the units under a heading line such as `## **Gate Rule** ##`: its text without markup. The line is
/// parsed separately, so the type never depends on the rest of the document, e.g. on link definitions.
pub(crate) fn type_of(heading: &str) -> String {
    // Most headings are plain words, which need no parser.
    if let Some(words) = heading.strip_prefix("## ")
        && words
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
    {
        return unit_type(words);
    }
    // Tabs may surround the closing hashes, where the parser expects spaces.
    let heading = heading.replace('\t', " ");
    let mut text = String::new();
    for event in Parser::new_ext(heading.trim_end(), Options::empty()) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    unit_type(&text)
}

/// The line that best describes a document: its first heading of level 1, otherwise its first line that is not a
/// heading, otherwise its first heading. The hashes are left out.
pub(super) fn title(text: &str) -> Option<&str> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let skip = match front_matter(&for_parser(text)[mark..]) {
        FrontMatter::Closed(length) => mark + length,
        FrontMatter::None | FrontMatter::Open => mark,
    };
    let lines = || {
        let lines = text[skip..].split(['\n', '\r']).map(str::trim);
        // Rules and fences are lines without words.
        lines.filter(|line| line.chars().any(char::is_alphanumeric))
    };
    let first = lines().find_map(|line| line.strip_prefix("# "));
    let plain = || lines().find(|line| !line.starts_with('#'));
    let any = || lines().next().map(|line| line.trim_start_matches('#'));
    first.or_else(plain).or_else(any).map(str::trim)
}

/// The line break of most lines of a text; `\n` if the text has only one line.
pub(super) fn newline(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    let lf = text.matches('\n').count() - crlf;
    let cr = text.matches('\r').count() - crlf;
    match () {
        () if lf >= crlf && lf >= cr => "\n",
        () if crlf >= cr => "\r\n",
        () => "\r",
    }
}

/// The same text with every line break replaced by `newline`.
pub(crate) fn with_newline<'a>(text: &'a str, newline: &str) -> Cow<'a, str> {
    if newline == "\n" && !text.as_bytes().contains(&b'\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        out.push_str(&rest[..at]);
        out.push_str(newline);
        let end = if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[at + end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Rewrites a text for the parser, without changing its length. The parser follows CommonMark except in two points: it
/// ends lines at a lone carriage return only in some places, and it does not recognise a fence with a tab after it as
/// the end of a code block.
pub(super) fn for_parser(text: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\r', b'\t', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let tabs = text.contains('\t');
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let lone = c == '\r' && chars.peek() != Some(&'\n');
        out.push(if lone { '\n' } else { c });
    }
    if !tabs {
        return Cow::Owned(out);
    }
    out.split_inclusive('\n')
        .flat_map(|line| {
            let (text, end) = line.split_at(line.trim_end_matches(BLANK).len());
            text.chars()
                .chain(end.chars().map(|c| if c == '\t' { ' ' } else { c }))
        })
        .collect::<String>()
        .into()
}

enum FrontMatter {
    None,
    /// The length of the front matter.
    Closed(usize),
    Open,
}

/// Front matter is found here, because the parser's own metadata blocks can begin at any `---` of the document and
/// would hide the headings between two thematic breaks.
fn front_matter(source: &str) -> FrontMatter {
    let mut lines = source.split_inclusive('\n');
    let Some(first) = lines.next() else {
        return FrontMatter::None;
    };
    let closers: &[&str] = match first.trim_end_matches(BLANK) {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return FrontMatter::None,
    };
    let mut length = first.len();
    for (at, line) in lines.enumerate() {
        let line_text = line.trim_end_matches(BLANK);
        if at == 0 && line_text.is_empty() {
            return FrontMatter::None;
        }
        length += line.len();
        if closers.contains(&line_text) {
            return FrontMatter::Closed(length);
        }
    }
    if source[first.len()..].trim_matches(BLANK).is_empty() {
        return FrontMatter::None;
    }
    FrontMatter::Open
}

enum MarkdownBlock {
    Heading,
    Fence,
    Html,
    Other,
}

impl MarkdownBlock {
    /// The name of the block, and what to do if it runs to the end of the document.
    const fn never_closed(&self) -> (&'static str, &'static str) {
        match self {
            Self::Fence => (
                "code fence",
                "end it with the same characters on a line of their own: as it is, everything \
                 after it is code",
            ),
            Self::Html => (
                "HTML block",
                "end the comment with `-->`, or close the tag: as it is, everything after it is \
                 HTML",
            ),
            Self::Heading | Self::Other => (
                "block",
                "end it with an empty line: as it is, it would take in every heading after it",
            ),
        }
    }
}

/// The blocks at the top level, with their ranges. Only level-2 headings have their own kind; any other block matters
/// only if it swallows the end of the document.
fn top_level(source: &str) -> impl Iterator<Item = (MarkdownBlock, std::ops::Range<usize>)> + '_ {
    let mut depth = 0_usize;
    Parser::new_ext(source, Options::empty())
        .into_offset_iter()
        .filter_map(move |(event, range)| match event {
            Event::Start(tag) => {
                depth += 1;
                let block = match tag {
                    Tag::Heading {
                        level: HeadingLevel::H2,
                        ..
                    } => MarkdownBlock::Heading,
                    Tag::CodeBlock(CodeBlockKind::Fenced(_)) => MarkdownBlock::Fence,
                    Tag::HtmlBlock => MarkdownBlock::Html,
                    _ => MarkdownBlock::Other,
                };
                (depth == 1).then_some((block, range))
            }
            Event::End(_) => {
                depth -= 1;
                None
            }
            _ => None,
        })
}

/// Whether the heading that begins at `start` is written with hashes; otherwise it is underlined. The text of an
/// underlined heading may contain hashes too, on a line that is indented further.
fn is_atx(source: &str, start: usize) -> bool {
    let line = source[..start].rfind('\n').map_or(0, |end| end + 1);
    let indent = &source[line..start];
    indent.len() <= 3
        && indent.bytes().all(|byte| byte == b' ')
        && source[start..].strip_prefix("##").is_some_and(|rest| {
            rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
        })
}

fn line_end(text: &str, start: usize) -> usize {
    text[start..]
        .find(['\n', '\r'])
        .map_or(text.len(), |length| start + length)
}

/// Counts lines up to offsets that never decrease.
struct LineCounter<'a> {
    source: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    const fn of(source: &'a str) -> Self {
        Self {
            source,
            offset: 0,
            line: 1,
        }
    }

    fn line_at(&mut self, offset: usize) -> usize {
        let passed = &self.source.as_bytes()[self.offset..offset];
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.offset = offset;
        self.line
    }
}
