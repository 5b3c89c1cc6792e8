//! The texts that a judge is shown.

use super::{Ungraded, UngradedCode};

/// A response with the texts that it is graded by. Every text comes from outside and may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit<'a> {
    /// What the pipeline was asked; empty where nobody knows.
    pub prompt: &'a str,
    /// What the pipeline answered; this text is graded. In a paired grading it is the candidate.
    pub response: &'a str,
    /// The answer that the response is compared with: the baseline, or one that is known to be right.
    pub reference: Option<&'a str>,
    /// The texts that the pipeline found and answered from, the best first; none where nobody knows them.
    pub passages: Option<&'a [String]>,
    /// What a good answer has to satisfy; replaces the criteria of the judge's settings.
    pub criteria: Option<&'a str>,
    /// The number of the exhibit in its series, from 0, in an order that depends on items and repeats alone. A judge
    /// that exchanges the places of two texts by turns does so where the number is odd.
    pub turn: usize,
}

impl<'a> Exhibit<'a> {
    /// The reference, for a judge that needs one.
    ///
    /// # Errors
    ///
    /// Where the exhibit has no reference.
    pub(super) fn needs_reference(&self) -> Result<&'a str, Ungraded> {
        let missing = || {
            let text = "there is no reference to compare the response with";
            Ungraded::new(UngradedCode::NoReference, text)
        };
        self.reference.ok_or_else(missing)
    }

    /// The passages, for a judge that needs them.
    ///
    /// # Errors
    ///
    /// Where nobody knows the passages.
    pub(super) fn needs_passages(&self) -> Result<&'a [String], Ungraded> {
        let missing = || {
            let text =
                "the passages that the answer was made from are not known, or not kept as a whole";
            Ungraded::new(UngradedCode::NoPassages, text)
        };
        self.passages.ok_or_else(missing)
    }
}
