//! The stored answers in the report of the base, against which the candidate is graded.

use std::collections::BTreeSet;

use super::prompts::Prompt;
use super::record::{Answered, PromptRecord, Scoring, Unscored, UnscoredCode, WhyAnew};
use kelvin_record::{KeptText, SharedMap};
use kelvin_run::judge::Grade;

/// The answer against which the candidate is graded.
pub(super) enum Next<'a> {
    /// A text, with its stored form and the repeat of the base from which it comes.
    Text(&'a str, Answered, Option<usize>),
    /// No text: why there is no score, with the stored form of the missing answer.
    Missing(Unscored, Option<(Answered, Option<usize>)>),
}

impl Next<'_> {
    /// A sample without any answer for the comparison, which is not an error.
    pub(super) fn nothing(why: &str) -> Self {
        Self::Missing(Unscored::new(UnscoredCode::NoBaseline, why), None)
    }
}

/// The states of a judge's server (`system_fingerprint`), for the base and now.
pub(super) struct Restated {
    pub(super) then: BTreeSet<String>,
    pub(super) now: BTreeSet<String>,
}

impl Restated {
    /// The change between the states of the base and the states of this run; none if each of these was also seen for
    /// the base.
    pub(super) fn between(then: BTreeSet<String>, now: BTreeSet<String>) -> Option<Self> {
        let is_told = !then.is_empty() && !now.is_empty();
        (is_told && !now.is_subset(&then)).then_some(Self { then, now })
    }
}

/// The stored answers in the report of the base.
pub(super) struct StoredAnswers {
    /// The records by the id of the prompt.
    pub(super) prompts: SharedMap<PromptRecord>,
    /// Whether the stored grades come from the same judge and the same way of grading, so that they are still valid.
    pub(super) is_like: bool,
    /// Whether this judge passed with planted answers in the run of the base.
    pub(super) is_proved: bool,
    /// How the state of the judge's server has changed since the base was graded; none if it has not, or if no server
    /// reports it. If it has changed, a judge that would only need a few grades is tested with all of them.
    pub(super) restated: Option<Restated>,
    /// Why the stored grades do not count although they mean the same: another judge gave them, or this judge could not
    /// be trusted in the run of the base or gave too few there; none if they count.
    pub(super) doubt: Option<WhyAnew>,
}

impl StoredAnswers {
    /// The answer against which a repeat of a prompt is graded.
    pub(super) fn next_to(&self, prompt: &Prompt, repeat: usize) -> Next<'_> {
        let Some(of_base) = self.prompts.get(&prompt.id) else {
            return Next::nothing("the base does not have this prompt");
        };
        if KeptText::of(&prompt.prompt).digest != of_base.prompt.digest {
            return Next::nothing("the base has another prompt of this id");
        }
        let samples = (1..).zip(&of_base.samples);
        let answers: Vec<(usize, &KeptText)> = samples
            .filter_map(|(repeat, sample)| Some((repeat, sample.candidate.answer.as_ref()?)))
            .collect();
        // Each answer of the head is compared with one answer of the base, in turn, so there are as many gradings as
        // answers.
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

    /// The stored grade of an answer, if this judge would give it again.
    pub(super) fn grade(&self, prompt: &Prompt, repeat: usize, scoring: Scoring) -> Option<Grade> {
        if scoring != Scoring::Each || !self.is_like {
            return None;
        }
        let of_base = self.prompts.get(&prompt.id)?;
        if of_base.input != prompt.digest() {
            return None;
        }
        of_base.samples.get(repeat - 1)?.grade.clone()
    }
}
