//! Turns two answers to one prompt into exhibits for a judge, and the judge's grades into those of a sample.

use std::sync::Arc;

use super::record::{Scoring, Unscored};
use kelvin_run::judge::{Exhibit, Grade, Ungraded};

/// Two answers to one prompt.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    pub(super) prompt: &'a str,
    /// An answer that is known to be good.
    pub(super) reference: Option<&'a str>,
    pub(super) candidate: &'a str,
    /// The passages that the candidate's answer was made from, where they are known.
    pub(super) passages: Option<Arc<[String]>>,
    /// The answer that the candidate's is graded against; none where it is graded by itself.
    pub(super) other: Option<&'a str>,
    /// The passages of the other answer.
    pub(super) other_passages: Option<Arc<[String]>>,
    /// The turn of the pair, by which a judge may exchange the places of the two answers.
    pub(super) turn: usize,
}

/// The grades of a pair.
#[derive(Clone, Debug)]
pub(super) struct Grades {
    /// The grade of the candidate, or why there is none.
    pub(super) candidate: Result<Grade, Unscored>,
    /// The grade of the other answer, where it has one.
    pub(super) other: Option<Grade>,
}

impl Grades {
    /// The score of the candidate's answer; none where there is none.
    pub(super) fn score(&self, scoring: Scoring) -> Option<f64> {
        scoring.score(self.candidate.as_ref().ok()?, self.other.as_ref())
    }
}

impl<'a> Pair<'a> {
    /// The exhibits for the judge, in order.
    pub(super) fn exhibits(&self, scoring: Scoring) -> Vec<Exhibit<'_>> {
        let exhibit = |response: &'a str, reference: Option<&'a str>| Exhibit {
            prompt: self.prompt,
            response,
            reference,
            passages: self.passages.as_deref(),
            criteria: None,
            turn: self.turn,
        };
        match (scoring, self.other) {
            (Scoring::Each, Some(other)) => vec![
                exhibit(self.candidate, self.reference),
                Exhibit {
                    passages: self.other_passages.as_deref(),
                    ..exhibit(other, self.reference)
                },
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

    /// The grades of two equal answers, of which none can be better: the judge is not asked.
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

    /// The grades of a pair, from those of its exhibits: the grade of the candidate, and that of the other answer where
    /// it was shown too.
    pub(super) fn grades(
        scoring: Scoring,
        candidate: Result<Grade, Ungraded>,
        other: Option<Result<Grade, Ungraded>>,
    ) -> Grades {
        let candidate = candidate.map_err(|ungraded| Unscored::from(&ungraded));
        match (scoring, other) {
            // The score needs both grades, so it is missing where one of them is.
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
