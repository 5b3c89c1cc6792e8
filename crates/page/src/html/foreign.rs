//! Text inside the HTML of a page: it is always shown as text, for any content.

use std::fmt::Write as _;

use minijinja::HtmlEscape;

use crate::{Phrase, PhrasePart, SETTING, safe};

/// The maximum width of an untrusted text in a sentence, in columns.
pub(super) const FOREIGN: usize = 200;

/// A phrase without characters that a page cannot show, with each name and text shortened.
pub(super) fn shortened(phrase: &Phrase) -> Phrase {
    phrase.each_foreign(|text| safe::cut(text, FOREIGN))
}

/// Adds a text in an escaped form, in which none of its characters is markup.
pub(super) fn text(to: &mut String, text: &str) {
    let _ = write!(to, "{}", HtmlEscape(text));
}

/// Adds a sentence, with each name and external text shortened and marked.
pub(super) fn say(to: &mut String, phrase: &Phrase) {
    for (part, said) in phrase.parts() {
        let tag = match part {
            PhrasePart::Text => {
                text(to, said);
                continue;
            }
            PhrasePart::Name | PhrasePart::Setting => "code",
            PhrasePart::Quote => "q",
        };
        let short = match part {
            PhrasePart::Setting => safe::cut(said, SETTING),
            PhrasePart::Name => safe::cut_middle(said, FOREIGN),
            PhrasePart::Quote | PhrasePart::Text => safe::cut(said, FOREIGN),
        };
        let _ = write!(to, "<{tag}>");
        text(to, &short);
        let _ = write!(to, "</{tag}>");
    }
}
