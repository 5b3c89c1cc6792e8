//! How two answers to one prompt become what a judge is shown, and how its grades become those of a sample.

use super::record::{Scoring, Unscored};
use kelvin_run::judge::{Exhibit, Grade, Ungraded};

/// Two answers to one prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) prompt: &'a str,
    /// An answer that is known to be good.
    pub(super) reference: Option<&'a str>,
    pub(super) candidate: &'a str,
    /// The answer that the candidate's is graded next to; none where it is graded by itself.
    pub(super) other: Option<&'a str>,
}

/// The grades of a pair.
#[derive(Clone, Debug)]
pub(super) struct Grades {
    /// That of the candidate, or why there is none.
    pub(super) candidate: Result<Grade, Unscored>,
    /// That of the other answer, where it has one.
    pub(super) other: Option<Grade>,
}

impl<'a> Pair<'a> {
    /// What the judge is shown, in order.
    pub(super) fn exhibits(&self, scoring: Scoring) -> Vec<Exhibit<'a>> {
        let exhibit = |response, reference| Exhibit {
            prompt: self.prompt,
            response,
            reference,
            criteria: None,
        };
        match (scoring, self.other) {
            (Scoring::Each, Some(other)) => vec![
                exhibit(self.candidate, self.reference),
                exhibit(other, self.reference),
            ],
            (Scoring::Each, None) => vec![exhibit(self.candidate, self.reference)],
            (Scoring::Likeness | Scoring::Choice, other) => vec![exhibit(self.candidate, other)],
            (Scoring::Exchange, Some(other)) => vec![
                exhibit(self.candidate, Some(other)),
                exhibit(other, Some(self.candidate)),
            ],
            (Scoring::Exchange, None) => vec![exhibit(self.candidate, None)],
        }
    }

    /// The grades of two answers that are the same, of which none can be the better one: nobody is asked.
    pub(super) fn of_equals(&self, scoring: Scoring, judge: &str) -> Option<Grades> {
        if !scoring.is_preference() || self.other != Some(self.candidate) {
            return None;
        }
        let even = || {
            let notes = "both answers are the same, so the judge was not asked";
            Grade::new(0.5, notes, judge)
        };
        Some(Grades {
            candidate: even().map_err(|ungraded| Unscored::from(&ungraded)),
            other: match scoring {
                Scoring::Exchange => even().ok(),
                _ => None,
            },
        })
    }

    /// The grades of a pair, from those of its exhibits: that of the candidate, and of the other answer
    /// where it was shown too.
    pub(super) fn grades(
        scoring: Scoring,
        candidate: Result<Grade, Ungraded>,
        other: Option<Result<Grade, Ungraded>>,
    ) -> Grades {
        let candidate = candidate.map_err(|ungraded| Unscored::from(&ungraded));
        match (scoring, other) {
            // Both grades make the score, so that it is unscored where one of them is missing.
            (Scoring::Exchange, Some(Err(ungraded))) => Grades {
                candidate: candidate.and(Err(Unscored::from(&ungraded))),
                other: None,
            },
            (_, other) => Grades {
                candidate,
                other: other.and_then(Result::ok),
            },
        }
    }
}
