//! Lets a judge grade pairs of answers: turns two answers to one prompt into exhibits, and the judge's grades into the
//! grades of a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::record::{Scoring, Unscored};
use kelvin_base::usage::Usage;
use kelvin_run::judge::{Exhibit, Grade, Judge, Ungraded};
use kelvin_run::judging::{self, Graded};
use kelvin_run::{Runner, Task};

/// The prompt and the repeat of a sample.
pub(super) type SampleKey = (Arc<str>, usize);

/// The name of an exhibit within its prompt, from the number of its pair and its number within the pair.
pub(super) type ExhibitName<'a> = &'a dyn Fn(usize, usize) -> Option<Arc<str>>;

/// The names of the exhibits of a sample: the candidate's answer has no variant name; the other answer is a variant of
/// it.
pub(super) fn of_samples(_: usize, exhibit: usize) -> Option<Arc<str>> {
    (exhibit > 0).then(|| Arc::from("baseline"))
}

/// The turn numbers of the pairs for a list of prompts, by which a judge alternates the order of two answers. They
/// depend only on the ids and the repeat, so shards and a later grading of the same answers have the same numbers.
pub(super) struct Turns<'a>(BTreeMap<&'a str, usize>);

impl<'a> Turns<'a> {
    pub(super) fn of(ids: impl Iterator<Item = &'a str>) -> Self {
        let sorted: BTreeSet<&str> = ids.collect();
        Self(sorted.into_iter().zip(0..).collect())
    }

    /// The turn number for a repeat (from 1) of a prompt. Neighbours in one repeat have different orders, and so have
    /// two successive repeats of one prompt.
    pub(super) fn turn(&self, id: &str, repeat: usize) -> usize {
        self.0.get(id).copied().unwrap_or_default() + repeat.saturating_sub(1)
    }
}

/// The grades of each pair, in order, and the tokens that the judge used for them. Two equal answers are a tie, about
/// which the judge is not asked. Fails if the run cannot continue.
pub(super) fn grade(
    judge: &dyn Judge,
    runners: &[Runner<'_>],
    scoring: Scoring,
    pairs: &[(SampleKey, Pair<'_>)],
    name: ExhibitName<'_>,
) -> anyhow::Result<Vec<(Grades, Option<Usage>)>> {
    let id = judge.grader_id();
    let equals: Vec<Option<Grades>> = pairs
        .iter()
        .map(|(_, pair)| pair.of_equals(scoring, &id))
        .collect();
    let mut items = Vec::new();
    let asked = pairs.iter().zip(&equals).enumerate();
    for (number, ((key, pair), _)) in asked.filter(|(_, (_, equal))| equal.is_none()) {
        let exhibits = pair.exhibits(scoring).into_iter().enumerate();
        items.extend(exhibits.map(|(at, exhibit)| {
            let task = Task {
                case: Arc::clone(&key.0),
                variant: name(number, at),
                repeat: key.1,
            };
            (task, exhibit)
        }));
    }
    let mut graded = judging::grade_all(judge, runners, &items)?.into_iter();
    let of_pair = |((_, pair), equal): (&(SampleKey, Pair<'_>), Option<Grades>)| {
        if let Some(grades) = equal {
            return (grades, None);
        }
        let count = pair.exhibits(scoring).len();
        let of_pair: Vec<Graded> = graded.by_ref().take(count).collect();
        let usage = of_pair
            .iter()
            .fold(None, |sum, one| Usage::sum(sum, one.usage));
        let mut grades = of_pair.into_iter().map(|graded| graded.grade);
        let candidate = grades
            .next()
            .expect("every pair shows the candidate's answer");
        (Pair::grades(scoring, candidate, grades.next()), usage)
    };
    Ok(pairs.iter().zip(equals).map(of_pair).collect())
}

/// Two answers to one prompt.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    pub(super) prompt: &'a str,
    /// An answer that is known to be good.
    pub(super) reference: Option<&'a str>,
    pub(super) candidate: &'a str,
    /// The passages from which the candidate's answer was made, if they are known.
    pub(super) passages: Option<Arc<[String]>>,
    /// The answer against which the candidate's is graded; none if it is graded alone.
    pub(super) other: Option<&'a str>,
    /// The passages of the other answer.
    pub(super) other_passages: Option<Arc<[String]>>,
    /// The turn number of the pair, by which a judge may exchange the order of the two answers.
    pub(super) turn: usize,
}

/// The grades of a pair.
#[derive(Clone, Debug)]
pub(super) struct Grades {
    /// The grade of the candidate, or why there is none.
    pub(super) candidate: Result<Grade, Unscored>,
    /// The grade of the other answer, if there is one.
    pub(super) other: Option<Grade>,
}

impl Grades {
    /// The score of the candidate's answer; none if there is none.
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

    /// The grades of two equal answers, of which neither can be better: the judge is not asked.
    fn of_equals(&self, scoring: Scoring, judge: &str) -> Option<Grades> {
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

    /// The grades of a pair, from the grades of its exhibits: the grade of the candidate, and the grade of the other
    /// answer if it was shown too.
    pub(super) fn grades(
        scoring: Scoring,
        candidate: Result<Grade, Ungraded>,
        other: Option<Result<Grade, Ungraded>>,
    ) -> Grades {
        let candidate = candidate.map_err(|ungraded| Unscored::from(&ungraded));
        match (scoring, other) {
            // The score needs both grades, so it is missing if one of them is.
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
