//! What a judge is shown.

use super::{Ungraded, UngradedCode};

/// A response, with what it is graded by. Every text comes from outside and may be hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhibit<'a> {
    /// What the pipeline was asked; empty where nobody knows.
    pub prompt: &'a str,
    /// What it answered; this is what is graded. In a paired grading it is the candidate.
    pub response: &'a str,
    /// The answer that it is compared with: the baseline, or one that is known to be right.
    pub reference: Option<&'a str>,
    /// What a good answer has to satisfy; instead of the criteria of the judge's settings.
    pub criteria: Option<&'a str>,
}

impl<'a> Exhibit<'a> {
    /// The reference.
    ///
    /// # Errors
    ///
    /// Where there is none, and the judge cannot do without.
    pub(super) fn needs_reference(&self) -> Result<&'a str, Ungraded> {
        let missing = || {
            let text = "there is no reference to compare the response with";
            Ungraded::new(UngradedCode::NoReference, text)
        };
        self.reference.ok_or_else(missing)
    }
}
