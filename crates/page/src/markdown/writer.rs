//! Lines of Markdown: our own text unchanged, everything else through [`safe`].

use crate::{Phrase, PhrasePart, SETTING, counted, safe};

/// The maximum width of a name or a value, in columns.
const NAME: usize = 60;
/// The maximum width of a longer text, in columns.
const QUOTE: usize = 300;

/// An external name or value.
pub(super) fn name(text: &str) -> String {
    safe::code_name(text, NAME)
}

/// A longer external text, on one line.
pub(super) fn quote(text: &str) -> String {
    safe::markdown(text, QUOTE)
}

/// A sentence of ours that contains external names and texts.
pub(super) fn phrase(phrase: &Phrase) -> String {
    phrase.show(|part, text| match part {
        PhrasePart::Quote => quote(text),
        PhrasePart::Setting => safe::code(text, SETTING),
        PhrasePart::Name | PhrasePart::Text => name(text),
    })
}

/// The lines of a page.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
}

impl Writer {
    /// Adds one line.
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Adds several lines and an empty line.
    pub(super) fn block(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds an empty line, never two in a row.
    pub(super) fn gap(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Begins a folded part; the title is our own text.
    pub(super) fn fold(&mut self, title: &str) {
        self.gap();
        self.line(&format!("<details><summary>{title}</summary>"));
        self.gap();
    }

    /// Ends a folded part.
    pub(super) fn unfold(&mut self) {
        self.gap();
        self.line("</details>");
        self.gap();
    }

    /// Adds how many entries of a list are not shown.
    pub(super) fn more(&mut self, all: usize, listed: usize, word: &str) {
        if all > listed {
            let more = counted(all - listed, &format!("more {word}"));
            self.gap();
            self.line(&format!("and {more}, in `report.html` and `report.json`"));
        }
    }

    /// The text, which ends with one line break.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}
