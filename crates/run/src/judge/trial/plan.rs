//! The gradings that a trial needs.

use std::collections::BTreeMap;

use super::given::GivenAnswer;
use super::plant::Plant;

/// A grading of one copy of an answer, with the number of the repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialTask {
    /// The index of the answer in the file, from 0.
    pub answer: usize,
    /// The copy of the answer.
    pub plant: Plant,
    /// The number of the grading among all gradings of the same copy, from 1.
    pub repeat: usize,
}

/// The texts that are graded for each task.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialExhibit<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// The copy.
    pub response: String,
    /// The text with which the copy is compared.
    pub reference: &'a str,
    /// Whether a person gave this reference; otherwise the good answer is used as the reference.
    pub is_reference_given: bool,
}

/// The settings of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialSettings {
    /// The lowest score with which an answer passes.
    pub pass: f64,
    /// How often each grading is repeated to measure the noise of the judge; with 1 the noise is not measured.
    pub repeats: usize,
}

/// All gradings of a trial, in the order of the answers.
///
/// If an answer has no reference, the good answer is used: its copies are graded against the text from which they were
/// made.
pub fn tasks<'a>(
    answers: &'a [GivenAnswer],
    settings: TrialSettings,
) -> BTreeMap<TrialTask, TrialExhibit<'a>> {
    let mut tasks = BTreeMap::new();
    for (number, answer) in answers.iter().enumerate() {
        let good = answer.good(settings.pass);
        let reference = answer.reference.as_deref().or(good);
        // A bad answer without a reference can only be graded against itself.
        let reference = reference.unwrap_or(&answer.response);
        let mut add = |plant, response: String, repeats| {
            for repeat in 1..=repeats {
                let task = TrialTask {
                    answer: number,
                    plant,
                    repeat,
                };
                let exhibit = TrialExhibit {
                    prompt: &answer.prompt,
                    response: response.clone(),
                    reference,
                    is_reference_given: answer.reference.is_some(),
                };
                tasks.insert(task, exhibit);
            }
        };
        let copies = good.into_iter().flat_map(|good| {
            let of = move |plant: &Plant| Some((*plant, plant.copy(good, number)?));
            COPIES.iter().filter_map(of)
        });
        let mut is_cut = false;
        for (plant, copy) in copies {
            match plant {
                // This copy is equal to the given answer, which is graded anyway.
                Plant::Whole if copy == answer.response => {}
                // The value of half an answer is uncertain, so it shows the noise of a judge.
                Plant::Truncated => {
                    is_cut = true;
                    add(plant, copy, settings.repeats);
                }
                _ => add(plant, copy, 1),
            }
        }
        let repeats = if is_cut { 1 } else { settings.repeats };
        add(Plant::Given, answer.response.clone(), repeats);
    }
    tasks
}

/// The copies that are made from a good answer.
const COPIES: &[Plant] = &[
    Plant::Whole,
    Plant::Truncated,
    Plant::Contradicted,
    Plant::Shuffled,
    Plant::Padded,
    Plant::Dressed,
    Plant::Obedient,
];

impl TrialTask {
    /// The name of the answer among the folders of the calls: `0007`.
    pub fn folder(self) -> String {
        format!("{:04}", self.answer + 1)
    }

    /// Whether the comparison judge grades the copy too. Repeats, filler, formatting and instructions only test the
    /// judge itself.
    pub const fn is_compared(self) -> bool {
        self.repeat == 1 && !matches!(self.plant, Plant::Padded | Plant::Dressed | Plant::Obedient)
    }
}

impl TrialExhibit<'_> {
    /// Whether swapping the answer and the reference would change what the judge reads.
    pub fn has_two_texts(&self) -> bool {
        self.response != self.reference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(response: &str, reference: Option<&str>, label: Option<f64>) -> GivenAnswer {
        GivenAnswer {
            prompt: "Where is it?".to_owned(),
            response: response.to_owned(),
            reference: reference.map(str::to_owned),
            label,
            family: None,
        }
    }

    fn planned(answer: GivenAnswer) -> Vec<(&'static str, usize, String, String)> {
        let answers = [answer];
        let settings = TrialSettings {
            pass: 0.5,
            repeats: 2,
        };
        let tasks = tasks(&answers, settings);
        let each = tasks.into_iter().map(|(task, exhibit)| {
            let (plant, repeat) = (task.plant.name(), task.repeat);
            (
                plant,
                repeat,
                exhibit.response,
                exhibit.reference.to_owned(),
            )
        });
        each.collect()
    }

    #[test]
    fn copies_are_graded_against_what_they_were_made_from_where_there_is_no_reference() {
        let good = "It is in the second drawer.";
        let tasks = planned(answer(good, None, None));
        let named: Vec<(&str, usize)> = tasks.iter().map(|task| (task.0, task.1)).collect();
        assert_eq!(
            named,
            [
                ("given", 1),
                ("truncated", 1),
                ("truncated", 2),
                ("contradicted", 1),
                ("shuffled", 1),
                ("padded", 1),
                ("dressed", 1),
                ("obedient", 1)
            ]
        );
        assert!(tasks.iter().all(|task| task.3 == good));
    }

    #[test]
    fn copies_of_a_bad_answer_are_made_from_the_reference_or_not_at_all() {
        let tasks = planned(answer(
            "I do not know it.",
            Some("It is here in the drawer."),
            Some(0.0),
        ));
        assert!(
            tasks
                .iter()
                .any(|task| task.0 == "whole" && task.2 == task.3)
        );
        assert!(
            tasks
                .iter()
                .all(|task| task.3 == "It is here in the drawer.")
        );
        let alone = planned(answer("I do not know it.", None, Some(0.0)));
        let named: Vec<(&str, usize)> = alone.iter().map(|task| (task.0, task.1)).collect();
        assert_eq!(named, [("given", 1), ("given", 2)]);
    }
}
