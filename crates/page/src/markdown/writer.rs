//! Lines of Markdown: our own text unchanged, everything else through [`safe`].

use crate::safe;
use crate::{Phrase, PhrasePart, counted};

/// The most columns of a name or a value.
const NAME: usize = 60;
/// The most columns of a longer text.
const QUOTE: usize = 300;

/// A foreign name or value.
pub(super) fn name(text: &str) -> String {
    safe::code(text, NAME)
}

/// A longer foreign text, on one line.
pub(super) fn quote(text: &str) -> String {
    safe::markdown(text, QUOTE)
}

/// A sentence of ours with foreign names and texts in it.
pub(super) fn phrase(phrase: &Phrase) -> String {
    phrase.show(|part, text| match part {
        PhrasePart::Quote => quote(text),
        PhrasePart::Name | PhrasePart::Text => name(text),
    })
}

/// The lines of a page.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
}

impl Writer {
    /// One line.
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Several lines, with an end.
    pub(super) fn block(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// An empty line, never two.
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

    /// Says how many entries of a list are not shown.
    pub(super) fn more(&mut self, all: usize, listed: usize, word: &str) {
        if all > listed {
            let more = counted(all - listed, &format!("more {word}"));
            self.gap();
            self.line(&format!("and {more}, in `report.html` and `report.json`"));
        }
    }

    /// The text, with one line end at its end.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}
