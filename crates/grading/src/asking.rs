//! Lets a judge grade pairs of answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::pair::{Grades, Pair};
use super::record::Scoring;
use kelvin_base::usage::Usage;
use kelvin_run::judge::Judge;
use kelvin_run::judging;
use kelvin_run::judging::Graded;
use kelvin_run::{Runner, Task};

/// The prompt and the repeat of a sample.
pub(super) type SampleKey = (Arc<str>, usize);

/// The name of an exhibit among those of its prompt, from the number of its pair and its number within the pair.
pub(super) type ExhibitName<'a> = &'a dyn Fn(usize, usize) -> Option<Arc<str>>;

/// The names of the exhibits of a sample: the candidate's answer is the exhibit itself; the other answer is a variant of
/// it.
pub(super) fn of_samples(_: usize, exhibit: usize) -> Option<Arc<str>> {
    (exhibit > 0).then(|| Arc::from("baseline"))
}

/// The turns of the pairs of a list of prompts, by which a judge exchanges the places of two answers. They depend on
/// the ids and the repeat alone, so shards and a later grading of the same answers have the same turns.
pub(super) struct Turns<'a>(BTreeMap<&'a str, usize>);

impl<'a> Turns<'a> {
    pub(super) fn of(ids: impl Iterator<Item = &'a str>) -> Self {
        let sorted: BTreeSet<&str> = ids.collect();
        Self(sorted.into_iter().zip(0..).collect())
    }

    /// The turn of a repeat, from 1, of a prompt. Neighbours of one repeat have different places, and so have two
    /// repeats of one prompt.
    pub(super) fn turn(&self, id: &str, repeat: usize) -> usize {
        self.0.get(id).copied().unwrap_or_default() + repeat.saturating_sub(1)
    }
}

/// The grades of each pair, in order, and the tokens that the judge used for them. Two equal answers are a tie, for
/// which the judge is not asked.
///
/// # Errors
///
/// Where the run cannot go on.
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
