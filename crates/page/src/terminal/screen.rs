//! A screen of lines: no wider than the terminal, no higher than necessary, and coloured only on request.

use anstyle::AnsiColor;

use crate::safe;

/// The width of a line without a terminal, in columns; also the minimum.
const WIDTH: usize = 80;
/// The maximum width in columns, since a longer line is hard to read.
const WIDEST: usize = 120;
/// The number of lines of a screen, without the line of the prompt.
const HEIGHT: usize = 23;

/// How a terminal shows a page, as set by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    colours: bool,
    columns: usize,
}

impl Style {
    /// Text only, 80 columns wide.
    pub const PLAIN: Self = Self {
        colours: false,
        columns: WIDTH,
    };

    /// The style with or without colours, on a terminal with this many columns; 80 if that is not known.
    pub fn of(colours: bool, columns: Option<usize>) -> Self {
        Self {
            colours,
            columns: columns.unwrap_or(WIDTH).clamp(WIDTH, WIDEST),
        }
    }
}

/// How a part of a line is shown if there are colours; a colour never carries a meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Unchanged text.
    Plain,
    /// Text that should be seen first.
    Bold,
    /// Text that may be skipped.
    Dim,
    /// Good news.
    Good,
    /// News that need attention.
    Fair,
    /// Bad news.
    Bad,
}

impl Ink {
    /// The ink for a band, 0 for the best.
    pub(super) const fn of_band(band: usize) -> Self {
        match band {
            0 => Self::Good,
            1 | 2 => Self::Fair,
            _ => Self::Bad,
        }
    }

    fn style(self) -> anstyle::Style {
        let plain = anstyle::Style::new();
        match self {
            Self::Plain => plain,
            Self::Bold => plain.bold(),
            Self::Dim => plain.dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Fair => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
        }
    }
}

/// The lines of a page.
pub(super) struct Screen {
    style: Style,
    lines: Vec<Vec<(Ink, String)>>,
}

impl Screen {
    /// A screen without a line.
    pub(super) const fn new(style: Style) -> Self {
        Self {
            style,
            lines: Vec::new(),
        }
    }

    /// The number of columns of a line.
    pub(super) const fn width(&self) -> usize {
        self.style.columns
    }

    /// Adds an empty line, if there is space.
    pub(super) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    /// Adds a line, cut at the edge.
    pub(super) fn line(&mut self, ink: Ink, text: &str) {
        self.parts(&[(ink, text)]);
    }

    /// Adds a line with several inks, cut at the edge.
    pub(super) fn parts(&mut self, parts: &[(Ink, &str)]) {
        let mut room = self.width();
        let mut line = Vec::new();
        for (ink, text) in parts {
            let text = fitted(text, room);
            room -= safe::columns(&text);
            line.push((*ink, text));
        }
        self.lines.push(line);
    }

    /// Adds a sentence on at most `most` lines, after a marker.
    pub(super) fn wrapped(&mut self, ink: Ink, mark: &str, text: &str, most: usize) {
        let indent = if mark.is_empty() { 0 } else { 2 };
        let mut rows = vec![String::new()];
        for word in text.split(' ') {
            let last = rows.last_mut().expect("there is always one");
            let fits = safe::columns(last) + 1 + safe::columns(word) <= self.width() - indent;
            if last.is_empty() || fits || rows.len() == most {
                let last = rows.last_mut().expect("there is always one");
                if !last.is_empty() {
                    last.push(' ');
                }
                last.push_str(word);
            } else {
                rows.push(word.to_owned());
            }
        }
        for (at, row) in rows.iter().enumerate() {
            let mark = if at == 0 { mark } else { "" };
            self.line(ink, &format!("{mark:indent$}{row}"));
        }
    }

    /// Adds short items after a label, on at most `most` lines, with the number of items that did not fit.
    pub(super) fn listed(&mut self, label: &str, items: &[String], most: usize) {
        /// The space for the label, and for `+999 more`.
        const LABEL: usize = 13;
        const MORE: usize = 11;
        let mut rows: Vec<String> = Vec::new();
        let mut shown = 0;
        for item in items {
            let is_last = rows.len() == most;
            let room = if is_last {
                self.width() - MORE
            } else {
                self.width()
            };
            match rows.last_mut() {
                Some(row) if safe::columns(row) + 3 + safe::columns(item) <= room => {
                    row.push_str("   ");
                    row.push_str(item);
                }
                Some(_) if is_last => break,
                row => {
                    let label = if row.is_none() { label } else { "" };
                    rows.push(format!("{label:<LABEL$}{item}"));
                }
            }
            shown += 1;
        }
        if let (Some(last), 1..) = (rows.last_mut(), items.len() - shown) {
            last.push_str(&format!("  +{} more", items.len() - shown));
        }
        for row in &rows {
            self.line(Ink::Plain, row);
        }
    }

    /// Whether the page fits on a screen without its empty lines.
    pub(super) fn fits(&self) -> bool {
        self.lines.iter().filter(|line| !line.is_empty()).count() <= HEIGHT
    }

    /// The text, without the empty lines for which the screen has no space.
    pub(super) fn render(mut self) -> String {
        while self.lines.len() > HEIGHT {
            let Some(gap) = self.lines.iter().rposition(Vec::is_empty) else {
                break;
            };
            self.lines.remove(gap);
        }
        let mut text = String::new();
        for line in self.lines {
            for (ink, part) in line {
                let ink = ink.style();
                match self.style.colours {
                    true => text.push_str(&format!("{ink}{part}{ink:#}")),
                    false => text.push_str(&part),
                }
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

/// A text cut to its space; spaces at its ends stay, since they align the text.
fn fitted(text: &str, room: usize) -> String {
    if safe::columns(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let indent = text.len() - text.trim_start_matches(' ').len();
    format!(
        "{}{}",
        &text[..indent.min(room - 1)],
        safe::cut(text, room.saturating_sub(indent))
    )
}
