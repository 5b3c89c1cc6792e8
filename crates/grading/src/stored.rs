//! The answers that the report of the base has stored, as what the candidate is graded next to.

use std::collections::BTreeMap;

use super::prompts::Prompt;
use super::record::{Answered, PromptRecord, Scoring, Unscored, UnscoredCode};
use kelvin_record::KeptText;
use kelvin_run::judge::Grade;

/// What the candidate is graded next to.
pub(super) enum Next<'a> {
    /// A text, with what is stored of it.
    Text(&'a str, Answered, Option<usize>),
    /// Nothing: why there is no score, with what is stored of the answer that was missed.
    Missing(Unscored, Option<(Answered, Option<usize>)>),
}

impl Next<'_> {
    /// There is nothing to grade it next to, which is no error.
    pub(super) fn nothing(why: &str) -> Self {
        Self::Missing(Unscored::new(UnscoredCode::NoBaseline, why), None)
    }
}

/// What the report of the base has stored.
pub(super) struct StoredAnswers {
    /// By the id of the prompt.
    pub(super) prompts: BTreeMap<String, PromptRecord>,
    /// Whether they were graded by the same judge in the same way, so that the stored grades are those that this
    /// judge would give.
    pub(super) is_like: bool,
}

impl StoredAnswers {
    /// What a repeat of a prompt is graded next to.
    pub(super) fn next_to(&self, prompt: &Prompt, repeat: usize) -> Next<'_> {
        let Some(of_base) = self.prompts.get(&prompt.id) else {
            return Next::nothing("the base does not have this prompt");
        };
        if prompt.digest() != of_base.input {
            return Next::nothing("the base has another prompt of this id");
        }
        let samples = (1..).zip(&of_base.samples);
        let answers: Vec<(usize, &KeptText)> = samples
            .filter_map(|(repeat, sample)| Some((repeat, sample.candidate.answer.as_ref()?)))
            .collect();
        // Each answer of the head meets one answer of the base, in turn: as many gradings as answers.
        let Some((repeat, answer)) = answers.get((repeat - 1) % answers.len().max(1)) else {
            let why = "the base has no answer to this prompt";
            return Next::Missing(Unscored::new(UnscoredCode::BaselineFailed, why), None);
        };
        let stored = of_base.samples[repeat - 1].candidate.clone();
        match answer.whole() {
            Some(text) => Next::Text(text, stored, Some(*repeat)),
            None => {
                let why = format!(
                    "the report of the base has only the beginning of its answer, which has {} characters",
                    answer.characters.unwrap_or_default()
                );
                let why = Unscored::new(UnscoredCode::BaselineCut, &why);
                Next::Missing(why, Some((stored, Some(*repeat))))
            }
        }
    }

    /// The stored grade of an answer, where it is one that this judge would give.
    pub(super) fn grade(&self, prompt: &str, repeat: usize, scoring: Scoring) -> Option<Grade> {
        if scoring != Scoring::Each || !self.is_like {
            return None;
        }
        let of_base = self.prompts.get(prompt)?;
        of_base.samples.get(repeat - 1)?.grade.clone()
    }
}
