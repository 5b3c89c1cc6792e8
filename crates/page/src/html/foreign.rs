//! Texts of others within a sentence of a page.

use crate::{Phrase, safe};

/// Columns of an untrusted text within a sentence.
pub(super) const FOREIGN: usize = 200;

/// A phrase without what a page cannot show, each name and text cut.
pub(super) fn shortened(phrase: &Phrase) -> Phrase {
    phrase.each_foreign(|text| safe::cut(text, FOREIGN))
}
