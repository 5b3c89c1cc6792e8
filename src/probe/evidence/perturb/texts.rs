//! Which texts of a case there are already: a variant that reads like an earlier one is run for
//! nothing.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::{Piece, Subject, Variant};

/// The texts of a case and of its variants, told apart without keeping them: by length and a quick
/// hash, and where both are equal by the earlier text itself. It serves one case after another.
pub(super) struct Texts {
    /// The quick hash.
    hash: fn(&str) -> u64,
    /// Length, hash, and which text: 0 is the case, and `n` its `n`th variant, from 1.
    known: BTreeSet<(usize, u64, usize)>,
    /// The text at hand, and an earlier one to compare it with. These buffers grow a few times, not
    /// once a variant.
    text: String,
    earlier: String,
}

impl Texts {
    /// No text yet.
    pub(super) fn new() -> Self {
        Self::by(hash)
    }

    /// The same with another hash: a worse one costs time, and nothing else.
    pub(super) const fn by(hash: fn(&str) -> u64) -> Self {
        Self {
            hash,
            known: BTreeSet::new(),
            text: String::new(),
            earlier: String::new(),
        }
    }

    /// Forgets all others: there is the text of the case alone.
    pub(super) fn begin(&mut self, subject: &Subject<'_>) {
        let text = &subject.case().text;
        self.known.clear();
        self.known.insert((text.len(), (self.hash)(text), 0));
    }

    /// Takes in the text of the variant that comes after `variants`; false where the case or one of
    /// them reads the same.
    pub(super) fn take(
        &mut self,
        pieces: &[Piece],
        subject: &Subject<'_>,
        variants: &[Variant],
    ) -> bool {
        subject.render(&mut self.text, pieces);
        let (length, hash) = (self.text.len(), (self.hash)(&self.text));
        let alike = (length, hash, 0)..=(length, hash, usize::MAX);
        for (.., which) in self.known.range(alike) {
            let earlier = match which.checked_sub(1) {
                None => &subject.case().text,
                Some(at) => {
                    subject.render(&mut self.earlier, &variants[at].pieces);
                    &self.earlier
                }
            };
            if *earlier == self.text {
                return false;
            }
        }
        self.known.insert((length, hash, variants.len() + 1));
        true
    }
}

/// The same on every run; texts that are made to collide cost time, and nothing else.
fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}
