//! Which texts of a case there are already: a variant that reads like an earlier one is run for
//! nothing.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::{Subject, Variant};

/// The texts of a case and of its variants, told apart without keeping them: by length and a quick
/// hash, and where both are equal by the earlier text itself.
pub(super) struct Texts {
    /// Length, hash, and which text: 0 is the case, and `n` its `n`th variant, from 1.
    known: BTreeSet<(usize, u64, usize)>,
}

impl Texts {
    /// The text of the case alone.
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let text = &subject.case().text;
        Self {
            known: BTreeSet::from([(text.len(), hash(text), 0)]),
        }
    }

    /// Takes in the text of the variant that comes after `variants`; false where the case or one of
    /// them reads the same.
    pub(super) fn take(&mut self, text: &str, subject: &Subject<'_>, variants: &[Variant]) -> bool {
        let (length, hash) = (text.len(), hash(text));
        let alike = self
            .known
            .range((length, hash, 0)..=(length, hash, usize::MAX));
        let reads_alike = |which: usize| match which.checked_sub(1) {
            None => subject.case().text == text,
            Some(at) => {
                let mut earlier = String::new();
                subject.render(&mut earlier, &variants[at].pieces);
                earlier == text
            }
        };
        let is_new = !alike.into_iter().any(|(.., which)| reads_alike(*which));
        if is_new {
            self.known.insert((length, hash, variants.len() + 1));
        }
        is_new
    }
}

/// The same on every run; texts that are made to collide cost time, and nothing else.
fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}
