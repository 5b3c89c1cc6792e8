//! Foreign texts within a sentence of a page.

use crate::{Phrase, safe};

/// The most columns of an untrusted text within a sentence.
pub(super) const FOREIGN: usize = 200;

/// A phrase without characters that a page cannot show, with each name and text cut.
pub(super) fn shortened(phrase: &Phrase) -> Phrase {
    phrase.each_foreign(|text| safe::cut(text, FOREIGN))
}
