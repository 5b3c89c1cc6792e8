//! Lets a judge grade pairs of answers.

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
) -> anyhow::Result<Vec<(Grades, Option<Usage>)>> {
    let id = judge.grader_id();
    let equals: Vec<Option<Grades>> = pairs
        .iter()
        .map(|(_, pair)| pair.of_equals(scoring, &id))
        .collect();
    let mut items = Vec::new();
    for ((key, pair), _) in pairs
        .iter()
        .zip(&equals)
        .filter(|(_, equal)| equal.is_none())
    {
        // The candidate's answer is the exhibit itself; the other answer is a variant of it.
        let variants = [None, Some("baseline")];
        items.extend(
            pair.exhibits(scoring)
                .into_iter()
                .zip(variants)
                .map(|(exhibit, variant)| {
                    let task = Task {
                        case: Arc::clone(&key.0),
                        variant: variant.map(Arc::from),
                        repeat: key.1,
                    };
                    (task, exhibit)
                }),
        );
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
