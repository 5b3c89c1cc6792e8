//! The grades of a trial, by answer and copy.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::given::GivenAnswer;
use super::plan::{TrialSettings, TrialTask};
use super::plant::Plant;
use super::samples::Samples;

/// A grade of the tested judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The score of the judge with its configured settings.
    pub score: f64,
    /// The scores with the answer first and with the reference first, if both orders were asked.
    pub orders: Option<[f64; 2]>,
}

/// All grades of a trial. A task without a grade is unscored.
#[derive(Debug)]
pub struct Grades<'a> {
    /// The graded answers.
    pub answers: &'a [GivenAnswer],
    /// The settings of the trial.
    pub settings: TrialSettings,
    /// The grades of the tested judge.
    pub judge: BTreeMap<TrialTask, Scored>,
    /// The grades of the comparison judge.
    pub other: BTreeMap<TrialTask, f64>,
    /// The family of the tested judge, if it is known.
    pub own_family: Option<&'a str>,
    /// Whether the judge sees the answer together with a reference.
    pub shows_two: bool,
}

impl Grades<'_> {
    /// How many prompts there are.
    pub(super) fn prompts(&self) -> usize {
        self.prompt_numbers()
            .into_iter()
            .max()
            .map_or(0, |most| most + 1)
    }

    /// The number of the prompt of each answer.
    fn prompt_numbers(&self) -> Vec<usize> {
        let mut known = BTreeMap::new();
        let number = |answer: &GivenAnswer| {
            let next = known.len();
            *known.entry(answer.prompt.clone()).or_insert(next)
        };
        self.answers.iter().map(number).collect()
    }

    /// Samples of each answer.
    pub(super) fn each<T: Copy, I: IntoIterator<Item = T>>(
        &self,
        samples: impl Fn(usize) -> I,
    ) -> Samples<T> {
        let numbers = self.prompt_numbers().into_iter().enumerate();
        Samples::by_prompt(numbers.flat_map(|(answer, prompt)| {
            let samples = samples(answer).into_iter();
            samples.map(move |sample| (prompt, sample))
        }))
    }

    /// A sample for each task that the tested judge graded.
    pub(super) fn each_task<T: Copy>(
        &self,
        sample: impl Fn(TrialTask, f64) -> Option<T>,
    ) -> Samples<T> {
        self.each(|answer| {
            let tasks = self.tasks(answer);
            let samples = tasks.filter_map(|(task, scored)| sample(task, scored.score));
            samples.collect::<Vec<T>>()
        })
    }

    /// The tasks of an answer that the tested judge graded.
    fn tasks(&self, answer: usize) -> impl Iterator<Item = (TrialTask, &Scored)> {
        let first = |answer| TrialTask {
            answer,
            plant: Plant::Given,
            repeat: 0,
        };
        let range = self.judge.range(first(answer)..first(answer + 1));
        range.map(|(task, scored)| (*task, scored))
    }

    /// The first grade of a copy. If the good answer is the given answer, the grade of the given answer is used.
    fn scored(&self, answer: usize, plant: Plant) -> Option<Scored> {
        let given = &self.answers[answer];
        let is_whole = given.good(self.settings.pass) == Some(given.response.as_str());
        let plant = match plant {
            Plant::Whole if is_whole => Plant::Given,
            plant => plant,
        };
        let task = TrialTask {
            answer,
            plant,
            repeat: 1,
        };
        self.judge.get(&task).copied()
    }

    /// The score of a copy.
    pub(super) fn score(&self, answer: usize, plant: Plant) -> Option<f64> {
        self.scored(answer, plant).map(|scored| scored.score)
    }

    /// The score that the comparison judge gives to the unchanged answer.
    pub(super) fn other_score(&self, answer: usize) -> Option<f64> {
        let task = TrialTask {
            answer,
            plant: Plant::Given,
            repeat: 1,
        };
        self.other.get(&task).copied()
    }

    /// The scores in both orders, for every copy of an answer that was graded in both.
    pub(super) fn orders(&self, answer: usize) -> Vec<[f64; 2]> {
        self.tasks(answer)
            .filter(|(task, _)| task.repeat == 1)
            .filter_map(|(_, scored)| scored.orders)
            .collect()
    }

    /// How much higher one copy scores than another.
    pub(super) fn shift(&self, copy: Plant, than: Plant) -> Samples<f64> {
        self.each(|answer| Some(self.score(answer, copy)? - self.score(answer, than)?))
    }

    /// Whether the good answer scores above a copy; a tie counts one half.
    pub(super) fn above(&self, answer: usize, copy: Plant) -> Option<f64> {
        let (good, copy) = (self.score(answer, Plant::Whole)?, self.score(answer, copy)?);
        Some(match good.partial_cmp(&copy)? {
            Ordering::Greater => 1.0,
            Ordering::Equal => 0.5,
            Ordering::Less => 0.0,
        })
    }

    /// The variance between repeats for every copy that was graded more than once, and whether the verdicts of the
    /// repeats differ.
    pub(super) fn repeated(&self) -> Samples<(f64, bool)> {
        self.each(|answer| {
            let mut repeats: BTreeMap<Plant, Vec<f64>> = BTreeMap::new();
            for (task, scored) in self.tasks(answer) {
                repeats.entry(task.plant).or_default().push(scored.score);
            }
            let several = repeats.into_values().filter(|scores| scores.len() > 1);
            let told = several.map(|scores| {
                let passing = scores.iter().filter(|score| self.passes(**score)).count();
                (variance(&scores), passing != 0 && passing != scores.len())
            });
            told.collect::<Vec<(f64, bool)>>()
        })
    }

    /// Whether an answer with this score passes.
    pub(super) fn passes(&self, score: f64) -> bool {
        score >= self.settings.pass
    }
}

/// The unbiased variance of two values or more.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() - 1) as f64
}
